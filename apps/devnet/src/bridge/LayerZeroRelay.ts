/**
 * Carries LayerZero's messages between two local chains, as its verifier network and its executor do: attests a packet by the
 * verifier's key, commits the attestation, and delivers.
 */
import type { EvmTestAccounts } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import {
  type Address,
  decodeAbiParameters,
  encodePacked,
  type Hex,
  keccak256,
  type Log,
  type PrivateKeyAccount,
  size,
  slice,
  toEventSelector,
  type TransactionReceipt
} from "viem"

import * as ContractCall from "./ContractCall.ts"
import { confirmations, type LayerZero } from "./LayerZero.ts"

/** A message as the endpoint has sent it. */
export interface Packet {
  readonly header: Hex
  readonly payload: Hex
  readonly nonce: bigint
  readonly srcEid: number
  /** 32 bytes. */
  readonly sender: Hex
  readonly receiver: Address
  readonly guid: Hex
  readonly message: Hex
}

const packetSent = toEventSelector("event PacketSent(bytes encodedPayload, bytes options, address sendLibrary)")

/** The packets that the logs of a transaction show, in their order (`PacketV1Codec`). */
export const packetsIn = (logs: ReadonlyArray<Pick<Log, "topics" | "data">>): ReadonlyArray<Packet> =>
  logs
    .filter(({ topics }) => topics[0] === packetSent)
    .map(({ data }) => {
      const [packet] = decodeAbiParameters([{ type: "bytes" }, { type: "bytes" }, { type: "address" }], data)
      return {
        header: slice(packet, 0, 81),
        payload: slice(packet, 81),
        nonce: BigInt(slice(packet, 1, 9)),
        srcEid: Number(slice(packet, 9, 13)),
        sender: slice(packet, 13, 45),
        receiver: slice(packet, 61, 81),
        guid: slice(packet, 81, 113),
        message: size(packet) > 113 ? slice(packet, 113) : "0x"
      }
    })

/** The end of the validity of an attestation's call, in Unix seconds: later than any test. */
const expiration = 2n ** 40n

/** Attests a packet on its destination by a key: the verifier's contract checks it. The receipt of a refused one is reverted. */
export const attest = Effect.fnUntraced(function* (
  { chain, dvn, eid, receiveLibrary }: LayerZero,
  { header, payload }: Packet,
  key: Pick<PrivateKeyAccount, "signMessage">
): Effect.fn.Return<TransactionReceipt> {
  const callData = ContractCall.data("function verify(bytes header, bytes32 payloadHash, uint64 confirmations)", [
    header,
    keccak256(payload),
    confirmations
  ])
  const raw = keccak256(
    encodePacked(["uint32", "address", "uint256", "bytes"], [eid, receiveLibrary, expiration, callData])
  )
  const signatures = yield* Effect.promise(() => key.signMessage({ message: { raw } }))
  const text =
    "function execute((uint32 vid, address target, bytes callData, uint256 expiration, bytes signatures)[] params)"
  const call = { vid: eid, target: receiveLibrary, callData, expiration, signatures }
  return yield* chain.send({ to: dvn, data: ContractCall.data(text, [[call]]) })
})

/** Makes an attested packet deliverable, once the verifiers' quorum has attested it. */
export const commit = ({ chain, receiveLibrary }: LayerZero, { header, payload }: Packet) =>
  chain.send({
    to: receiveLibrary,
    data: ContractCall.data("function commitVerification(bytes header, bytes32 payloadHash)", [
      header,
      keccak256(payload)
    ])
  })

const origin = "(uint32 srcEid, bytes32 sender, uint64 nonce) origin"

/** Delivers a packet as the executor does, with this much gas for the receiver; a receiver that fails leaves the packet as it is. */
export const execute = (
  { chain, executor }: LayerZero,
  { guid, message, nonce, receiver, sender, srcEid }: Packet,
  gasLimit: bigint
) =>
  chain.send({
    to: executor,
    data: ContractCall.data(
      `function execute302((address receiver, ${origin}, bytes32 guid, bytes message, bytes extraData, uint256 gasLimit) params)`,
      [{ receiver, origin: { srcEid, sender, nonce }, guid, message, extraData: "0x", gasLimit }]
    )
  })

/** Delivers a packet as anybody may. */
export const deliver = (
  { chain, endpoint }: LayerZero,
  { guid, message, nonce, receiver, sender, srcEid }: Packet,
  from: EvmTestAccounts.TestAccount
) =>
  chain.send({
    from: from.address,
    to: endpoint,
    data: ContractCall.data(
      `function lzReceive(${origin}, address receiver, bytes32 guid, bytes message, bytes extraData)`,
      [{ srcEid, sender, nonce }, receiver, guid, message, "0x"]
    )
  })
