import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"

import { CurrentCaller } from "../../src/facilitator/Caller.ts"
import type { Claim, Facilitator, PaymentRequest } from "../../src/facilitator/Facilitator.ts"
import * as LocalFacilitator from "../../src/facilitator/local/LocalFacilitator.ts"
import { LaneLeases, layerSole, type Lease } from "../../src/facilitator/store/LaneLeases.ts"
import * as MemoryPaymentStore from "../../src/facilitator/store/MemoryPaymentStore.ts"
import { PaymentStore } from "../../src/facilitator/store/PaymentStore.ts"
import * as Binding from "../../src/protocol/Binding.ts"
import { openPayload, type PaymentPayload, sealPayload } from "../../src/protocol/PaymentPayload.ts"
import type { PaymentRequirements } from "../../src/protocol/PaymentRequirements.ts"
/** A facilitator over a ledger in memory, and payments for it: the start of the tests of claims and settlements. */
import * as FacilitatorSchemeRegistry from "../../src/scheme/FacilitatorSchemeRegistry.ts"
import type { SchemeFacilitator } from "../../src/scheme/SchemeFacilitator.ts"
import * as TestLedger from "../../src/testing/ledger/TestLedger.ts"
import * as TestScheme from "../../src/testing/ledger/TestScheme.ts"

/** The start time of these tests, far from zero; Unix milliseconds. */
export const start = 1_700_000_000_000

export const payee = "acct-shop"
export const payer = "acct-alice"
export const amount = 10_000n
const challenge = "challenge-of-the-shop"

export interface Options extends Omit<LocalFacilitator.Options, "schemes">, TestScheme.FacilitatorOptions {
  readonly balance?: bigint
  /** Changes of the store. */
  readonly store?: (store: PaymentStore["Service"]) => PaymentStore["Service"]
  /** The lane leases; default this process holds every lane. */
  readonly leases?: Layer.Layer<LaneLeases>
  /** Changes of the scheme. */
  readonly scheme?: (scheme: SchemeFacilitator) => SchemeFacilitator
}

/** A new facilitator; the clock stands at `start`. */
export const open = Effect.fnUntraced(function* (options: Options = {}) {
  yield* TestClock.setTime(start)
  const ledger = TestLedger.make()
  ledger.deposit(payer, options.balance ?? 10n ** 9n)
  const memory = yield* MemoryPaymentStore.make
  const store = options.store?.(memory) ?? memory
  const honest = TestScheme.facilitator(ledger, options)
  const scheme = options.scheme?.(honest) ?? honest
  const owner = yield* Effect.scope
  let life = yield* Scope.make()
  const live = Effect.fnUntraced(function* (schemes: ReadonlyArray<SchemeFacilitator>) {
    yield* Scope.close(life, Exit.void)
    life = yield* Scope.make()
    yield* Scope.addFinalizer(owner, Scope.close(life, Exit.void))
    return yield* Scope.provide(facilitatorOf(schemes, store, options), life)
  })
  const facilitator = yield* live([scheme])
  return {
    ledger,
    store,
    scheme,
    facilitator,
    /** The process ends during its work, and another starts with its records. */
    restart: live([honest]),
    /** The same, with a successor of another configuration: another scheme facilitator of the same chain, or none. */
    restartWith: live,
    /** The process ends, and another starts with its records after this time: no lane looks at the chain meanwhile. */
    rest: Effect.fnUntraced(function* (duration: Duration.Input) {
      yield* Scope.close(life, Exit.void)
      yield* TestClock.adjust(duration)
      return yield* live([scheme])
    })
  }
})

export type Shop = Effect.Success<ReturnType<typeof open>>

/** Another facilitator over the same store and chain. */
export const facilitatorOf = Effect.fnUntraced(function* (
  schemes: ReadonlyArray<SchemeFacilitator>,
  store: PaymentStore["Service"],
  options: LocalFacilitator.Options & Pick<Options, "leases"> = {}
) {
  const facilitator = yield* LocalFacilitator.make(ownOf(options)).pipe(
    Effect.provide(FacilitatorSchemeRegistry.layer(schemes.map((scheme) => Effect.succeed(scheme)))),
    Effect.provideService(PaymentStore, store),
    Effect.provide(options.leases ?? layerSole)
  )
  if (options.drainMillis !== undefined) yield* Effect.addFinalizer(() => Effect.forkDetach(runOut))
  return facilitator
})

/** The facilitator's part of a shop's options: it refuses unknown ones. */
const ownOf = ({ drainMillis, gasCeilings, intake, settleTimeoutMillis }: LocalFacilitator.Options) => ({
  ...(drainMillis !== undefined && { drainMillis }),
  ...(gasCeilings !== undefined && { gasCeilings }),
  ...(intake !== undefined && { intake }),
  ...(settleTimeoutMillis !== undefined && { settleTimeoutMillis })
})

/** An instance that accepts payments and whose lanes are worked elsewhere. */
export const idle: Layer.Layer<LaneLeases> = Layer.succeed(LaneLeases, LaneLeases.of({ work: () => Effect.never }))

/** Leases of a sole process, changed. */
export const leasesWhere = (change: (lease: Lease) => Lease): Layer.Layer<LaneLeases> =>
  Layer.effect(
    LaneLeases,
    Effect.map(LaneLeases, (sole) =>
      LaneLeases.of({ work: (lanes, run) => sole.work(lanes, (lease) => run(change(lease))) })
    )
  ).pipe(Layer.provide(layerSole))

/** Runs a request as the caller of this name. */
export const as = <A, E, R>(name: string, effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, CurrentCaller, { name, notify: false })

/** A closing facilitator waits for settlements under way: time goes on meanwhile, so that a failing test ends. */
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

/** A signed payment for the offer, bound to its request by default. */
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

/** Settles this number of payments at once. */
export const settleMany = Effect.fnUntraced(function* (facilitator: Facilitator["Service"], count: number, name = "n") {
  const requests = yield* Effect.forEach(Array.from({ length: count }), () => pay())
  return yield* Effect.forEach(requests, (request, index) =>
    Effect.forkDetach(facilitator.settle(request, claim(`${name}${index}`)))
  )
})

/** The end of each payment, in a word. */
export const endsOf = Effect.fnUntraced(function* <A, E>(fibers: ReadonlyArray<Fiber.Fiber<A, E>>) {
  const ends = yield* Effect.forEach(fibers, (fiber) => Effect.result(Fiber.join(fiber)))
  return ends.map(({ _tag }) => _tag)
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
