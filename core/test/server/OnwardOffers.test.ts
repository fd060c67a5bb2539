/** A shop that is paid on another ledger: its offers by the facilitator's quotes, which change, and payments that were signed for them. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import type { ExecutionEnd, Facilitator, PaymentRequest } from "../../src/facilitator/Facilitator.ts"
import { openPayload } from "../../src/protocol/PaymentPayload.ts"
import type { PaymentRequirements } from "../../src/protocol/PaymentRequirements.ts"
import type { UnquotedNetwork } from "../../src/protocol/Supported.ts"
import { invalid } from "../../src/protocol/ValidationError.ts"
import type { SchemeServer } from "../../src/scheme/SchemeServer.ts"
import type { GateRequest } from "../../src/server/http/Decision.ts"
import type { RouteConfig } from "../../src/server/route/RouteConfig.ts"
import * as TestBridge from "../../src/testing/ledger/TestBridge.ts"
import { x402v2Seller } from "../../src/wire/x402/X402v2Seller.ts"
import * as BridgeShop from "../facilitator/delivery/BridgeShop.ts"
import * as LedgerShop from "../facilitator/LedgerShop.ts"
import { begin } from "../facilitator/LedgerSteps.ts"
import * as LedgerGate from "./LedgerGate.ts"

const report = "GET /report"

/** Unix seconds. */
const start = LedgerShop.start / 1000

interface Quote {
  readonly fee: number
  /** Seconds after the start at which it is over. */
  readonly until?: number
  readonly least?: number
}

/** Changes of the terms. */
interface Terms {
  /** Whether the facilitator finds that a payment agrees with its offer; default, it always does. */
  readonly agrees?: (request: PaymentRequest) => boolean
  readonly server?: (server: SchemeServer) => SchemeServer
}

const otherTerms = invalid("unsupported_authorization", "route_terms", "the payment's route has another end")

/** Two ledgers, and shops of one facilitator whose quotes a test sets. */
const opened = Effect.fnUntraced(function* (
  config: Partial<RouteConfig> = {},
  handler: (target: string) => number = () => 200,
  { agrees, server }: Terms = {}
) {
  const shop = yield* BridgeShop.open({ settleTimeoutMillis: 5_000 })
  const quotes: {
    now: ReadonlyArray<Record<string, number>>
    unquoted: ReadonlyArray<UnquotedNetwork>
    asked: number
  } = { now: [], unquoted: [], asked: 0 }
  const quote = ({ fee, least = 1, until = 600 }: Quote) => {
    quotes.now = [{ fee, least, quotedUntil: start + until }]
  }
  quote({ fee: 100 })
  const supported = Effect.map(shop.facilitator.supported, (sellable) => {
    quotes.asked++
    const { now, unquoted } = quotes
    return { ...sellable, kinds: sellable.kinds.map((kind) => ({ ...kind, quotes: now, unquoted })) }
  })
  const ends: Array<ExecutionEnd> = []
  const facilitator: Facilitator["Service"] = {
    ...shop.facilitator,
    supported,
    settle: (request, claim) =>
      agrees?.(request) === false ? Effect.fail(otherTerms) : shop.facilitator.settle(request, claim),
    finish: (paymentId, claimId, outcome) => {
      ends.push(outcome)
      return shop.facilitator.finish(paymentId, claimId, outcome)
    }
  }
  const gate = LedgerGate.open({
    routes: { [report]: "accepts" in config ? config : { onward: { network: "ledger:far" }, ...config } },
    handler,
    shop: { facilitator, ledger: shop.near },
    ...(server && { server })
  })
  return { shop, quotes, quote, gate, ends }
})

/** Offers that name the end of their quote, as those of a real bridge do. */
const namingQuotes = (server: SchemeServer): SchemeServer => ({
  ...server,
  onward: (option) =>
    Result.map(TestBridge.offers(option), ({ network, onRecord, quoted }) => ({
      network,
      onRecord,
      quoted: (price, quotes) => {
        const made = quoted(price, quotes)
        if (made?.offer === undefined) return made
        const { extra, ...offer } = made.offer
        return { ...made, offer: { ...offer, extra: { ...extra, route: { quotedUntil: made.quotedUntil } } } }
      }
    }))
})

const untilIn = ({ extra }: PaymentRequirements): number => Number(Reflect.get(Object(extra?.["route"]), "quotedUntil"))

/** The payment of a buyer who puts the quote's end, or another number, where the scheme lets it be any past second. */
const signFor = (reply: LedgerGate.Reply, quote = untilIn(LedgerGate.offerIn(reply))) =>
  LedgerGate.payFor(reply, true, { validAfter: quote - start, validBefore: start + 390 })

/** Whether such a payment was signed for the quote of this offer. */
const isByQuote = ({ paymentPayload, paymentRequirements }: PaymentRequest): boolean => {
  const payload = Result.getOrThrow(openPayload(paymentPayload))
  return Reflect.get(Object(payload), "validAfter") === untilIn(paymentRequirements) - start
}

/** Servers that do not show where the money of a payment arrives. */
const silent: ReadonlyArray<readonly [string, (server: SchemeServer) => SchemeServer]> = [
  [
    "is not read",
    (server) => {
      const { inspect: _, ...unread } = server
      return unread
    }
  ],
  [
    "is read without its arrival",
    ({ inspect, ...server }) => ({
      ...server,
      inspect: (requirements, payload) =>
        Effect.map(inspect?.(requirements, payload) ?? Effect.die("no reader"), (authorization) => {
          const { arrival: _, ...departure } = authorization
          return departure
        })
    })
  ]
]

const priceBySize = ({ query }: Pick<GateRequest, "query">) => (query["size"] === "large" ? "$0.01005" : "$0.01")

type Gate = Effect.Success<ReturnType<typeof LedgerGate.open>>

const asks = Effect.fnUntraced(function* (gate: Gate, target: string, headers: LedgerGate.Headers = {}) {
  const asking = yield* begin(gate.ask(report, target, headers), 7)
  const exit = asking.pollUnsafe()
  if (exit?._tag !== "Success") throw new Error("no response")
  return exit.value
})

const amountIn = (reply: LedgerGate.Reply) => Number(LedgerGate.offerIn(reply).maxAmountRequired)

/** Renews the shop's quotes: the request that finds them nearly over asks for newer ones, and a later one has them. */
const renewed = Effect.fnUntraced(function* (gate: Gate) {
  yield* asks(gate, "/report")
  yield* TestClock.adjust("1 second")
  return yield* asks(gate, "/report")
})

/** With a second token. */
const withOther = (server: SchemeServer): SchemeServer => ({
  ...server,
  asset: (network, text) => {
    const own = server.asset(network, undefined)
    return text === "OTHER" ? own && { ...own, address: "token-other", symbol: "OTHER" } : server.asset(network, text)
  }
})

describe("offers of a shop that is paid on another network", () => {
  it.effect(
    "a charged payment is served once, though its quote is long over and the shop has started again since",
    () =>
      Effect.gen(function* () {
        const { gate: opening, quote, shop } = yield* opened({ serve: "delivered" })
        shop.bridge.faults.withheld = true
        const gate = yield* opening
        const offered = yield* asks(gate, "/report")
        assert.strictEqual(amountIn(offered), 10_100)
        const headers = yield* LedgerGate.payFor(offered)
        assert.strictEqual((yield* asks(gate, "/report", headers)).status, 503)
        for (const [fee, until] of [
          [200, 1_800],
          [300, 3_600]
        ] as const) {
          quote({ fee, until })
          yield* TestClock.adjust(fee === 200 ? "6 minutes" : "25 minutes")
          assert.strictEqual(amountIn(yield* renewed(gate)), 10_000 + fee)
          assert.strictEqual((yield* asks(gate, "/report", headers)).status, 503)
        }
        const successor = yield* opening
        const waiting = yield* asks(successor, "/report", headers)
        assert.strictEqual(waiting.status, 503, waiting.body)
        shop.bridge.faults.withheld = false
        yield* TestClock.adjust("60 seconds")
        const served = yield* asks(successor, "/report", headers)
        assert.strictEqual(served.status, 200, served.body)
        assert.strictEqual((yield* asks(successor, "/report", headers)).status, 409)
        assert.deepStrictEqual([...gate.ran, ...successor.ran], ["/report"])
        assert.strictEqual(shop.near.transfers.length, 1)
      })
  )

  it.effect("a network that cannot be quoted is named with its reason, and the other ways to pay stay", () =>
    Effect.gen(function* () {
      const way = { ...LedgerGate.terms, price: "$0.01" }
      const accepts = [
        { ...way, onward: { network: "ledger:far" } },
        { ...way, asset: "OTHER" }
      ]
      // A facilitator of another version may name a reason that this one does not know, or repeat what its node says.
      for (const [config, status, reason, sentence] of [
        [{}, 503, "node_unavailable", "its node does not answer as it should"],
        [{ accepts }, 402, "stock_short", "the operator's money there is below the least price"],
        [{ accepts }, 402, "The node says: db-7.internal is down.", "it cannot be quoted"]
      ] as const) {
        const { gate: opening, quote, quotes } = yield* opened(config, undefined, { server: withOther })
        quotes.now = []
        quotes.unquoted = [
          { network: "ledger:far", reason },
          { network: "ledger:other", reason: "misconfigured" }
        ]
        const gate = yield* opening
        const refused = yield* asks(gate, "/report")
        assert.strictEqual(refused.status, status, refused.body)
        assert.include(refused.body, `No payment goes on to ledger:far now: ${sentence}.`)
        assert.notInclude(refused.body, "db-7")
        assert.notInclude(refused.body, "ledger:other")
        quotes.unquoted = []
        quote({ fee: 100 })
        yield* TestClock.adjust("11 seconds")
        const offered = yield* renewed(gate)
        assert.strictEqual(offered.status, 402)
        assert.notInclude(offered.body, "now:")
      }
    })
  )

  it.effect("a payment is taken by any quote that is not over, and by none that is", () =>
    Effect.gen(function* () {
      const { gate: opening, quote } = yield* opened()
      const gate = yield* opening
      const first = yield* LedgerGate.payFor(yield* asks(gate, "/report"))
      quote({ fee: 200, until: 302 })
      yield* TestClock.adjust("301 seconds")
      quote({ fee: 300, until: 1_200 })
      yield* renewed(gate)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(amountIn(yield* renewed(gate)), 10_300)
      assert.notInclude((yield* asks(gate, "/report", first)).body, "not_on_record")
    })
  )

  it.effect("of two quotes that ask for one amount, the newest is paid, and the one before it until it is over", () =>
    Effect.gen(function* () {
      const { gate: opening, quote } = yield* opened({}, undefined, { agrees: isByQuote, server: namingQuotes })
      const gate = yield* opening
      const earlier = yield* signFor(yield* asks(gate, "/report"))
      quote({ fee: 100, until: 1_200 })
      yield* TestClock.adjust("301 seconds")
      const offered = yield* renewed(gate)
      assert.strictEqual(amountIn(offered), 10_100)
      assert.strictEqual(untilIn(LedgerGate.offerIn(offered)), start + 1_200)
      const served = yield* asks(gate, "/report", yield* signFor(offered))
      assert.strictEqual(served.status, 200, served.body)
      const servedToo = yield* asks(gate, "/report", earlier)
      assert.strictEqual(servedToo.status, 200, servedToo.body)
    })
  )

  it.effect("a payment that agrees with no quote is refused by the terms of the newest", () =>
    Effect.gen(function* () {
      const { gate: opening, quote } = yield* opened({}, undefined, { agrees: isByQuote, server: namingQuotes })
      const gate = yield* opening
      quote({ fee: 100, until: 1_200 })
      yield* TestClock.adjust("301 seconds")
      const headers = yield* signFor(yield* renewed(gate), start + 700)
      const refused = yield* asks(gate, "/report", headers)
      assert.strictEqual(refused.status, 402)
      assert.include(refused.body, otherTerms.detail)
      assert.deepStrictEqual(gate.ran, [])
    })
  )

  it.effect.each(silent)("a granted payment that %s in the shop is not served: any amount may arrive", ([, server]) =>
    Effect.gen(function* () {
      const { ends, gate: opening } = yield* opened({}, undefined, { server })
      const gate = yield* opening
      const headers = yield* LedgerGate.payFor(yield* asks(gate, "/report"))
      const refused = yield* asks(gate, "/report", headers)
      assert.strictEqual(refused.status, 503, refused.body)
      assert.deepStrictEqual(gate.ran, [])
      assert.deepStrictEqual(ends, ["notRun"])
    })
  )

  it.effect("a request without a payment makes no offers but those of its response", () =>
    Effect.gen(function* () {
      let made = 0
      const server = (real: SchemeServer): SchemeServer => ({
        ...real,
        onward: (option) =>
          Result.map(TestBridge.offers(option), ({ network, onRecord, quoted }) => ({
            network,
            quoted,
            onRecord: (price) => {
              made++
              return onRecord(price)
            }
          }))
      })
      const { gate: opening } = yield* opened({}, undefined, { server })
      const gate = yield* opening
      const atStart = made
      const offered = yield* asks(gate, "/report")
      assert.strictEqual(made, atStart)
      assert.strictEqual((yield* asks(gate, "/report", yield* LedgerGate.payFor(offered))).status, 200)
      assert.isAbove(made, atStart)
    })
  )

  it.effect("an option whose price is below the least amount asks for no newer quotes, and is not offered", () =>
    Effect.gen(function* () {
      const { gate: opening, quote, quotes } = yield* opened()
      quote({ fee: 100, least: 20_000 })
      const gate = yield* opening
      for (let requests = 0; requests < 5; requests++) {
        assert.strictEqual((yield* asks(gate, "/report")).status, 503)
        yield* TestClock.adjust("20 seconds")
      }
      assert.strictEqual(quotes.asked, 1)
    })
  )

  it.effect("a payment for a cheap request at a high fee does not pay for a dear one at a low fee", () =>
    Effect.gen(function* () {
      const { gate: opening, quote } = yield* opened({ price: undefined, getPrice: priceBySize }, (target) =>
        target.includes("large") ? 200 : 404
      )
      const gate = yield* opening
      const headers = yield* LedgerGate.payFor(yield* asks(gate, "/report"))
      assert.strictEqual((yield* asks(gate, "/report", headers)).status, 404)
      // The dear request costs as much now as was paid, and less of that has arrived.
      quote({ fee: 50, until: 1_200 })
      yield* TestClock.adjust("6 minutes")
      assert.strictEqual(amountIn(yield* renewed(gate)), 10_050)
      const dear = yield* asks(gate, "/report?size=large", headers)
      assert.strictEqual(dear.status, 409, dear.body)
      assert.deepStrictEqual(gate.ran, ["/report"])
    })
  )

  it.effect("a payment that is bound to nothing is refused, and so is a route that asks for none that are", () =>
    Effect.gen(function* () {
      const { gate: opening } = yield* opened()
      const gate = yield* opening
      const offered = yield* asks(gate, "/report")
      const refused = yield* asks(gate, "/report", yield* LedgerGate.payFor(offered, false))
      assert.strictEqual(refused.status, 402)
      assert.include(refused.body, "binding_missing")
      const { gate: unbound } = yield* opened({ binding: "off" })
      assert.include((yield* Effect.flip(unbound)).message, "recognised by its challenge")
      const { gate: foreign } = yield* opened({ dialects: [x402v2Seller] })
      assert.include((yield* Effect.flip(foreign)).message, "x402")
    })
  )
})
