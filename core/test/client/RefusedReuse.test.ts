import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import type { JournalLine } from "../../src/client/ChannelEntry.ts"
import type { PayableRequest } from "../../src/client/PayableRequest.ts"
import * as PaymentClient from "../../src/client/PaymentClient.ts"
import * as PaymentJournal from "../../src/client/PaymentJournal.ts"
import { NoResponse } from "../../src/client/PurchaseResponse.ts"
import * as Spending from "../../src/client/Spending.ts"
import * as ClientSchemeRegistry from "../../src/scheme/ClientSchemeRegistry.ts"
import type { SchemeClient } from "../../src/scheme/SchemeClient.ts"
import * as TestScheme from "../../src/testing/ledger/TestScheme.ts"
import * as LedgerShop from "../facilitator/LedgerShop.ts"
import * as LedgerGate from "../server/LedgerGate.ts"

const routes = {
  "GET /report": {},
  "GET /other": {},
  "GET /render": {
    price: undefined,
    getPrice: ({ query }: { readonly query: Readonly<Record<string, unknown>> }) => `$0.0${String(query["pages"])}`
  }
} as const

const handler: LedgerGate.Handler = (target) => {
  const wanted = new URL(target, "https://shop.example").searchParams.get("end") ?? "200"
  return wanted === "failed" ? wanted : Number(wanted)
}

/** The fate of paid requests on their way: the response as it is, or another one. */
type Way = (reply: LedgerGate.Reply, paidRequest: number) => Effect.Effect<LedgerGate.Reply, NoResponse>

const open = Effect.fnUntraced(function* (
  way: Way = (reply) => Effect.succeed(reply),
  journal: PaymentJournal.PaymentJournal["Service"] = PaymentJournal.make(PaymentJournal.memoryLog())
) {
  const shop = yield* LedgerGate.open({ routes, handler })
  const sent: Array<LedgerGate.Headers> = []
  const signer = TestScheme.client(LedgerShop.payer)
  let signatures = 0
  const counted: SchemeClient = {
    ...signer,
    sign: (request) => {
      signatures += 1
      return signer.sign(request)
    }
  }
  const client = yield* PaymentClient.make({
    limits: { assets: { [TestScheme.asset.address]: "1000000" } }
  }).pipe(
    Effect.provide(ClientSchemeRegistry.layer([counted])),
    Effect.provideService(PaymentJournal.PaymentJournal, journal)
  )
  const send = (origin: string) => (href: string, added: Readonly<Record<string, string>>) =>
    Effect.gen(function* () {
      const url = new URL(href)
      const headers = Object.fromEntries(Object.entries(added).map(([name, text]) => [name.toLowerCase(), text]))
      const reply = yield* shop.ask(`GET ${url.pathname}`, `${url.pathname}${url.search}`, headers)
      if (Object.keys(added).length > 0) sent.push(headers)
      const seen = Object.keys(added).length === 0 ? reply : yield* way(reply, sent.length)
      assert.strictEqual(url.origin, origin)
      return new Response(seen.body, { status: seen.status, headers: seen.headers })
    })
  /** As the wrapped `fetch` does: asks unpaid, and pays for what is refused. */
  const get = (target: string, origin = "https://shop.example") =>
    Effect.gen(function* () {
      const request: PayableRequest = {
        method: "GET",
        url: `${origin}${target}`,
        body: Effect.succeed(new Uint8Array()),
        send: send(origin)
      }
      const demand = yield* client.demandOf(yield* request.send(request.url, {}))
      assert(demand !== undefined, "nothing was demanded")
      return (yield* client.pay(request, demand)).status
    })
  return { ...shop, get, journal, sent, signatures: () => signatures, paidRequests: () => sent.length }
})

const unit = Spending.assetUnit(TestScheme.network, TestScheme.asset.address)

const lost = Effect.fail(new NoResponse({ cause: new Error("ECONNRESET") }))

describe("a payment whose request was refused", () => {
  it.effect("pays for the corrected request: no other signature, no other transfer, no more spent", () =>
    Effect.gen(function* () {
      const { get, journal, ran, signatures, transfers } = yield* open()
      assert.strictEqual(yield* get("/report?end=404"), 404)
      const spent = Effect.map(journal.spent, (total) => total(unit).digits)
      assert.strictEqual(yield* spent, LedgerShop.amount)
      assert.strictEqual(yield* get("/report?day=2"), 200)
      assert.strictEqual(signatures(), 1)
      assert.strictEqual(transfers(), LedgerShop.amount)
      assert.deepStrictEqual(ran, ["/report?end=404", "/report?day=2"])
      assert.strictEqual(yield* spent, LedgerShop.amount)
      assert.strictEqual(yield* get("/report?day=3"), 200)
      assert.strictEqual(signatures(), 2)
    })
  )

  it.effect("pays for the same request again, and for five in all", () =>
    Effect.gen(function* () {
      const { get, ran, signatures } = yield* open()
      for (let run = 0; run < 5; run++) assert.strictEqual(yield* get("/report?end=422"), 422)
      assert.strictEqual(signatures(), 1)
      assert.strictEqual(yield* get("/report?end=422"), 422)
      assert.strictEqual(signatures(), 2)
      assert.strictEqual(ran.length, 6)
    })
  )

  it.effect("pays for nothing of another route, or that costs more; for less it does", () =>
    Effect.gen(function* () {
      const { get, paidRequests, signatures } = yield* open()
      assert.strictEqual(yield* get("/render?pages=3&end=400"), 400)
      assert.strictEqual(yield* get("/other"), 200)
      assert.strictEqual(signatures(), 2)
      assert.strictEqual(yield* get("/render?pages=4"), 200)
      assert.strictEqual(signatures(), 3)
      assert.strictEqual(paidRequests(), 3)
      assert.strictEqual(yield* get("/render?pages=2"), 200)
      assert.strictEqual(signatures(), 3)
    })
  )

  it.effect("pays for nothing once its time is over", () =>
    Effect.gen(function* () {
      const { get, paidRequests, signatures } = yield* open()
      yield* get("/report?end=404")
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(yield* get("/report?day=2"), 200)
      assert.deepStrictEqual([signatures(), paidRequests()], [2, 2])
    })
  )

  it.effect("is sent to no other origin, whatever that one says its route is", () =>
    Effect.gen(function* () {
      const { get, signatures } = yield* open()
      yield* get("/report?end=404")
      // The same shop plays another one here: its offers carry the very token.
      assert.strictEqual(yield* get("/report?day=2", "https://evil.example"), 200)
      assert.strictEqual(signatures(), 2)
    })
  )

  it.effect("is signed for anew where the shop says no to it", () =>
    Effect.gen(function* () {
      const { decide, get, sent, signatures, transfers } = yield* open()
      yield* get("/report?end=404")
      // A stranger who has the payment uses it up meanwhile.
      const granted = yield* decide("GET /report", "/report?day=9", sent[0])
      assert(granted._tag === "Granted")
      yield* granted.finish("served")
      assert.strictEqual(yield* get("/report?day=2"), 200)
      assert.strictEqual(signatures(), 2)
      assert.strictEqual(transfers(), 2n * LedgerShop.amount)
    })
  )

  it.effect("is signed for anew at once while another call is sending it", () =>
    Effect.gen(function* () {
      const { get, signatures } = yield* open((reply, paidRequest) =>
        paidRequest === 2 ? Effect.as(Effect.sleep("5 seconds"), reply) : Effect.succeed(reply)
      )
      yield* get("/report?end=404")
      const slow = yield* Effect.forkChild(get("/report?day=2"))
      yield* Effect.yieldNow
      assert.strictEqual(yield* get("/report?day=3"), 200)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* Fiber.join(slow), 200)
      assert.strictEqual(signatures(), 2)
    })
  )

  it.effect("belongs to the request it was sent with last: what failed there is owed there", () =>
    Effect.gen(function* () {
      const { get, signatures } = yield* open()
      yield* get("/report?end=404")
      assert.strictEqual(yield* get("/report?end=failed"), 500)
      assert.strictEqual(yield* get("/report?day=2"), 200)
      assert.strictEqual(signatures(), 2)
      assert.strictEqual(yield* get("/report?end=failed"), 500)
      assert.strictEqual(signatures(), 2)
    })
  )

  it.effect("is not given up for a lost response: the same request sends it again, and no other is signed", () =>
    Effect.gen(function* () {
      const { get, signatures } = yield* open((reply, paidRequest) =>
        paidRequest === 2 ? lost : Effect.succeed(reply)
      )
      yield* get("/report?end=404")
      const buying = yield* Effect.forkChild(Effect.flip(get("/report?day=2")))
      yield* TestClock.adjust("1 second")
      // It was served, and the response is lost: the shop says that it was used. Nothing is signed behind the caller's back.
      assert.deepInclude(yield* Fiber.join(buying), { _tag: "ValidationError", reason: "already_used" })
      assert.strictEqual(signatures(), 1)
    })
  )

  it.effect("is spent where the response does not say that it is still good", () =>
    Effect.gen(function* () {
      const { get, signatures } = yield* open(({ headers, ...reply }) => {
        const { ifRefused: _, ...receipt } = LedgerGate.receiptOn({ headers, ...reply })
        return Effect.succeed({ ...reply, headers: { ...headers, "X-Payment-Response": JSON.stringify(receipt) } })
      })
      yield* get("/report?end=404")
      assert.strictEqual(yield* get("/report?day=2"), 200)
      assert.strictEqual(signatures(), 2)
    })
  )

  it.effect.each([
    ["says nonsense", { routeToken: "x", runs: 4, until: 1e15 }],
    ["says it is good for no run", { runs: 0 }],
    ["says it is good no longer", { until: 0 }]
  ] as const)("is no more than what the response says: a server that %s", ([, changes]) =>
    Effect.gen(function* () {
      const { get, signatures } = yield* open(({ headers, ...reply }) => {
        const { ifRefused, ...receipt } = LedgerGate.receiptOn({ headers, ...reply })
        const changed = { ...receipt, ifRefused: { ...(ifRefused as object), ...changes } }
        return Effect.succeed({ ...reply, headers: { ...headers, "X-Payment-Response": JSON.stringify(changed) } })
      })
      yield* get("/report?end=404")
      assert.strictEqual(yield* get("/report?day=2"), 200)
      assert.strictEqual(signatures(), 2)
    })
  )

  it.effect("is good for ten minutes at most, whatever the server says", () =>
    Effect.gen(function* () {
      const { get, paidRequests } = yield* open(({ headers, ...reply }) => {
        const { ifRefused, ...receipt } = LedgerGate.receiptOn({ headers, ...reply })
        const changed = { ...receipt, ifRefused: { ...(ifRefused as object), until: 1e15 } }
        return Effect.succeed({ ...reply, headers: { ...headers, "X-Payment-Response": JSON.stringify(changed) } })
      })
      yield* get("/report?end=404")
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(yield* get("/report?day=2"), 200)
      assert.strictEqual(paidRequests(), 2)
    })
  )

  it.effect("outlives the process where the journal does", () =>
    Effect.gen(function* () {
      const log = PaymentJournal.memoryLog()
      const lines: Array<JournalLine> = []
      const kept: PaymentJournal.JournalLog = {
        transact: (step) =>
          log.transact((news) => {
            const [result, written] = step(news)
            lines.push(...written)
            return [result, written]
          })
      }
      const first = PaymentJournal.make(kept)
      const shop = yield* open(undefined, first)
      yield* shop.get("/report?end=404")
      const again = PaymentJournal.make({
        transact: (step) =>
          Effect.sync(() => step(lines.map((line) => JSON.parse(JSON.stringify(line)) as JournalLine))[0])
      })
      const found = yield* again.adoptRefused(() => true)
      assert.deepInclude(found, { state: "owed", url: "https://shop.example/report?end=404" })
      assert.strictEqual(found?.reuse?.runs, 4)
    })
  )
})
