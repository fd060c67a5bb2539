import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as LedgerShop from "../facilitator/LedgerShop.ts"
import { type Handler, offerIn, open, payFor, receiptOn, verdictOf } from "./LedgerGate.ts"

/** Reports are there for good days; pages cost a cent each, in dollars' cents as the query says. */
const routes = {
  "GET /report": {},
  "GET /other": {},
  "GET /dear": { price: "$0.05" },
  "GET /lookup": { refused: "charged" },
  "GET /render": {
    price: undefined,
    getPrice: ({ query }: { readonly query: Readonly<Record<string, unknown>> }) => `$0.0${String(query["pages"])}`
  }
} as const

const handler: Handler = (target) => {
  const wanted = new URL(target, "https://shop.example").searchParams.get("end") ?? "200"
  return wanted === "failed" || wanted === "notRun" ? wanted : Number(wanted)
}

const opened = open({ routes, handler })

const body = (page: number) => ({ rawBody: JSON.stringify({ page }) })

/** A payment that was refused by the application after it had moved the money. */
const refusedOnce = Effect.gen(function* () {
  const shop = yield* opened
  const headers = yield* payFor(yield* shop.ask("GET /report", "/report?end=404"))
  const answer = yield* shop.ask("GET /report", "/report?end=404", headers)
  return { ...shop, headers, answer }
})

const one = 10_000n

describe("a request that the application refuses after the payment", () => {
  it.effect("is told what the payment is still good for, by a receipt and by every offer of its route", () =>
    Effect.gen(function* () {
      const { answer, ask } = yield* refusedOnce
      assert.strictEqual(answer.status, 404)
      const routeToken = offerIn(yield* ask("GET /report", "/report?day=2")).extra?.["routeToken"]
      assert.deepStrictEqual(receiptOn(answer)["ifRefused"], {
        routeToken,
        runs: 4,
        until: LedgerShop.start + 600_000
      })
      assert.notStrictEqual(offerIn(yield* ask("GET /other", "/other")).extra?.["routeToken"], routeToken)
      assert.notStrictEqual(offerIn(yield* ask("GET /dear", "/dear")).extra?.["routeToken"], routeToken)
      assert.isUndefined(offerIn(yield* ask("GET /lookup", "/lookup")).extra?.["routeToken"])
    })
  )

  it.effect("leaves the payment good for one other request of the route, and no transfer more", () =>
    Effect.gen(function* () {
      const { ask, decide, headers, ran, transfers } = yield* refusedOnce
      assert.strictEqual((yield* ask("GET /report", "/report?day=2", headers)).status, 200)
      assert.strictEqual(transfers(), one)
      for (const target of ["/report?day=2", "/report?day=3", "/report?end=404"]) {
        assert.match(verdictOf(yield* decide("GET /report", target, headers)), /^409 (spent|other_resource)$/)
      }
      assert.deepStrictEqual(ran, ["/report?end=404", "/report?day=2"])
    })
  )

  it.effect("pays for nothing of another route, or of a dearer price, whatever the buyer shows", () =>
    Effect.gen(function* () {
      const { ask, decide, headers } = yield* refusedOnce
      assert.strictEqual(verdictOf(yield* decide("GET /other", "/other", headers)), "409 other_resource")
      assert.match(verdictOf(yield* decide("GET /dear", "/dear", headers)), /^409 /)
      assert.strictEqual(verdictOf(yield* decide("GET /lookup", "/lookup", headers)), "409 other_resource")
      const pattern = yield* decide("GET /report", "/report?day=2", headers, { pattern: "/another/:pattern" })
      assert.strictEqual(verdictOf(pattern), "409 other_resource")
      const method = yield* decide("GET /report", "/report?day=2", headers, { method: "POST" })
      assert.strictEqual(verdictOf(method), "409 other_resource")
      assert.strictEqual((yield* ask("GET /report", "/report?day=2", headers)).status, 200)
    })
  )

  it.effect("pays for what costs no more, and never for what costs more on the same route", () =>
    Effect.gen(function* () {
      const { ask, decide } = yield* opened
      const headers = yield* payFor(yield* ask("GET /render", "/render?pages=3&end=422"))
      assert.strictEqual((yield* ask("GET /render", "/render?pages=3&end=422", headers)).status, 422)
      const dearer = yield* decide("GET /render", "/render?pages=4", headers)
      assert.match(verdictOf(dearer), /^409 /)
      assert.strictEqual((yield* ask("GET /render", "/render?pages=2", headers)).status, 200)
      assert.match(verdictOf(yield* decide("GET /render", "/render?pages=1", headers)), /^409 /)
    })
  )

  it.effect("pays for nothing at another shop, not even at one of the same facilitator, payee and route", () =>
    Effect.gen(function* () {
      const { headers, shop } = yield* refusedOnce
      const elsewhere = yield* open({ routes, handler, shop, origin: "https://other.example" })
      assert.strictEqual(
        verdictOf(yield* elsewhere.decide("GET /report", "/report?day=2", headers)),
        "409 other_resource"
      )
      const stranger = yield* open({ routes, handler, shop, secret: "another secret, of 32 characters" })
      assert.strictEqual(
        verdictOf(yield* stranger.decide("GET /report", "/report?day=2", headers)),
        "409 other_resource"
      )
      const sibling = yield* open({ routes, handler, shop })
      assert.strictEqual((yield* sibling.ask("GET /report", "/report?day=2", headers)).status, 200)
    })
  )

  it.effect("is five runs in all, of which the last is told to be the last", () =>
    Effect.gen(function* () {
      const { ask, decide, headers, ran } = yield* refusedOnce
      const left: Array<unknown> = []
      for (const day of [2, 3, 4, 5]) {
        const answer = yield* ask("GET /report", `/report?day=${day}&end=400`, headers)
        assert.strictEqual(answer.status, 400)
        left.push((receiptOn(answer)["ifRefused"] as { readonly runs: number } | undefined)?.runs)
      }
      assert.deepStrictEqual(left, [3, 2, 1, undefined])
      assert.match(verdictOf(yield* decide("GET /report", "/report?day=6", headers)), /^409 /)
      assert.strictEqual(ran.length, 5)
    })
  )

  it.effect("is over ten minutes after the first refusal, however late the last one came", () =>
    Effect.gen(function* () {
      const { ask, decide, headers } = yield* refusedOnce
      yield* TestClock.adjust(599_999)
      const answer = yield* ask("GET /report", "/report?day=2&end=400", headers)
      assert.strictEqual(answer.status, 400)
      assert.include(receiptOn(answer)["ifRefused"] as object, { until: LedgerShop.start + 600_000 })
      yield* TestClock.adjust(1)
      assert.match(verdictOf(yield* decide("GET /report", "/report?day=3", headers)), /^409 /)
    })
  )

  it.effect("is taken over by one of many other requests that come at once", () =>
    Effect.gen(function* () {
      const { decide, headers } = yield* refusedOnce
      const targets = Array.from({ length: 12 }, (_, day) => `/report?day=${day}`)
      const decisions = yield* Effect.forEach(targets, (target) => decide("GET /report", target, headers), {
        concurrency: "unbounded"
      })
      const verdicts = decisions.map(verdictOf)
      assert.strictEqual(verdicts.filter((verdict) => verdict === "Granted").length, 1)
      assert.strictEqual(verdicts.filter((verdict) => verdict.startsWith("409 ")).length, 11)
    })
  )

  it.effect("is nobody's but its payer's: a payment rebuilt without its salt pays for nothing", () =>
    Effect.gen(function* () {
      const { decide, headers } = yield* refusedOnce
      const envelope = JSON.parse(headers["x-payment"]) as { readonly payload: string }
      const payload = JSON.parse(Buffer.from(envelope.payload, "base64").toString()) as {
        readonly binding: { readonly challenge: string; readonly salt: string }
      }
      const { binding, ...bare } = payload
      for (const forged of [bare, { ...bare, binding: { ...binding, salt: "A".repeat(22) } }]) {
        const text = JSON.stringify({ ...envelope, payload: Buffer.from(JSON.stringify(forged)).toString("base64") })
        const verdict = verdictOf(yield* decide("GET /report", "/report?day=2", { "x-payment": text }))
        assert.match(verdict, /^40[29] /)
      }
    })
  )

  it.effect("is spent where the payment was not bound to its payer", () =>
    Effect.gen(function* () {
      const { ask, decide } = yield* opened
      const headers = yield* payFor(yield* ask("GET /report", "/report?end=404"), false)
      const answer = yield* ask("GET /report", "/report?end=404", headers)
      assert.strictEqual(answer.status, 404)
      assert.notProperty(receiptOn(answer), "ifRefused")
      for (const target of ["/report?end=404", "/report?day=2"]) {
        assert.match(verdictOf(yield* decide("GET /report", target, headers)), /^409 /)
      }
    })
  )
})

describe("other ends", () => {
  it.effect("leave the payment with its own request: a failure, and a handler that was never reached", () =>
    Effect.gen(function* () {
      for (const end of ["failed", "notRun", "500", "503"]) {
        const { ask, decide } = yield* opened
        const target = `/report?end=${end}`
        const headers = yield* payFor(yield* ask("GET /report", target))
        yield* ask("GET /report", target, headers)
        assert.strictEqual(verdictOf(yield* decide("GET /report", "/report?day=2", headers)), "409 other_resource")
        assert.strictEqual(verdictOf(yield* decide("GET /report", target, headers)), "Granted")
      }
    })
  )

  it.effect("are served: a response below 400, a redirect among them", () =>
    Effect.gen(function* () {
      for (const end of [200, 204, 302, 399]) {
        const { ask, decide } = yield* opened
        const target = `/report?end=${end}`
        const headers = yield* payFor(yield* ask("GET /report", target))
        yield* ask("GET /report", target, headers)
        assert.strictEqual(verdictOf(yield* decide("GET /report", target, headers)), "409 spent")
        assert.match(verdictOf(yield* decide("GET /report", "/report?day=2", headers)), /^409 /)
      }
    })
  )

  it.effect("are served too where a refusal is the product", () =>
    Effect.gen(function* () {
      const { ask, decide } = yield* opened
      const headers = yield* payFor(yield* ask("GET /lookup", "/lookup?end=404"))
      const answer = yield* ask("GET /lookup", "/lookup?end=404", headers)
      assert.notProperty(receiptOn(answer), "ifRefused")
      assert.strictEqual(verdictOf(yield* decide("GET /lookup", "/lookup?end=404", headers)), "409 spent")
    })
  )
})

describe("a price that another body or header makes dearer", () => {
  it.effect("is not paid by a cheap payment that was cut off", () =>
    Effect.gen(function* () {
      const pages = {
        "GET /render": { price: undefined, getPrice: ({ body }: { readonly body: unknown }) => `$${String(body)}` }
      }
      const { ask, decide } = yield* open({ routes: pages, handler })
      const cheap = { body: "0.01" }
      const target = "/render?end=notRun"
      const headers = yield* payFor(yield* ask("GET /render", target, {}, cheap))
      yield* ask("GET /render", target, headers, cheap)
      assert.match(verdictOf(yield* decide("GET /render", target, headers, { body: "50.00" })), /^409 /)
      assert.strictEqual(verdictOf(yield* decide("GET /render", target, headers, cheap)), "Granted")
    })
  )

  it.effect("and at one price another body is another purchase, where the route binds it", () =>
    Effect.gen(function* () {
      const bound = { "POST /render": { bind: "body" } } as const
      const { ask, decide } = yield* open({ routes: bound, handler })
      const target = "/render?end=failed"
      const headers = yield* payFor(yield* ask("POST /render", target, {}, body(1)))
      yield* ask("POST /render", target, headers, body(1))
      assert.strictEqual(verdictOf(yield* decide("POST /render", target, headers, body(2))), "409 other_resource")
      assert.strictEqual(verdictOf(yield* decide("POST /render", target, headers, body(1))), "Granted")
    })
  )
})
