import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import { Facilitator } from "../../src/facilitator/Facilitator.ts"
import * as Binding from "../../src/protocol/Binding.ts"
import { sealPayload } from "../../src/protocol/PaymentPayload.ts"
/** Servers of one shop share its secrets and a facilitator; their clocks differ, and a secret is replaced on one after the other. */
import * as ServerSchemeRegistry from "../../src/scheme/ServerSchemeRegistry.ts"
import type { Decision } from "../../src/server/http/Decision.ts"
import * as PaymentGate from "../../src/server/PaymentGate.ts"
import * as PriceResolver from "../../src/server/shop/PriceResolver.ts"
import * as TestScheme from "../../src/testing/ledger/TestScheme.ts"
import * as AsciiJson from "../../src/wire/http/AsciiJson.ts"
import * as LedgerShop from "../facilitator/LedgerShop.ts"
import { inTime } from "../facilitator/X402FacilitatorShop.ts"
import { challengeIn, request } from "./GateTestRequest.ts"

const quarter = 900_000
const one = "one secret of the shop, 32 long.."
const two = "two secret of the shop, 32 long.."
const other = "a secret of another shop, 32 long"

/** A clock that goes beside another. */
const shifted = (clock: Clock.Clock, millis: number): Clock.Clock =>
  Object.assign(Object.create(clock), {
    currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + millis,
    currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + millis)
  })

interface Server {
  readonly secret?: string | ReadonlyArray<string>
  readonly ahead?: number
}

const open = Effect.gen(function* () {
  const { facilitator, ledger } = yield* LedgerShop.open()
  const clock = yield* Clock.Clock
  const server = Effect.fnUntraced(function* ({ ahead = 0, secret = one }: Server = {}) {
    const shop = { origin: "https://shop.example", secret }
    const gate = yield* PaymentGate.make(shop).pipe(
      Effect.provideService(Facilitator, facilitator),
      Effect.provideService(PriceResolver.PriceResolver, PriceResolver.dollar),
      Effect.provide(ServerSchemeRegistry.layer([TestScheme.server(ledger)])),
      Effect.provideService(Clock.Clock, shifted(clock, ahead))
    )
    const route = yield* gate.route("GET /report", {
      network: TestScheme.network,
      price: "$0.01",
      payTo: LedgerShop.payee
    })
    yield* gate.ready
    const get = (headers: Readonly<Record<string, string>> = {}) =>
      inTime(gate.decide(route, request("/report", headers)))
    return { get }
  })
  return { server }
})

/** A payment header for an offer, bound to its challenge or unbound. */
const pay = Effect.fnUntraced(function* (challenge: string | undefined) {
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const { payload } = yield* TestScheme.client(LedgerShop.payer).sign({
    requirements: LedgerShop.requirements,
    asset: TestScheme.asset,
    validAfter: 0,
    validBefore: now + 60,
    binding: challenge === undefined ? undefined : yield* Binding.make(challenge)
  })
  return { "x-payment": AsciiJson.encode(sealPayload("exact", TestScheme.network, payload)) }
})

const offered = (decision: Decision) => pay(challengeIn(decision))

const reasonOf = (decision: Decision): unknown =>
  decision._tag === "Refused" ? JSON.parse(decision.response.body).detail : decision._tag

/** Runs, and the run fails: the payment is owed its resource. */
const fail = (decision: Decision) => {
  assert(decision._tag === "Granted", `expected a grant, got ${JSON.stringify(decision)}`)
  return inTime(decision.finish("failed"))
}

describe("a challenge of a server whose clock differs is taken", () => {
  const cases = [
    ["a second ahead, at the last second of an epoch", quarter - 1000, 1000],
    ["a second ahead, in the very last millisecond", quarter - 1, 1000],
    ["a second behind, at the first second of an epoch", quarter, -1000],
    ["a second behind, a moment later", quarter + 999, -1000],
    ["a whole epoch ahead", quarter / 2, quarter],
    ["a whole epoch behind", quarter / 2, -quarter]
  ] as const
  it.effect.each(cases)("%s", ([, at, ahead]) =>
    Effect.gen(function* () {
      const { server } = yield* open
      yield* TestClock.setTime(LedgerShop.start - (LedgerShop.start % quarter) + quarter + at)
      const here = yield* server()
      const there = yield* server({ ahead })
      const payment = yield* offered(yield* there.get())
      assert.strictEqual(reasonOf(yield* here.get(payment)), "Granted")
    })
  )

  it.effect.each([2, -2])("and not of one that is %i epochs away", (epochs) =>
    Effect.gen(function* () {
      const { server } = yield* open
      const here = yield* server()
      const there = yield* server({ ahead: epochs * quarter })
      const payment = yield* offered(yield* there.get())
      assert.strictEqual(reasonOf(yield* here.get(payment)), "other_request")
    })
  )
})

describe("a secret that is replaced", () => {
  it.effect("signs no more, and what it has signed is taken", () =>
    Effect.gen(function* () {
      const { server } = yield* open
      const before = yield* server({ secret: one })
      const after = yield* server({ secret: [two, one] })
      const payment = yield* offered(yield* before.get())
      assert.notStrictEqual(challengeIn(yield* before.get()), challengeIn(yield* after.get()))
      assert.strictEqual(reasonOf(yield* after.get(payment)), "Granted")
      const fresh = yield* offered(yield* after.get())
      assert.strictEqual(reasonOf(yield* before.get(fresh)), "other_request")
      const both = yield* server({ secret: [one, two] })
      assert.strictEqual(reasonOf(yield* both.get(fresh)), "Granted")
    })
  )

  it.effect("opens nothing for what another secret has signed", () =>
    Effect.gen(function* () {
      const { server } = yield* open
      const stranger = yield* server({ secret: other })
      const here = yield* server({ secret: [two, one] })
      const payment = yield* offered(yield* stranger.get())
      assert.strictEqual(reasonOf(yield* here.get(payment)), "other_request")
    })
  )

  it.effect("leaves what is owed", () =>
    Effect.gen(function* () {
      const { server } = yield* open
      const before = yield* server({ secret: [one] })
      const payment = yield* offered(yield* before.get())
      yield* fail(yield* before.get(payment))
      const after = yield* server({ secret: [two, one] })
      assert.strictEqual((yield* after.get(payment))._tag, "Granted")
    })
  )

  it.effect("leaves an unbound payment its resource, and one run at a time", () =>
    Effect.gen(function* () {
      const { server } = yield* open
      const before = yield* server({ secret: [one] })
      const after = yield* server({ secret: [two, one] })
      const payment = yield* pay(undefined)
      assert.strictEqual((yield* before.get(payment))._tag, "Granted")
      assert.strictEqual(reasonOf(yield* after.get(payment)), "in_flight")
      const later = yield* server({ secret: two })
      assert.strictEqual(reasonOf(yield* later.get(payment)), "other_resource")
    })
  )

  it.effect("leaves what is owed to a payment whose challenge has passed", () =>
    Effect.gen(function* () {
      const { server } = yield* open
      yield* TestClock.setTime(LedgerShop.start - (LedgerShop.start % quarter) + 2 * quarter - 30_000)
      const before = yield* server({ secret: one, ahead: -quarter })
      const payment = yield* offered(yield* before.get())
      yield* fail(yield* before.get(payment))
      const after = yield* server({ secret: [two, one] })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* after.get(payment))._tag, "Granted")
    })
  )

  it.effect("is forgotten when it is taken out", () =>
    Effect.gen(function* () {
      const { server } = yield* open
      const before = yield* server({ secret: one })
      const payment = yield* offered(yield* before.get())
      yield* fail(yield* before.get(payment))
      const after = yield* server({ secret: two })
      assert.strictEqual((yield* after.get(payment))._tag, "Refused")
    })
  )
})

describe("a list of secrets is refused", () => {
  const cases: ReadonlyArray<readonly [unknown, RegExp]> = [
    [[], /^secret: expected at least 32 characters/],
    [[one, "short"], /^secret: expected at least 32 characters/],
    [[one, undefined], /^secret: expected at least 32 characters/],
    [[one, one], /^secret: two of the list are the same/],
    [[one, two, other, `${one}3`, `${one}4`], /^secret: expected at most 4, got 5/]
  ]
  it.effect.each(cases)("%o", ([secret, message]) =>
    Effect.gen(function* () {
      const { server } = yield* open
      const error = yield* Effect.flip(server({ secret: secret as never }))
      assert.match(error.message, message)
      assert.notInclude(error.message, one)
    })
  )
})
