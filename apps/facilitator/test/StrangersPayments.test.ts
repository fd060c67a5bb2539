import { assert, describe, it } from "@effect/vitest"
import {
  ServerSchemeRegistry,
  AsciiJson,
  Binding,
  type Decision,
  Facilitator,
  FacilitatorClient,
  type GateRequest,
  LocalFacilitator,
  PaymentGate,
  PaymentPayload,
  PaymentRequired,
  PriceResolver
} from "@pontage/core"
import { TestLedger, TestScheme } from "@pontage/core/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"

import * as ApiKey from "../src/callers/ApiKey.ts"
import * as LedgerService from "./LedgerService.ts"

const perSecond = 40
const seconds = 5
const purchases = 20

const decodeOffers = Schema.decodeUnknownEffect(Schema.fromJsonString(PaymentRequired.PaymentRequired))

const requestFrom = (clientAddress: string, headers: Record<string, string> = {}): GateRequest => ({
  method: "GET",
  target: "/report",
  header: (name) => headers[name],
  headers,
  params: {},
  query: {},
  body: undefined,
  clientAddress,
  native: undefined
})

/** A shop that sells one report over this facilitator, and how often that was asked to settle. */
const openShop = Effect.fnUntraced(function* (ledger: TestLedger.TestLedger, facilitator: Facilitator["Service"]) {
  const asked = { settlements: 0 }
  const counted = Facilitator.of({
    ...facilitator,
    settle: (request, claim) =>
      Effect.suspend(() => {
        asked.settlements++
        return facilitator.settle(request, claim)
      })
  })
  const gate = yield* PaymentGate.make({
    origin: "https://shop.example",
    secret: "the shop's own secret, 32 long...."
  }).pipe(
    Effect.provideService(Facilitator, counted),
    Effect.provide([PriceResolver.layerDollar, ServerSchemeRegistry.layer([TestScheme.server(ledger)])])
  )
  const { network } = TestScheme
  const accept = { scheme: "exact", network, payTo: LedgerService.payee, price: "$0.01" }
  const route = yield* gate.route("GET /report", accept)
  yield* gate.ready
  return { asked, decide: (request: GateRequest) => gate.decide(route, request) }
})

type Shop = Effect.Success<ReturnType<typeof openShop>>

/** Signs for what the shop offers and asks again with it. A stranger may spoil the payment before it is sent. */
const buy = Effect.fnUntraced(function* (
  { decide }: Shop,
  payer: string,
  address: string,
  spoil: (payload: object) => object = (payload) => payload
) {
  const unpaid = yield* decide(requestFrom(address))
  if (unpaid._tag !== "Refused") return yield* Effect.die("the report costs nothing")
  const [offer] = (yield* decodeOffers(unpaid.response.body)).accepts
  const challenge = offer?.extra?.["challenge"]
  if (offer === undefined || typeof challenge !== "string") return yield* Effect.die("the shop offers nothing")
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const { payload } = yield* TestScheme.client(payer).sign({
    requirements: offer,
    asset: TestScheme.asset,
    validAfter: 0,
    validBefore: now + 60,
    binding: yield* Binding.make(challenge)
  })
  const sent = PaymentPayload.sealPayload("exact", TestScheme.network, spoil(payload as object))
  return yield* decide(requestFrom(address, { "x-payment": AsciiJson.encode(sent) }))
})

const isServed = (decision: Decision) => decision._tag === "Granted"

/** Tenths of a second, and in which of them an honest payer buys. */
const slices = 10 * seconds
const isPurchase = (slice: number) => (slice * purchases) % slices < purchases

/** Strangers at a rate a second for some seconds, and honest purchases behind them: the number of those that were served. */
const served = Effect.fnUntraced(function* (
  ledger: TestLedger.TestLedger,
  shop: Shop,
  stranger: (index: number) => Effect.Effect<Decision, unknown>,
  honestFrom: string,
  perSecond: number
) {
  let good = 0
  for (let slice = 0; slice < slices; slice++) {
    const bad = Array.from({ length: perSecond / 10 }, (_, index) => stranger((slice * perSecond) / 10 + index))
    const refused = yield* Effect.all(bad, { concurrency: "unbounded" })
    assert.strictEqual(refused.filter(isServed).length, 0)
    if (isPurchase(slice)) {
      const payer = `acct-honest-${slice}`
      ledger.deposit(payer, 10n ** 9n)
      if (isServed(yield* buy(shop, payer, honestFrom))) good++
    }
    yield* TestClock.adjust("100 millis")
  }
  return good
})

const start = TestClock.setTime(1_700_000_000_000)

const here = "198.51.100.7"
const elsewhere = "203.0.113.9"

const key = "key-of-shop"
const rates = { rate: { perSecond: 100, burst: 200 }, payerRate: { perSecond: 20, burst: 40 } }
const callers = [{ name: "shop", keys: [ApiKey.digestOf(key)], rates }]

/** The facilitator behind HTTP, with the limits that it has by default. */
const openOverHttp = Effect.gen(function* () {
  yield* start
  const { ledger, url } = yield* LedgerService.open({ callers })
  const facilitator = yield* FacilitatorClient.make({ url, headers: { authorization: `Bearer ${key}` } })
  return { ledger, shop: yield* openShop(ledger, facilitator) }
})

const openInProcess = Effect.gen(function* () {
  yield* start
  const ledger = TestLedger.make()
  const schemes = [Effect.succeed(TestScheme.facilitator(ledger))]
  const context = yield* Layer.build(LocalFacilitator.layerMemory({ schemes, drainMillis: 0 }))
  const facilitator = yield* Effect.provide(Facilitator, context)
  return { ledger, shop: yield* openShop(ledger, facilitator) }
})

const places = [
  ["in this process", openInProcess],
  ["over HTTP", openOverHttp]
] as const

describe.each(places)("a facilitator %s", (_, open) => {
  it.effect("serves every honest purchase while one without a cent signs for empty accounts", () =>
    Effect.gen(function* () {
      const { ledger, shop } = yield* open
      const stranger = (index: number) => buy(shop, `acct-empty-${index}`, here)
      assert.strictEqual(yield* served(ledger, shop, stranger, elsewhere, perSecond), purchases)
    })
  )

  it.effect("does so where all come from one address, as behind a proxy", () =>
    Effect.gen(function* () {
      const { ledger, shop } = yield* open
      const stranger = (index: number) => buy(shop, `acct-empty-${index}`, here)
      assert.strictEqual(yield* served(ledger, shop, stranger, here, perSecond), purchases)
    })
  )

  it.effect("never hears of payments that nobody signed, or that pay somebody else or in another token", () =>
    Effect.gen(function* () {
      const { ledger, shop } = yield* open
      const spoilt: ReadonlyArray<(payload: object) => object> = [
        (payload) => ({ ...payload, signature: "A".repeat(43) }),
        (payload) => ({ ...payload, payTo: "acct-friend" }),
        (payload) => ({ ...payload, asset: "ledger-gold" })
      ]
      const stranger = (index: number) => buy(shop, "acct-victim", here, spoilt[index % spoilt.length])
      assert.strictEqual(yield* served(ledger, shop, stranger, here, perSecond), purchases)
      assert.strictEqual(shop.asked.settlements, purchases)
    })
  )
})

describe("a facilitator behind HTTP", () => {
  it.effect("serves every honest purchase while another place sends more than it takes", () =>
    Effect.gen(function* () {
      const { ledger, shop } = yield* openOverHttp
      const stranger = (index: number) => buy(shop, `acct-empty-${index}`, here)
      assert.strictEqual(yield* served(ledger, shop, stranger, elsewhere, 200), purchases)
    })
  )
})
