import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"

import { Facilitator } from "../../src/facilitator/Facilitator.ts"
import type { PaymentStore } from "../../src/facilitator/store/PaymentStore.ts"
import { FacilitatorUnavailable } from "../../src/protocol/ProtocolError.ts"
/** A shop goes on while its facilitator dies, and begins again: what was paid is served to the buyer that comes again. */
import * as ServerSchemeRegistry from "../../src/scheme/ServerSchemeRegistry.ts"
import type { Decision, Uncharged } from "../../src/server/http/Decision.ts"
import * as PaymentGate from "../../src/server/PaymentGate.ts"
import type { RouteConfig } from "../../src/server/route/RouteConfig.ts"
import * as PriceResolver from "../../src/server/shop/PriceResolver.ts"
import * as TestScheme from "../../src/testing/ledger/TestScheme.ts"
import * as LedgerShop from "../facilitator/LedgerShop.ts"
import { request } from "./GateTestRequest.ts"
import { payFor, verdictOf } from "./LedgerGate.ts"

type Service = Facilitator["Service"]
type Store = PaymentStore["Service"]

/** Records that a process which has died asks nothing more. */
const mortal = (store: Store, isDead: () => boolean): Store => {
  const alive = (method: unknown) =>
    typeof method === "function"
      ? (...args: ReadonlyArray<unknown>) =>
          Effect.suspend((): Effect.Effect<unknown> => (isDead() ? Effect.never : method(...args)))
      : method
  return { ...store, ...Object.fromEntries(Object.entries(store).map(([name, method]) => [name, alive(method)])) }
}

const reset = () => new FacilitatorUnavailable({ message: "the connection was reset" })
const refusedConnection = () =>
  new FacilitatorUnavailable({ message: "nobody listens", cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) })

/** A facilitator behind a connection: when it is killed its responses are lost, and it writes nothing more. */
const facilitators = Effect.fnUntraced(function* () {
  const { scheme, ledger, store } = yield* LedgerShop.open({ leases: LedgerShop.idle })
  const owner = yield* Effect.scope
  let life: { readonly service: Service; readonly death: Deferred.Deferred<never, FacilitatorUnavailable> } | undefined
  let end: Effect.Effect<unknown> = Effect.void
  let held: Deferred.Deferred<void> | undefined
  let reports = 0
  const begin = Effect.fnUntraced(function* (worked = true) {
    let isDead = false
    const scope = yield* Scope.make()
    const service = yield* Scope.provide(
      LedgerShop.facilitatorOf(
        [scheme],
        mortal(store, () => isDead),
        worked ? {} : { leases: LedgerShop.idle }
      ),
      scope
    )
    const death = yield* Deferred.make<never, FacilitatorUnavailable>()
    yield* Scope.addFinalizer(owner, Effect.ignore(Scope.close(scope, Exit.void)))
    life = { service, death }
    end = Effect.suspend(() => {
      isDead = true
      life = undefined
      return Effect.andThen(Deferred.fail(death, reset()), Scope.close(scope, Exit.void))
    })
  })
  const ask = <A, E>(call: (service: Service) => Effect.Effect<A, E>) =>
    Effect.suspend(() => {
      if (life === undefined) return Effect.fail(refusedConnection())
      const { death, service } = life
      const gate = held
      return Effect.flatMap(Effect.forkDetach(call(service)), (fiber) =>
        Effect.raceFirst(
          gate === undefined ? Fiber.join(fiber) : Effect.andThen(Deferred.await(gate), Fiber.join(fiber)),
          Deferred.await(death)
        )
      )
    })
  const remote = Facilitator.of({
    verify: (asked) => ask((service) => service.verify(asked)),
    settle: (asked, claim) => ask((service) => service.settle(asked, claim)),
    claim: (asked, claim) => ask((service) => service.claim(asked, claim)),
    finish: (paymentId, claimId, outcome) => {
      reports += 1
      return ask((service) => service.finish(paymentId, claimId, outcome))
    },
    payment: (paymentId) => ask((service) => service.payment(paymentId)),
    supported: ask((service) => service.supported)
  })
  yield* begin()
  return {
    ledger,
    remote,
    begin,
    kill: Effect.suspend(() => end),
    /** Answers stay under way from now on, while what was asked for is done. */
    holdAnswers: Effect.map(Deferred.make<void>(), (gate) => void (held = gate)),
    passAnswers: Effect.sync(() => void (held = undefined)),
    reports: () => reports
  }
})

const shopOf = Effect.fnUntraced(function* (
  { ledger, remote }: Effect.Success<ReturnType<typeof facilitators>>,
  config: Partial<RouteConfig> = {}
) {
  const gate = yield* PaymentGate.make({
    origin: "https://shop.example",
    secret: "the shop's own secret, 32 long...."
  }).pipe(
    Effect.provide([PriceResolver.layerDollar, ServerSchemeRegistry.layer([TestScheme.server(ledger)])]),
    Effect.provideService(Facilitator, remote)
  )
  const terms = { network: TestScheme.network, price: "$0.01", payTo: LedgerShop.payee }
  const route = yield* gate.route("GET /report", { ...terms, ...config } as RouteConfig)
  yield* gate.ready
  const get = (headers: Readonly<Record<string, string>> = {}) => gate.decide(route, request("/report", headers))
  return { get }
})

type Shop = Effect.Success<ReturnType<typeof shopOf>>

const signed = Effect.fnUntraced(function* ({ get }: Shop, bound: boolean) {
  const unpaid = yield* get()
  assert(unpaid._tag === "Refused")
  return yield* payFor(unpaid.response, bound)
})

/** Has time pass until the decision is there. */
const decided = Effect.fnUntraced(function* <E>(deciding: Effect.Effect<Decision, E>, seconds: number) {
  const fiber = yield* Effect.forkChild(deciding)
  for (let second = 0; second < seconds && fiber.pollUnsafe() === undefined; second++) {
    yield* TestClock.adjust("1 second")
  }
  return fiber
})

const serve = Effect.fnUntraced(function* (decision: Decision) {
  const end = decision._tag === "SettleAfter" ? yield* decision.complete(200) : decision
  assert(end._tag === "Granted", `expected a grant, got ${verdictOf(decision)}`)
  yield* end.finish("served")
})

/** The places at which the facilitator dies under a request. */
const deaths = {
  "before its payment is sent": { worked: false, blocks: true, answers: true },
  "while its payment is on its way": { worked: true, blocks: false, answers: true },
  "before its response has arrived": { worked: true, blocks: true, answers: false }
} as const

describe("a facilitator that dies under a request", () => {
  for (const [place, { answers, blocks, worked }] of Object.entries(deaths)) {
    for (const bound of [true, false]) {
      for (const settle of ["before-handler", "after-handler"] as const) {
        const name = `${place}: ${bound ? "a bound" : "an unbound"} payment is served once when it comes again (${settle})`
        it.effect(name, () =>
          Effect.gen(function* () {
            const far = yield* facilitators()
            const { ledger } = far
            const shop = yield* shopOf(far, settle === "after-handler" ? { settle } : {})
            const headers = yield* signed(shop, bound)
            yield* far.kill
            yield* far.begin(worked)
            ledger.faults.holdBlocks = !blocks
            if (!answers) yield* far.holdAnswers
            const first = yield* Effect.forkChild(
              Effect.flatMap(shop.get(headers), (decision): Effect.Effect<Decision | Uncharged> =>
                decision._tag === "SettleAfter" ? decision.complete(200) : Effect.succeed(decision)
              )
            )
            yield* TestClock.adjust("900 millis")
            yield* far.kill
            const told = yield* Fiber.join(first)
            assert(told._tag === "Refused", told._tag)
            assert.strictEqual(told.response.status, 503)
            // While no process listens, the buyer gets the same response.
            assert.strictEqual(verdictOf(yield* shop.get(headers)), "503 facilitator_unavailable")
            ledger.faults.holdBlocks = false
            yield* far.passAnswers
            yield* far.begin()
            const again = yield* decided(shop.get(headers), 5)
            yield* serve(yield* Fiber.join(again))
            assert.strictEqual(verdictOf(yield* shop.get(headers)), "409 spent")
            assert.strictEqual(ledger.transfers.length, 1)
          })
        )
      }
    }
  }

  it.effect("grants one of two that come again at once, at one process of the shop", () =>
    Effect.gen(function* () {
      const far = yield* facilitators()
      const shop = yield* shopOf(far)
      const headers = yield* signed(shop, true)
      yield* far.holdAnswers
      const first = yield* Effect.forkChild(shop.get(headers))
      yield* TestClock.adjust("900 millis")
      yield* far.kill
      yield* Fiber.join(first)
      yield* far.passAnswers
      yield* far.begin()
      const both = yield* Effect.all([shop.get(headers), shop.get(headers), shop.get(headers)], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(both.map(verdictOf).toSorted(), ["409 in_flight", "409 in_flight", "Granted"])
    })
  )

  it.effect("keeps another process of the shop waiting only until the first has given its claim back", () =>
    Effect.gen(function* () {
      const far = yield* facilitators()
      const [one, two] = [yield* shopOf(far), yield* shopOf(far)]
      for (const bound of [true, false]) {
        const headers = yield* signed(one, bound)
        yield* far.holdAnswers
        const first = yield* Effect.forkChild(one.get(headers))
        yield* TestClock.adjust("900 millis")
        yield* far.kill
        yield* Fiber.join(first)
        yield* far.passAnswers
        yield* far.begin()
        assert.strictEqual(verdictOf(yield* two.get(headers)), "409 in_flight")
        yield* TestClock.adjust("6 seconds")
        yield* serve(yield* two.get(headers))
        assert.strictEqual(verdictOf(yield* one.get(headers)), "409 spent")
      }
    })
  )

  it.effect("is told that a payment was served, before it can grant it again", () =>
    Effect.gen(function* () {
      const far = yield* facilitators()
      const shop = yield* shopOf(far)
      const headers = yield* signed(shop, true)
      const granted = yield* shop.get(headers)
      assert(granted._tag === "Granted")
      yield* far.kill
      yield* Effect.forkChild(granted.finish("served"))
      yield* TestClock.adjust("3 minutes")
      yield* far.begin()
      assert.strictEqual(verdictOf(yield* shop.get(headers)), "409 spent")
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(verdictOf(yield* shop.get(headers)), "409 spent")
      assert.strictEqual(far.ledger.transfers.length, 1)
    })
  )

  it.effect("is not asked to take back what it never got, or has turned away", () =>
    Effect.gen(function* () {
      const far = yield* facilitators()
      const shop = yield* shopOf(far)
      const headers = yield* signed(shop, true)
      yield* far.kill
      assert.strictEqual(verdictOf(yield* shop.get(headers)), "503 facilitator_unavailable")
      yield* far.begin()
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(far.reports(), 0)
    })
  )
})
