/** A facilitator over a ledger in memory, and payments for it: what the tests of claims and settlements start from. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import type { Claim, PaymentRequest } from "../../src/facilitator/Facilitator.ts"
import * as LocalFacilitator from "../../src/facilitator/LocalFacilitator.ts"
import * as MemoryPaymentStore from "../../src/facilitator/MemoryPaymentStore.ts"
import { PaymentStore } from "../../src/facilitator/PaymentStore.ts"
import * as Binding from "../../src/protocol/Binding.ts"
import { openPayload, type PaymentPayload, sealPayload } from "../../src/protocol/PaymentPayload.ts"
import type { PaymentRequirements } from "../../src/protocol/PaymentRequirements.ts"
import * as TestLedger from "../../src/testing/TestLedger.ts"
import * as TestScheme from "../../src/testing/TestScheme.ts"

/** When these tests take place: some instant far from zero, Unix milliseconds. */
export const start = 1_700_000_000_000

export const payee = "acct-shop"
export const payer = "acct-alice"
export const amount = 10_000n
const challenge = "challenge-of-the-shop"

export interface Options {
  readonly lanes?: ReadonlyArray<string>
  readonly balance?: bigint
  readonly settleTimeoutMillis?: number
  /** What the store does differently. */
  readonly store?: (store: PaymentStore["Service"]) => PaymentStore["Service"]
}

/** A facilitator of its own; the clock stands at `start`. */
export const open = Effect.fnUntraced(function* (options: Options = {}) {
  yield* TestClock.setTime(start)
  const ledger = TestLedger.make()
  ledger.deposit(payer, options.balance ?? 1_000_000n)
  const memory = yield* MemoryPaymentStore.make
  const store = options.store?.(memory) ?? memory
  const half = TestScheme.facilitator(ledger, options.lanes)
  const facilitator = yield* facilitatorOf([half], store, options)
  return { ledger, store, half, facilitator }
})

export type Shop = Effect.Success<ReturnType<typeof open>>

/** Another facilitator over the same store and chain: a second process, or this one after a restart. */
export const facilitatorOf = Effect.fnUntraced(function* (
  halves: Parameters<typeof LocalFacilitator.make>[0],
  store: PaymentStore["Service"],
  { settleTimeoutMillis }: Options = {}
) {
  const options = settleTimeoutMillis === undefined ? {} : { settleTimeoutMillis }
  const facilitator = yield* Effect.provideService(LocalFacilitator.make(halves, options), PaymentStore, store)
  yield* Effect.addFinalizer(() => Effect.forkDetach(runOut))
  return facilitator
})

/** A facilitator that closes waits for what is under way: time goes on meanwhile, so that a failing test ends. */
const runOut = Effect.repeat(Effect.andThen(Effect.yieldNow, TestClock.adjust("1 second")), { times: 60 })

export const requirements: PaymentRequirements = {
  scheme: "exact",
  network: TestScheme.network,
  maxAmountRequired: `${amount}`,
  resource: "https://shop.example/report",
  payTo: payee,
  asset: TestScheme.asset.address
}

export interface PayOptions {
  readonly payer?: string
  readonly bound?: boolean
  readonly amount?: bigint
  /** Seconds from now. */
  readonly validFor?: number
  readonly validAfter?: number
}

/** A signed payment for the offer, bound to its request unless told otherwise. */
export const pay = Effect.fnUntraced(function* (options: PayOptions = {}) {
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const offer = { ...requirements, maxAmountRequired: `${options.amount ?? amount}` }
  const binding = options.bound === false ? undefined : yield* Binding.make(challenge)
  const { payload } = yield* TestScheme.client(options.payer ?? payer).sign({
    requirements: offer,
    asset: TestScheme.asset,
    validAfter: options.validAfter ?? 0,
    validBefore: now + (options.validFor ?? 60),
    binding
  })
  const request: PaymentRequest = {
    paymentPayload: sealPayload("exact", TestScheme.network, payload),
    paymentRequirements: offer
  }
  return request
})

/** A payment with some fields of its payload changed. */
export const altered = Effect.fnUntraced(function* (request: PaymentRequest, fields: Record<string, unknown>) {
  const json = yield* Effect.fromResult(openPayload(request.paymentPayload))
  const paymentPayload: PaymentPayload = sealPayload("exact", TestScheme.network, { ...(json as object), ...fields })
  return { ...request, paymentPayload }
})

/** A claim on the report; the same name is the same claim. */
export const claim = (name: string, resource = "report"): Claim => ({
  id: name.padEnd(22, "x"),
  resource: resource.padEnd(43, "x")
})
