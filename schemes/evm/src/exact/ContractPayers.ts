/**
 * Checks of payments of accounts with code. That code validates the signature, and may behave differently in a simulation and
 * in a transaction. So the call is simulated as it will be sent, by each signer and at real prices; and the code that it runs
 * has to be known, or, where the operator allows any code, has to accept the signature up to the end of its validity.
 */
import { ChainUnavailable, invalid, type PaymentError, type ChainHead, type ValidationError } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type * as EvmLagGuard from "../node/EvmLagGuard.ts"
import type { CallOutcome } from "../node/EvmNodeError.ts"
import type { SignedAuthorization } from "../payment/ExactEvmReading.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as CounterfactualTransfer from "../transfer/CounterfactualTransfer.ts"
import type * as Eip3009 from "../transfer/Eip3009.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as EvmKnownCode from "../transfer/EvmKnownCode.ts"
import * as EvmRefusal from "../transfer/EvmRefusal.ts"
import * as EvmRevert from "../transfer/EvmRevert.ts"
import type { TransferCall } from "../transfer/EvmTransferCall.ts"
import * as TokenCode from "../transfer/TokenCode.ts"

/** The accounts with code that may pay: those whose code is known, any, or none. */
export type ContractPayers = "known" | "any" | "none"

/**
 * Judges the call of an account with code. Succeeds with the hash of the code where it is unknown, so that the code can be
 * banned together with the account.
 */
export type Judge = (
  call: TransferCall,
  held: SignedAuthorization
) => Effect.Effect<string | undefined, PaymentError | ValidationError | ChainUnavailable>

/** Settings of a judge. */
export interface Options {
  readonly policy: ContractPayers
  readonly known: EvmKnownCode.EvmKnownCode
  /** The possible senders of the transaction; at least one. */
  readonly signers: ReadonlyArray<EvmAddress.Address>
  readonly chainHead: Effect.Effect<ChainHead, ChainUnavailable>
}

/** Makes a judge. */
export const make = (guard: EvmLagGuard.EvmLagGuard, options: Options): Judge => {
  const ownCodeOf = TokenCode.make(guard.rpc, options.signers[0])
  return Effect.fnUntraced(function* (call, held) {
    if (options.policy === "none") return yield* notServed
    const chainHead = yield* options.chainHead
    const able = yield* withFunds(guard, options, call, chainHead)
    yield* simulated(guard, able, call, chainHead)
    if (able.policy === "known") {
      const own = yield* ownCodeOf(EvmAsset.domain(held.token))
      yield* isKnown(guard, able, call, own)
      return undefined
    }
    yield* untilItsEnd(guard, able, call, held.authorization, chainHead)
    return EvmKnownCode.fingerprint(able.known, call.payer, yield* codeOfPayer(guard, able, call))
  })
}

/**
 * The settings with those signers alone that own the gas of a call. From another one a node simulates nothing at real prices, which would
 * be no verdict about the payment; and that signer sends nothing now.
 */
export const withFunds = Effect.fnUntraced(function* (
  { judge, rpc }: EvmLagGuard.EvmLagGuard,
  options: Options,
  { gas }: TransferCall,
  { fees }: ChainHead
): Effect.fn.Return<Options, ChainUnavailable> {
  if (fees === undefined) return options
  const least = gas * fees.maximum
  const balances = yield* Effect.forEach(
    options.signers,
    (signer) =>
      judge(
        (block) => rpc.getBalance(signer, block),
        (wei) => wei < least
      ),
    { concurrency: "unbounded" }
  )
  const signers = options.signers.filter((_, index) => (balances[index] ?? 0n) >= least)
  if (signers.length > 0) return { ...options, signers }
  const message = `no signer of ${rpc.network} owns the ${least} wei that the gas of this payment may cost; send coin to one of them`
  return yield* new ChainUnavailable({ network: rpc.network, message })
})

export const notServed = invalid(
  "unsupported_authorization",
  "payer_has_code",
  "the payer's account has code, and payments of such accounts are not settled here; pay from a plain account"
)

/** Simulates the call as each signer would send it now. */
const simulated = Effect.fnUntraced(function* (
  { judge, rpc }: EvmLagGuard.EvmLagGuard,
  { signers }: Options,
  { data, gas, to }: TransferCall,
  { fees }: ChainHead
) {
  const outcomes = yield* Effect.forEach(
    signers,
    (from) =>
      judge(
        (block) => rpc.call({ from, to, data, gas, ...(fees && { fees }) }, block),
        ({ _tag }) => _tag === "Reverted"
      ),
    { concurrency: "unbounded" }
  )
  for (const outcome of outcomes) yield* accepted(rpc.network, outcome)
})

const accepted = Effect.fnUntraced(function* (network: string, outcome: CallOutcome) {
  if (outcome._tag === "Reverted") {
    return yield* EvmRefusal.fromRevert(network, yield* EvmRevert.explain(outcome))
  }
})

/** Blocks ahead of the last simulation: code that accepts only up to an earlier block is refused. */
export const manyBlocks = 1_000n
/** Seconds ahead of the last simulation at most: nothing is sent later after its verification, and nodes limit the time. */
export const longWait = 3_600n

/** Simulates in the next block, and at the end of the validity at the highest price: a signature valid now has to be valid then. */
const untilItsEnd = Effect.fnUntraced(function* (
  { judge, rpc }: EvmLagGuard.EvmLagGuard,
  { signers: [from] }: Options,
  { data, gas, to }: TransferCall,
  { validBefore }: Eip3009.TransferWithAuthorization,
  { fees, head }: ChainHead
) {
  const now = BigInt(Math.floor((yield* Clock.currentTimeMillis) / 1000))
  const soon = BigInt(head.time) >= now ? BigInt(head.time) + 1n : now
  const highest = fees && { maximum: fees.maximum, priority: fees.maximum }
  for (const { fees, ...simulatedBlock } of [
    { number: head.number + 1n, time: soon, fees: undefined },
    { number: head.number + manyBlocks, time: least(validBefore - 1n, soon + longWait), fees: highest }
  ]) {
    const call = { ...(from && { from }), to, data, gas, ...(fees && { fees }) }
    const outcome = yield* judge(
      (block) => rpc.call(call, block, simulatedBlock),
      ({ _tag }) => _tag === "Reverted"
    )
    if (outcome._tag === "Returned") continue
    return yield* invalid(
      "unsupported_authorization",
      "payer_code_sways",
      "the payer's code accepts the signature now, but not in every block and at every price up to the end of its validity"
    )
  }
})

const least = (one: bigint, other: bigint): bigint => (one < other ? one : other)

/** The most accounts that a payment may touch beside the token's own code: a proxy, its implementation, a handler, and owners. */
const mostTouched = 24

/** Succeeds if every account with code that the call runs or reads, except the token's own, is known. */
export const isKnown = Effect.fnUntraced(function* (
  guard: EvmLagGuard.EvmLagGuard,
  options: Options,
  call: TransferCall,
  own: ReadonlySet<EvmAddress.Address>,
  codeOfDeployed: Effect.Effect<EvmHex.Hex, ValidationError | ChainUnavailable> = codeOfPayer(guard, options, call)
) {
  const {
    known,
    signers: [from]
  } = options
  const { data, deployment, gas, ours = [], payer, to } = call
  const touched = yield* guard.judge(
    (block) => guard.rpc.touched({ ...(from && { from }), to, data, gas }, block),
    (accounts) => accounts === undefined
  )
  if (touched === undefined) return yield* unknown(payer)
  const others = new Set([payer, ...touched].filter((account) => !own.has(account)))
  for (const account of ours) others.delete(account)
  if (deployment !== undefined) {
    // The settler is ours, and the factory is on the list. The account's own code exists in the simulation alone.
    for (const account of [to, deployment.factory, payer]) others.delete(account)
    yield* isKnownCode(guard, known, payer, payer, yield* codeOfDeployed, 0)
  }
  if (others.size > mostTouched) return yield* unknown(payer)
  yield* Effect.forEach([...others], (account) => isKnownAt(guard, known, payer, account, 0), {
    concurrency: "unbounded",
    discard: true
  })
})

/** The most delegations followed from an account: for example a delegation to a minimal proxy. */
const deepest = 2

/** A missing code speaks for the account, so it is confirmed: the node may lag. */
const isKnownAt = (
  guard: EvmLagGuard.EvmLagGuard,
  known: EvmKnownCode.EvmKnownCode,
  payer: EvmAddress.Address,
  account: EvmAddress.Address,
  depth: number
): Effect.Effect<void, ValidationError | ChainUnavailable> =>
  Effect.flatMap(codeAt(guard, account), (code) => isKnownCode(guard, known, payer, account, code, depth))

const isKnownCode = (
  guard: EvmLagGuard.EvmLagGuard,
  known: EvmKnownCode.EvmKnownCode,
  payer: EvmAddress.Address,
  account: EvmAddress.Address,
  code: EvmHex.Hex,
  depth: number
): Effect.Effect<void, ValidationError | ChainUnavailable> => {
  if (EvmKnownCode.isKnown(known, account, code)) return Effect.void
  const target = EvmKnownCode.target(code)
  return target === undefined || depth === deepest
    ? Effect.fail(unknown(payer, account, code))
    : isKnownAt(guard, known, payer, target, depth + 1)
}

/** The payer's code, as the call runs it: an account that it deploys gets its code in a simulation. */
export const codeOfPayer = Effect.fnUntraced(function* (
  guard: EvmLagGuard.EvmLagGuard,
  { signers: [from] }: Options,
  { deployment, payer }: TransferCall
): Effect.fn.Return<EvmHex.Hex, ValidationError | ChainUnavailable> {
  if (deployment === undefined) return yield* codeAt(guard, payer)
  const { data, gas, to } = CounterfactualTransfer.deploy(deployment)
  const outcome = yield* guard.judge(
    (block) => guard.rpc.call({ ...(from && { from }), to, data, gas }, block),
    ({ _tag }) => _tag === "Reverted"
  )
  const code = outcome._tag === "Returned" ? CounterfactualTransfer.codeIn(outcome.data) : undefined
  return code ?? (yield* unknown(payer))
})

/** The code of an account; a missing one is confirmed, because the node may lag. */
export const codeAt = ({ judge, rpc }: EvmLagGuard.EvmLagGuard, account: EvmAddress.Address) =>
  judge(
    (block) => rpc.getCode(account, block),
    (code) => code === "0x"
  )

export const unknown = (payer: string, account?: string, code: EvmHex.Hex = "0x") =>
  invalid(
    "unsupported_authorization",
    "payer_code_unknown",
    account === undefined
      ? `the code that the payer ${payer} runs cannot be determined; pay from a plain account`
      : `the payer ${payer} runs code at ${account} (hash ${EvmKnownCode.hashOf(code)}) that is not known here; pay from a plain account`
  )
