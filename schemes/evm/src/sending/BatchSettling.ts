/**
 * The contract `BatchSettler` for the facilitator: the call that settles many transfers, the check that an address has our
 * contract's code, and its deployment. Its address is the same on every chain, because a well-known deployer
 * (0x4e59b44847b379578588920cA78FbF26c0B4956C, CREATE2) makes it from the same bytes.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { ChainUnavailable, Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"

import { BatchSettler } from "../artifacts/BatchSettler.ts"
import * as EvmChainHead from "../node/EvmChainHead.ts"
import * as EvmRpc from "../node/EvmRpc.ts"
import type { UnsignedTransaction } from "../primitives/Eip1559.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as PackedTransfers from "../transfer/PackedTransfers.ts"
import { type EvmTransactionSigner, sign } from "../wallet/EvmTransactionSigner.ts"

/** settle(bytes) */
const selector = "0xd0322fbf"

/** Gas for the transaction and the contract's fixed work. */
const gasBase = 30_000n
/** Gas that the contract reserves for an entry, 156 000, and at most costs for its 158 bytes, 2 528. */
const gasPerEntry = 158_528n
/** Gas for each change of the token: its bytes, and the first call to it. */
const gasPerRun = 3_500n

/**
 * The most gas that transfers can use together in one transaction: it covers every entry's cap, so that no entry can use up
 * the gas of another.
 */
export const gasOf = (transfers: ReadonlyArray<PackedTransfers.PlainTransfer>): bigint =>
  gasBase + BigInt(transfers.length) * gasPerEntry + BigInt(PackedTransfers.runCount(transfers)) * gasPerRun

/** The call that settles transfers, together in one transaction. */
export const toCall = (
  settler: EvmAddress.Address,
  transfers: ReadonlyArray<PackedTransfers.PlainTransfer>
): Pick<UnsignedTransaction, "to" | "data" | "gas"> => ({
  to: settler,
  data: `${selector}${PackedTransfers.toArgument(PackedTransfers.pack(transfers).runs)}`,
  gas: gasOf(transfers)
})

/** Checks by its code that the contract at an address is the batch settler. */
export const prove = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  settler: EvmAddress.Address
): Effect.fn.Return<void, ChainUnavailable | Misconfigured> {
  const code = yield* rpc.getCode(settler)
  if (code === BatchSettler.runtime) return
  const message = `the code at ${EvmAddress.checksum(settler)} on ${rpc.network} is ${code === "0x" ? "missing" : "not that of the batch settler"}; deploy it with deployBatchSettler`
  return yield* new Misconfigured({ message })
})

const deployer = EvmAddress.fromTail("0x4e59b44847b379578588920ca78fbf26c0b4956c")
const salt = EvmHex.toWord(0)

const computeAddress = (): EvmAddress.Address => {
  const hash = EvmHex.fromBytes(keccak_256(EvmHex.toBytes(BatchSettler.bytecode)))
  const preimage: EvmHex.Hex = `0xff${deployer.slice(2)}${salt}${hash.slice(2)}`
  return EvmAddress.fromTail(EvmHex.fromBytes(keccak_256(EvmHex.toBytes(preimage))))
}

/** The address of the contract that {@link deploy} makes, the same on every chain; with its checksum. */
export const address: string = /* @__PURE__ */ EvmAddress.checksum(/* @__PURE__ */ computeAddress())

/** Options of {@link deploy}. */
export interface Options {
  /** Pays for the deployment: about 200 000 gas. It gets no rights over the contract, which has no owner. */
  readonly signer: EvmTransactionSigner
  readonly rpcUrl: string
  /** The maximum price of a unit of gas, in wei; default 500 gwei. */
  readonly maxFeePerGas?: bigint
}

const check = OptionCheck.options<Options>({
  signer: OptionCheck.having("a signer, such as a viem local account", "address", "signTransaction"),
  rpcUrl: OptionCheck.text,
  maxFeePerGas: OptionCheck.optional(OptionCheck.amount(1n))
})

const deploymentGas = 400_000n
const receiptPause = "500 millis"
const receiptTimeout = "2 minutes"

/**
 * Deploys the batch settler at {@link address}, unless it is there, and returns the address. Fails with `Misconfigured` where
 * the chain lacks the well-known deployer or gas costs more than `maxFeePerGas`, and with `ChainUnavailable` when no node
 * shows a receipt within two minutes; a repeated call is harmless.
 */
export const deploy = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<string, ChainUnavailable | Misconfigured> {
  const { rpcUrl: url } = yield* Effect.fromResult(OptionCheck.read(check, options, "deployBatchSettler"))
  const chainId = yield* (yield* EvmRpc.make({ url, network: "eip155" })).chainId
  const rpc = yield* EvmRpc.make({ url, network: EvmNetwork.fromChainId(chainId) })
  const settler = EvmAddress.fromTail(EvmHex.fromTrusted(address))
  if ((yield* rpc.getCode(settler)) === BatchSettler.runtime) return address
  if ((yield* rpc.getCode(deployer)) === "0x") {
    const message = `${rpc.network} has no contract at ${EvmAddress.checksum(deployer)}, which makes contracts at the same address everywhere; deploy the batch settler by other means`
    return yield* new Misconfigured({ message })
  }
  const { bytes, transaction } = yield* signed(rpc, chainId, options)
  const sent = yield* rpc.sendRawTransaction(EvmHex.fromTrusted(bytes))
  if (sent._tag !== "Accepted" && sent._tag !== "AlreadyKnown") {
    return yield* new Misconfigured({ message: `the node of ${rpc.network} rejected the deployment: ${sent.message}` })
  }
  yield* included(rpc, EvmHex.fromTrusted(transaction))
  yield* prove(rpc, settler)
  return address
})

const signed = Effect.fnUntraced(function* (rpc: EvmRpc.Shape, chainId: number, options: Options) {
  const { maxFeePerGas, signer } = options
  const chainHead = yield* EvmChainHead.make(rpc, maxFeePerGas === undefined ? {} : { maxFeePerGas })
  if (chainHead.fees !== undefined && chainHead.fees.maximum > chainHead.fees.ceiling) {
    const message = `gas on ${rpc.network} costs more than the ${chainHead.fees.ceiling} wei that maxFeePerGas allows`
    return yield* new Misconfigured({ message })
  }
  const number = BigInt(yield* rpc.getTransactionCount(EvmAddress.fromTail(signer.address), "pending"))
  const call = { to: deployer, data: `0x${salt}${BatchSettler.bytecode.slice(2)}`, gas: deploymentGas } as const
  return yield* sign(signer, chainId, call, { lane: signer.address, number }, chainHead)
})

const included = (rpc: EvmRpc.Shape, hash: EvmHex.Hex) =>
  rpc.getTransactionReceipt(hash).pipe(
    Effect.tap((receipt) => (receipt === undefined ? Effect.sleep(receiptPause) : Effect.void)),
    Effect.repeat({ while: (receipt) => receipt === undefined }),
    Effect.timeoutOrElse({
      duration: receiptTimeout,
      orElse: () =>
        Effect.fail(
          new ChainUnavailable({
            network: rpc.network,
            message: `the deployment ${hash} is not included in a block of ${rpc.network} yet`
          })
        )
    })
  )
