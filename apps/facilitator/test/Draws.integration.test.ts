/**
 * Draws on payment channels over HTTP, at the service as an operator runs it: durable and granted once whatever happens to requests and
 * to the process, and closed to all callers but the payee's own.
 */
import { assert, describe, layer } from "@effect/vitest"
import { ChannelCorrection, DrawId, FacilitatorUnavailable, ValidationError } from "@pontage/core"
import { ChannelContracts, EvmTestChain } from "@pontage/evm/testing"
import { PostgresServer } from "@pontage/sql/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"

import { FacilitatorProcess, FacilitatorSettings } from "../src/index.ts"
import { claimOf, clientOf, creditsOf, environmentOn, insistent, keys, opened, price } from "./DrawingShop.ts"
import * as ServiceProcess from "./ServiceProcess.ts"
import * as TestChannel from "./TestChannel.ts"

const database = Effect.map(
  Effect.flatMap(PostgresServer.PostgresServer, ({ database }) => database),
  Redacted.value
)

const started = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, store: string) {
  yield* ChannelContracts.deploy(chain)
  const settings = yield* FacilitatorSettings.fromEnvironment(environmentOn(chain, store))
  return yield* Effect.provide(FacilitatorProcess.start(settings), Logger.layer([]))
})

/** Spoils the first attempt of each different request after the service has answered it, or before it is sent. */
const spoiled = () => {
  const seen = new Set<string>()
  const calls: Array<string> = []
  const faults = ["lost", "500", "unsent"] as const
  const spoil: typeof fetch = async (input, init) => {
    const path = new URL(input instanceof Request ? input.url : input).pathname
    const name = `${path} ${JSON.stringify(init?.body)}`
    calls.push(path)
    if (path === "/supported" || seen.has(name)) return fetch(input, init)
    const fault = faults[seen.size % faults.length]
    seen.add(name)
    if (fault === "unsent") return new Response("it is too much", { status: 502 })
    await (await fetch(input, init)).arrayBuffer()
    if (fault === "lost") throw new TypeError("the connection broke")
    return new Response("no answer", { status: 500 })
  }
  return { spoil, calls }
}

const world = Layer.merge(EvmTestChain.layer({ payers: 2 }), PostgresServer.layer)

layer(world, { excludeTestServices: true, timeout: "5 minutes" })("draws", (it) => {
  describe.each([
    ["memory", Effect.succeed("memory")],
    ["PostgreSQL", database]
  ])("over HTTP, in %s", (_, store) => {
    it.effect(
      "are granted, charged with the sum that the shop reports, and told what to sign where they are stale",
      () =>
        Effect.gen(function* () {
          const chain = yield* EvmTestChain.EvmTestChain
          const { url } = yield* started(chain, yield* store)
          const client = yield* clientOf(url)
          const { channel, draw, id } = yield* opened(chain, client)
          const granted = yield* draw(price, "first")
          assert.deepInclude(granted, {
            paymentId: id(price),
            execution: "granted",
            isDraw: true,
            transaction: "",
            amount: `${price}`,
            payTo: chain.accounts.signers[0].address
          })
          assert.deepInclude(granted.extra, { chargedAmount: `${price}` })
          assert.deepStrictEqual(yield* draw(price, "first"), granted)
          assert.deepInclude(yield* client.finish(granted.paymentId, claimOf("first").id, "served", 300n), {
            amount: "300",
            execution: "served"
          })
          // The end is the first one's.
          assert.deepInclude(yield* client.finish(granted.paymentId, claimOf("first").id, "served", 1_000n), {
            amount: "300"
          })
          const stale = yield* Effect.flip(draw(price, "second"))
          assert.instanceOf(stale, ChannelCorrection)
          assert.deepInclude(stale instanceof ChannelCorrection ? stale.facts["channelState"] : undefined, {
            chargedCumulativeAmount: "300"
          })
          const next = yield* draw(300n + price, "third")
          assert.deepInclude(yield* client.finish(next.paymentId, claimOf("third").id, "failed"), { amount: "0" })
          assert.deepInclude(yield* creditsOf(client).standing(granted.paymentId), {
            channelId: channel.channelId,
            owed: 300n,
            balance: TestChannel.amount
          })
        }).pipe(Effect.scoped)
    )

    it.effect("survive lost answers and failures of every call, each charged once", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { url } = yield* started(chain, yield* store)
        const { spoil } = spoiled()
        const faulty = yield* clientOf(url, keys.shop, { fetch: spoil })
        const { draw, request } = yield* opened(chain, yield* clientOf(url))
        const credits = creditsOf(faulty)
        const first = yield* insistent(draw(price, "first", faulty))
        yield* insistent(faulty.finish(first.paymentId, claimOf("first").id, "served", 400n))
        const second = yield* insistent(draw(400n + price, "second", faulty))
        const { paymentId } = second
        const kept = yield* insistent(Effect.flatMap(request(10_000n), credits.voucher))
        assert.deepInclude(kept, { _tag: "Kept", transaction: "" })
        assert.strictEqual(kept.standing.accepted, 10_000n)
        // All that the voucher covers is reserved: a repeated call finds its own window, and no credit for another one.
        const amount = 10_000n - 1_400n
        const wish = { paymentId, claimId: claimOf("window").id, amount, known: undefined, waitMillis: 0 }
        const window = yield* insistent(credits.reserve(wish))
        assert.strictEqual(window._tag, "Granted")
        assert.strictEqual((yield* insistent(credits.reserve(wish)))._tag, "Granted")
        const other = yield* insistent(credits.reserve({ ...wish, claimId: claimOf("other").id }))
        assert.deepInclude(other, { _tag: "Wanting", required: 10_000n + amount })
        assert.isTrue(yield* insistent(credits.renew(paymentId, claimOf("window").id)))
        yield* insistent(faulty.finish(paymentId, claimOf("window").id, "served", 600n))
        yield* insistent(faulty.finish(paymentId, claimOf("second").id, "served"))
        assert.isFalse(yield* insistent(credits.renew(paymentId, claimOf("window").id)))
        assert.deepInclude(yield* insistent(credits.standing(paymentId)), { owed: 400n + price + 600n })
      }).pipe(Effect.scoped)
    )

    it.effect("pass from a claim that got no answer to the next one of the same request", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { url } = yield* started(chain, yield* store)
        const client = yield* clientOf(url)
        const { draw, request } = yield* opened(chain, client)
        yield* draw(price, "unanswered")
        const one = yield* request(price)
        const again = yield* client.settle(one, { ...claimOf("again"), resumes: [claimOf("unanswered").id] })
        assert.strictEqual(again.execution, "granted")
        const late = yield* Effect.flip(client.settle(one, claimOf("unanswered")))
        assert.instanceOf(late, ChannelCorrection)
        yield* client.finish(again.paymentId, claimOf("again").id, "served")
        assert.deepInclude(yield* creditsOf(client).standing(again.paymentId), { owed: price })
      }).pipe(Effect.scoped)
    )

    it.effect("that are repeated at once are granted once", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { url } = yield* started(chain, yield* store)
        const client = yield* clientOf(url)
        const { draw, id } = yield* opened(chain, client)
        const all = yield* Effect.forEach(Array.from({ length: 40 }), () => draw(price, "same"), {
          concurrency: "unbounded"
        })
        assert.isTrue(all.every(({ execution, paymentId }) => paymentId === id(price) && execution === "granted"))
        assert.deepInclude(yield* creditsOf(client).standing(id(price)), { owed: price, accepted: price })
      }).pipe(Effect.scoped)
    )

    it.effect("of a payee exist for its own caller alone", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { url } = yield* started(chain, yield* store)
        const shop = yield* clientOf(url)
        const { draw, request } = yield* opened(chain, shop)
        const { paymentId } = yield* draw(price, "first")
        const voucher = yield* request(5_000n)
        yield* creditsOf(shop).voucher(voucher)
        for (const key of [keys.rival, keys.open]) {
          const stranger = yield* clientOf(url, key)
          const credits = creditsOf(stranger)
          const forbidden = yield* Effect.flip(draw(5_000n, "stolen", stranger))
          assert.instanceOf(forbidden, FacilitatorUnavailable)
          assert.match(forbidden.message, /403.*register them there/)
          const claimed = yield* Effect.flip(
            Effect.flatMap(request(5_000n), (one) => stranger.claim(one, claimOf("stolen")))
          )
          assert.match(claimed.message, /403/)
          const kept = yield* Effect.flip(credits.voucher(voucher))
          assert.match(kept.message, /403.*register them there/)
          assert.isUndefined(yield* credits.standing(paymentId))
          assert.isFalse(yield* credits.renew(paymentId, claimOf("first").id))
          const wish = { paymentId, claimId: claimOf("stolen").id, amount: price, known: undefined, waitMillis: 0 }
          assert.deepInclude(yield* Effect.flip(credits.reserve(wish)), { detail: "unknown_payment" })
          const ended = yield* Effect.flip(stranger.finish(paymentId, claimOf("first").id, "served"))
          assert.instanceOf(ended, ValidationError)
          assert.deepInclude(ended, { detail: "unknown_payment" })
        }
        const own = creditsOf(shop)
        assert.deepInclude(yield* own.standing(paymentId), { owed: price, accepted: 5_000n })
        assert.deepInclude(yield* shop.finish(paymentId, claimOf("first").id, "served"), { amount: `${price}` })
      }).pipe(Effect.scoped)
    )

    it.effect("refuse requests of another shape, and say what is wrong", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { url } = yield* started(chain, yield* store)
        const headers = { "content-type": "application/json", authorization: `Bearer ${keys.shop}` }
        const post = (path: string, body: unknown) =>
          Effect.promise(async () => {
            const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) })
            return [answer.status, await answer.text()] as const
          })
        const window = { claimId: claimOf("a").id, amount: "1", waitMillis: 0 }
        const id = DrawId.make(`0x${"1".repeat(64)}`, 1n)
        for (const [path, body] of [
          ["/draws", { draws: [] }],
          ["/draws", { draws: Array.from({ length: 13 }, () => ({})) }],
          ["/draws", {}],
          [`/draws/${id}/windows`, { ...window, amount: "-1" }],
          [`/draws/${id}/windows`, { ...window, amount: `1${"0".repeat(78)}` }],
          [`/draws/${id}/windows`, { ...window, waitMillis: 20_001 }],
          [`/draws/${id}/windows`, { ...window, claimId: "short" }],
          [`/draws/${id}/renew`, {}],
          ["/vouchers", {}],
          [`/payments/${id}/finish`, { claimId: claimOf("a").id, outcome: "served", charge: "1.5" }]
        ] as const) {
          const [status, text] = yield* post(path, body)
          assert.strictEqual(status, 400, `${path} ${text}`)
          assert.include(text, '"malformed"')
        }
        assert.strictEqual((yield* post(`/draws/${id}/windows`, window))[0], 404)
        assert.strictEqual((yield* post("/draws/rubbish/windows", window))[0], 404)
        assert.deepStrictEqual(yield* post(`/draws/${id}/renew`, { claimId: window.claimId }), [200, '{"open":false}'])
      }).pipe(Effect.scoped)
    )
  })

  describe.each([
    ["SQLite", Effect.sync(ServiceProcess.freshFile)],
    ["PostgreSQL", database]
  ])("of a service in %s that is killed", (_, store) => {
    it.effect("between grant and end are charged by its successor", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        yield* ChannelContracts.deploy(chain)
        const environment = environmentOn(chain, yield* store)
        const first = yield* ServiceProcess.run(environment)
        const before = yield* clientOf(yield* first.url)
        const { draw } = yield* opened(chain, before)
        const { paymentId } = yield* draw(price, "served")
        yield* draw(2n * price, "renewed")
        first.process.kill("SIGKILL")
        yield* first.exited
        const gone = yield* Effect.flip(before.finish(paymentId, claimOf("served").id, "served", 700n))
        assert.instanceOf(gone, FacilitatorUnavailable)
        const second = yield* ServiceProcess.run(environment)
        const after = yield* clientOf(yield* second.url)
        assert.isTrue(yield* creditsOf(after).renew(paymentId, claimOf("renewed").id))
        assert.deepInclude(yield* after.finish(paymentId, claimOf("served").id, "served", 700n), { amount: "700" })
        yield* after.finish(DrawId.make(paymentId.split("-")[1] ?? "", 2n * price), claimOf("renewed").id, "notRun")
        assert.deepInclude(yield* creditsOf(after).standing(paymentId), { owed: 700n })
      }).pipe(Effect.scoped)
    )
  })
})
