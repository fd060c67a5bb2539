/**
 * Payments of accounts with code, judged as they will be executed: their code checks the signature, and may behave otherwise in a
 * simulation than in a transaction. So the call is simulated as it will be sent, by each signer and at real prices; and the code
 * that it runs has to be known, or, where the operator takes any code, has to accept the signature up to the end of its validity.
 */
import { type ChainUnavailable, invalid, type PaymentError, type ChainHead, type ValidationError } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type * as EvmHead from "../node/EvmHead.ts"
import type { CallOutcome } from "../node/EvmNodeError.ts"
import type { SignedAuthorization } from "../payment/ExactEvmReading.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import type * as Eip3009 from "../transfer/Eip3009.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as EvmKnownCode from "../transfer/EvmKnownCode.ts"
import * as EvmRefusal from "../transfer/EvmRefusal.ts"
import * as EvmRevert from "../transfer/EvmRevert.ts"
import type { TransferCall } from "../transfer/EvmTransferCall.ts"
import * as TokenCode from "../transfer/TokenCode.ts"

/** Which accounts with code may pay: those whose code is known, any, or none. */
export type ContractPayers = "known" | "any" | "none"

/**
 * Judges the call of an account with code. Succeeds with what tells its code from other code where it is not known, so that it can be
 * banned with the account.
 */
export type Judge = (
  call: TransferCall,
  held: SignedAuthorization
) => Effect.Effect<string | undefined, PaymentError | ValidationError | ChainUnavailable>

/** What a judge needs. */
export interface Options {
  readonly policy: ContractPayers
  readonly known: EvmKnownCode.EvmKnownCode
  /** Those who may send the transaction; at least one. */
  readonly signers: ReadonlyArray<EvmAddress.Address>
  readonly chainHead: Effect.Effect<ChainHead, ChainUnavailable>
}

/** Makes a judge. */
export const make = (head: EvmHead.EvmHead, options: Options): Judge => {
  const ownCodeOf = TokenCode.make(head.rpc, options.signers[0])
  return Effect.fnUntraced(function* (call, held) {
    if (options.policy === "none") return yield* notServed
    const chainHead = yield* options.chainHead
    yield* simulated(head, options, call, chainHead)
    if (options.policy === "known") {
      const own = yield* ownCodeOf(EvmAsset.domain(held.token))
      yield* isKnown(head, options, call, own)
      return undefined
    }
    yield* untilItsEnd(head, options, call, held.authorization, chainHead)
    return EvmKnownCode.fingerprint(options.known, call.payer, yield* codeAt(head, call.payer))
  })
}

const notServed = invalid(
  "unsupported_authorization",
  "payer_has_code",
  "the payer's account has code, and payments of such accounts are not settled here; pay from a plain account"
)

/** As each of the signers would send it now. A signer that cannot pay for it is no verdict. */
const simulated = Effect.fnUntraced(function* (
  { judge, rpc }: EvmHead.EvmHead,
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

/** Blocks after which code that accepts up to some block is taken to have refused. */
const manyBlocks = 1_000n
/** Nothing is sent so late after it was verified: seconds. Nodes take no time of any size. */
const longWait = 3_600n

/** In the next block, and at the end of the validity at the highest price: a signature that is good now has to be good then. */
const untilItsEnd = Effect.fnUntraced(function* (
  { judge, rpc }: EvmHead.EvmHead,
  { signers: [from] }: Options,
  { data, gas, to }: TransferCall,
  { validBefore }: Eip3009.TransferWithAuthorization,
  { fees, head }: ChainHead
) {
  const now = BigInt(Math.floor((yield* Clock.currentTimeMillis) / 1000))
  const soon = BigInt(head.time) >= now ? BigInt(head.time) + 1n : now
  const highest = fees && { maximum: fees.maximum, priority: fees.maximum }
  for (const { fees, ...pretended } of [
    { number: head.number + 1n, time: soon, fees: undefined },
    { number: head.number + manyBlocks, time: least(validBefore - 1n, soon + longWait), fees: highest }
  ]) {
    const call = { ...(from && { from }), to, data, gas, ...(fees && { fees }) }
    const outcome = yield* judge(
      (block) => rpc.call(call, block, pretended),
      ({ _tag }) => _tag === "Reverted"
    )
    if (outcome._tag === "Returned") continue
    return yield* invalid(
      "unsupported_authorization",
      "payer_code_sways",
      "the payer's code accepts the signature now, and not in each block and at each price up to the end of its validity"
    )
  }
})

const least = (one: bigint, other: bigint): bigint => (one < other ? one : other)

/** What a payment may touch at most beside the token's own code: a proxy, what it runs, a handler, and owners. */
const mostTouched = 24

/** Every account with code that the call runs or looks at, but for the token's own, is known. */
const isKnown = Effect.fnUntraced(function* (
  head: EvmHead.EvmHead,
  { known, signers: [from] }: Options,
  { data, gas, payer, to }: TransferCall,
  own: ReadonlySet<EvmAddress.Address>
) {
  const touched = yield* head.judge(
    (block) => head.rpc.touched({ ...(from && { from }), to, data, gas }, block),
    (accounts) => accounts === undefined
  )
  if (touched === undefined) return yield* unknown(payer)
  const others = new Set([payer, ...touched].filter((account) => !own.has(account)))
  if (others.size > mostTouched) return yield* unknown(payer)
  yield* Effect.forEach([...others], (account) => isKnownAt(head, known, payer, account, 0), {
    concurrency: "unbounded",
    discard: true
  })
})

/** How often what runs instead of an account's code is followed: a delegation to a minimal proxy. */
const deepest = 2

/** That an account has no code speaks for it: a node that is behind is not believed. */
const isKnownAt = (
  head: EvmHead.EvmHead,
  known: EvmKnownCode.EvmKnownCode,
  payer: EvmAddress.Address,
  account: EvmAddress.Address,
  depth: number
): Effect.Effect<void, ValidationError | ChainUnavailable> =>
  Effect.flatMap(codeAt(head, account), (code) => {
    if (EvmKnownCode.isKnown(known, account, code)) return Effect.void
    const target = EvmKnownCode.target(code)
    return target === undefined || depth === deepest
      ? Effect.fail(unknown(payer, account, code))
      : isKnownAt(head, known, payer, target, depth + 1)
  })

const codeAt = ({ judge, rpc }: EvmHead.EvmHead, account: EvmAddress.Address) =>
  judge(
    (block) => rpc.getCode(account, block),
    (code) => code === "0x"
  )

const unknown = (payer: string, account?: string, code: EvmHex.Hex = "0x") =>
  invalid(
    "unsupported_authorization",
    "payer_code_unknown",
    account === undefined
      ? `what the code of the payer ${payer} runs cannot be told; pay from a plain account`
      : `the payer ${payer} runs code at ${account} (hash ${EvmKnownCode.hashOf(code)}) that is not known here; pay from a plain account`
  )
