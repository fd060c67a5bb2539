/** Reads and calls of Circle's CCTP contracts, version 2: the messenger of a token, and the transmitter of messages. */
import { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "../node/EvmRpc.ts"
import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as CctpMessage from "./CctpMessage.ts"
import * as OftCalls from "./OftCalls.ts"

/** The getters whose values are compared at start. */
export const getters = {
  transmitter: "0x2c121921",
  minter: "0xcb75c11c",
  domain: "0x8d3638f4"
} as const

/** Selector of `minFee()`. */
const minFee = "0x24ec7590"

/**
 * The least rate of the issuer's fee that a messenger accepts, as `IssuerFee` counts it; zero for a messenger without such a bound, which
 * came with version 2.1.
 */
export const leastRate = (
  rpc: Pick<EvmRpc.Shape, "call">,
  messenger: EvmAddress.Address
): Effect.Effect<bigint, ChainUnavailable> =>
  Effect.map(OftCalls.read(rpc, messenger, minFee), (word) => BigInt(word ?? 0))

/** Calldata of `remoteTokenMessengers(uint32)`: the messenger of another chain that this one trusts. */
export const remoteMessenger = (domain: number): EvmHex.Hex => `0x82a5e665${EvmHex.toWord(domain)}`

/** Calldata of the minter's `getLocalToken(uint32,bytes32)`: the token that is made for another chain's. */
export const localToken = (domain: number, token: EvmAddress.Address): EvmHex.Hex =>
  `0x78a0565e${EvmHex.toWord(domain)}${AbiEncoding.address(token)}`

/** Calldata of `receiveMessage(bytes,bytes)`, by which anybody delivers an attested message. */
export const encodeDelivery = ({ attestation, message }: AttestedMessage): EvmHex.Hex =>
  `0x57ecfd28${AbiEncoding.parameters([AbiEncoding.bytes(message), AbiEncoding.bytes(attestation)])}`

/** A message and the issuer's signatures of it. */
export interface AttestedMessage {
  readonly message: EvmHex.Hex
  readonly attestation: EvmHex.Hex
}

/** Whether a transmitter has delivered the message of this nonce. */
export const isDelivered = (
  rpc: EvmRpc.Shape,
  transmitter: EvmAddress.Address,
  nonce: EvmHex.Hex,
  block: EvmRpc.BlockTag
): Effect.Effect<boolean, ChainUnavailable> =>
  Effect.flatMap(
    // usedNonces(bytes32)
    rpc.call({ to: transmitter, data: `0xfeb61724${nonce.slice(2)}`, gas: 200_000n }, block),
    (outcome) =>
      outcome._tag === "Returned" && EvmHex.isBytes32(outcome.data)
        ? Effect.succeed(BigInt(outcome.data) !== 0n)
        : Effect.fail(
            new ChainUnavailable({
              network: rpc.network,
              message: `CCTP's transmitter ${EvmAddress.checksum(transmitter)} does not say whether it has delivered a message`
            })
          )
  )

/** First topic of the transmitter's `MessageSent(bytes)`. */
const sentTopic = "0x8c5261668696ce22758910d05bab8f186d6eb247ceac2af2e82c7dc17669b036"

/**
 * First topic of `MessageReceived(address indexed caller, uint32 sourceDomain, bytes32 indexed nonce, bytes32 sender, uint32 indexed
 * finalityThresholdExecuted, bytes messageBody)`.
 */
export const receivedTopic = "0xff48c13eda96b1cceacc6b9edeedc9e9db9d6226afbc30146b720c19d3addb1c"

/**
 * First topic of the messenger's `MintAndWithdraw(address indexed mintRecipient, uint256 amount, address indexed mintToken, uint256
 * feeCollected)`.
 */
export const mintTopic = "0x50c55e915134d457debfa58eb6f4342956f8b0616d51a89a3659360178e1ab63"

/** The parts of messages that a transmitter has delivered, in the logs of a transaction. */
export const receivedIn = (
  transmitter: EvmAddress.Address,
  logs: ReadonlyArray<EvmRpc.Event>
): ReadonlyArray<CctpMessage.ReceivedBody> =>
  logs.flatMap(({ address, data, topics }) => {
    if (address !== transmitter || topics[0] !== receivedTopic) return []
    const [domain, sender] = [data.slice(2, 66), data.slice(66, 130)]
    const body = OftCalls.bytesAt(data, 2)
    const nonce = topics[2] ?? "0x"
    return body === undefined ? [] : [{ sourceDomain: Number(`0x${domain}`), sender: `0x${sender}`, nonce, body }]
  })

/** The messages that a transmitter has sent, in the logs of a transaction. */
export const sentIn = (
  transmitter: EvmAddress.Address,
  logs: ReadonlyArray<EvmRpc.Event>
): ReadonlyArray<{ readonly message: EvmHex.Hex; readonly read: CctpMessage.CctpMessage }> =>
  logs.flatMap(({ address, data, topics }) => {
    if (address !== transmitter || topics[0] !== sentTopic) return []
    const digits = OftCalls.bytesAt(data, 0)
    const message: EvmHex.Hex = `0x${digits ?? ""}`
    const read = CctpMessage.read(message)
    return read === undefined ? [] : [{ message, read }]
  })
