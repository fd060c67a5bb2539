/**
 * Two services over one PostgreSQL, and two shops that draw at both at once: whichever one answers, and whichever one is killed, each
 * accepted voucher is there and each request is charged once, for its own shop alone.
 */
import { assert, layer } from "@effect/vitest"
import { ChannelCorrection, FacilitatorUnavailable } from "@pontage/core"
import { ChannelContracts, EvmTestChain } from "@pontage/evm/testing"
import { PostgresServer } from "@pontage/sql/testing"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"

import * as DrawingShop from "./DrawingShop.ts"
import * as ServiceProcess from "./ServiceProcess.ts"

const { claimOf, clientOf, creditsOf, keys, opened, payees, price } = DrawingShop

/** Services behind one address, which takes them in turn. A service that does not answer gets nothing more until another one is put in its place. */
const balanced = (urls: Array<string>) => {
  const dead = new Set<string>()
  let turn = 0
  const send: typeof fetch = async (input, init) => {
    const living = urls.filter((url) => !dead.has(url))
    const url = living[turn++ % living.length] ?? assert.fail("no service is alive")
    const { pathname, search } = new URL(input instanceof Request ? input.url : input)
    try {
      return await fetch(url + pathname + search, init)
    } catch (error) {
      dead.add(url)
      throw error
    }
  }
  return { send, replace: (old: string, url: string) => urls.splice(urls.indexOf(old), 1, url) }
}

/** Repeats what was not answered until it is. */
const insistent = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
  Effect.retry(effect, {
    while: ({ _tag }) => _tag === "FacilitatorUnavailable" || _tag === "SettlementPending",
    schedule: Schedule.spaced("20 millis")
  })

/** Everything that is owed is claimed and paid out within seconds, by whichever service comes first. */
const eager = {
  PONTAGE_EVM_CHANNEL_POLL_MS: "100",
  PONTAGE_EVM_CHANNEL_LEAST_CLAIM: "1",
  PONTAGE_EVM_CHANNEL_MAXIMUM_UNCLAIMED: "1500",
  PONTAGE_EVM_CHANNEL_MAXIMUM_AGE_MS: "1000",
  PONTAGE_EVM_CHANNEL_LEAST_PAYOUT: "1"
}

const world = Effect.gen(function* () {
  const chain = yield* EvmTestChain.EvmTestChain
  yield* ChannelContracts.deploy(chain)
  const { database } = yield* PostgresServer.PostgresServer
  const environment = { ...DrawingShop.environmentOn(chain, Redacted.value(yield* database)), ...eager }
  const run = Effect.gen(function* () {
    const service = yield* ServiceProcess.run(environment)
    return { ...service, url: yield* service.url }
  })
  const [first, second] = yield* Effect.all([run, run], { concurrency: "unbounded" })
  return { chain, run, first, second, balancer: balanced([first.url, second.url]) }
})

const both = Layer.merge(EvmTestChain.layer({ payers: 2 }), PostgresServer.layer)

layer(both, { excludeTestServices: true, timeout: "5 minutes" })("draws at two services of one ledger", (it) => {
  it.effect("are charged and paid out once each while one service is killed between grants and ends", () =>
    Effect.gen(function* () {
      const { balancer, chain, first, run, second } = yield* world
      const balanceOf = (shop: "shop" | "rival") => chain.balanceOf(payees(chain)[shop])
      const before = { shop: yield* balanceOf("shop"), rival: yield* balanceOf("rival") }
      const granted = { count: 0, killed: yield* Deferred.make<void>() }
      /** The ninth grant kills the first service; the draws that are open then end after it. */
      const count = Effect.gen(function* () {
        if (++granted.count !== 9) return granted.count > 9 ? yield* Deferred.await(granted.killed) : undefined
        first.process.kill("SIGKILL")
        yield* first.exited
        yield* Deferred.succeed(granted.killed, undefined)
        yield* Effect.forkScoped(Effect.map(run, ({ url }) => balancer.replace(first.url, url)))
        return undefined
      })
      const sold = Effect.fnUntraced(function* (shop: "shop" | "rival", channel: number) {
        const client = yield* clientOf(second.url, keys[shop], { fetch: balancer.send })
        const { draw, id } = yield* opened(chain, client, payees(chain)[shop])
        let owed = 0n
        for (let request = 0; request < 10; request++) {
          const name = `${shop}-${channel}-${request}`
          const charge = BigInt((request * 337 + channel * 91) % 1_000)
          // Both services hear of the draw, and of its end, under the same claim.
          const twice = <A, E extends { readonly _tag: string }>(call: Effect.Effect<A, E>) =>
            Effect.all([insistent(call), insistent(call)], { concurrency: "unbounded" })
          const [draw1, draw2] = yield* twice(draw(owed + price, name))
          assert.deepInclude(draw1, { paymentId: id(owed + price), execution: "granted", isDraw: true })
          assert.strictEqual(draw2.paymentId, draw1.paymentId)
          yield* count
          const isServed = request % 5 !== 3
          const ends = yield* twice(
            client.finish(draw1.paymentId, claimOf(name).id, isServed ? "served" : "failed", charge)
          )
          for (const end of ends) assert.strictEqual(end.amount, `${isServed ? charge : 0n}`)
          if (isServed) owed += charge
        }
        return { shop, owed, paymentId: id(price) }
      })
      const places = (["shop", "rival"] as const).flatMap((shop) => [1, 2].map((channel) => [shop, channel] as const))
      const channels = yield* Effect.forEach(places, (place) => sold(...place), { concurrency: "unbounded" })
      yield* Deferred.await(granted.killed)
      const third = yield* run
      for (const { owed, paymentId, shop } of channels) {
        const other = shop === "shop" ? "rival" : "shop"
        for (const url of [second.url, third.url]) {
          const standing = yield* creditsOf(yield* clientOf(url, keys[shop])).standing(paymentId)
          assert.deepInclude(standing, { owed, balance: 50_000n })
          assert.isUndefined(yield* creditsOf(yield* clientOf(url, keys[other])).standing(paymentId))
        }
      }
      for (const shop of ["shop", "rival"] as const) {
        const own = channels.filter((one) => one.shop === shop)
        const earned = before[shop] + own.reduce((sum, { owed }) => sum + owed, 0n)
        const paid = yield* Effect.repeat(balanceOf(shop), {
          until: (balance) => balance >= earned,
          schedule: Schedule.spaced("100 millis")
        })
        assert.strictEqual(paid, earned)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("are granted to one claim alone, whichever service is asked", () =>
    Effect.gen(function* () {
      const { chain, first, second } = yield* world
      const clients = [yield* clientOf(first.url), yield* clientOf(second.url)] as const
      const { draw, id } = yield* opened(chain, clients[0])
      const ends = yield* Effect.forEach(
        clients.flatMap((client, at) => [0, 1].map((one) => ({ client, name: `claim-${at}-${one}` }))),
        ({ client, name }) => Effect.map(Effect.result(draw(price, name, client)), (end) => ({ end, name })),
        { concurrency: "unbounded" }
      )
      const winners = ends.filter(({ end }) => end._tag === "Success")
      assert.strictEqual(winners.length, 1)
      for (const { end } of ends) if (end._tag === "Failure") assert.instanceOf(end.failure, ChannelCorrection)
      const [winner] = winners
      const claimId = claimOf(winner?.name ?? "").id
      for (const client of clients) assert.isTrue(yield* creditsOf(client).renew(id(price), claimId))
      yield* Effect.forEach(clients, (client) => client.finish(id(price), claimId, "served", 700n), {
        concurrency: "unbounded"
      })
      for (const client of clients) assert.deepInclude(yield* creditsOf(client).standing(id(price)), { owed: 700n })
    }).pipe(Effect.scoped)
  )

  it.effect("of one shop cannot be touched by the other at either service", () =>
    Effect.gen(function* () {
      const { chain, first, second } = yield* world
      const shop = yield* clientOf(first.url)
      const { draw, id, request } = yield* opened(chain, shop)
      yield* draw(price, "own")
      yield* creditsOf(yield* clientOf(second.url)).voucher(yield* request(5_000n))
      for (const url of [first.url, second.url]) {
        const rival = yield* clientOf(url, keys.rival)
        const credits = creditsOf(rival)
        const drawn = yield* Effect.flip(draw(5_000n, "stolen", rival))
        assert.instanceOf(drawn, FacilitatorUnavailable)
        assert.match(drawn.message, /403/)
        const kept = yield* Effect.flip(Effect.flatMap(request(6_000n), credits.voucher))
        assert.match(kept.message, /403/)
        assert.isFalse(yield* credits.renew(id(price), claimOf("own").id))
        const wish = { claimId: claimOf("stolen").id, amount: price, known: undefined, waitMillis: 0 }
        const unknown = { detail: "unknown_payment" }
        assert.deepInclude(yield* Effect.flip(credits.reserve({ paymentId: id(price), ...wish })), unknown)
        assert.deepInclude(yield* Effect.flip(rival.finish(id(price), claimOf("own").id, "served")), unknown)
        assert.deepInclude(yield* Effect.flip(rival.finish(id(price), claimOf("own").id, "notRun")), unknown)
      }
      const own = yield* clientOf(second.url)
      assert.deepInclude(yield* creditsOf(own).standing(id(price)), { owed: price, accepted: 5_000n })
      assert.deepInclude(yield* own.finish(id(price), claimOf("own").id, "served"), { amount: `${price}` })
    }).pipe(Effect.scoped)
  )

  it.effect("by two streams of one channel never use the same credit, which comes at either service", () =>
    Effect.gen(function* () {
      const { chain, first, second } = yield* world
      const clients = [yield* clientOf(first.url), yield* clientOf(second.url)] as const
      const { draw, id, request } = yield* opened(chain, clients[0])
      yield* draw(price, "stream")
      const paymentId = id(price)
      const windowOf = (at: 0 | 1, name: string) =>
        creditsOf(clients[at]).reserve({
          paymentId,
          claimId: claimOf(name).id,
          amount: price,
          known: 2n * price,
          waitMillis: 20_000
        })
      const waiting = yield* Effect.forkScoped(
        Effect.all([windowOf(0, "window-a"), windowOf(1, "window-b")], { concurrency: "unbounded" })
      )
      // The voucher covers one window more. Each service hears of what came at the other.
      yield* Effect.flatMap(request(2n * price), creditsOf(clients[1]).voucher)
      const ends = yield* Fiber.join(waiting)
      assert.sameMembers(
        ends.map(({ _tag }) => _tag),
        ["Granted", "Wanting"]
      )
      const wanting = ends.find(({ _tag }) => _tag === "Wanting")
      assert.deepInclude(wanting, { required: 3n * price })
      const name = ends[0]?._tag === "Granted" ? "window-a" : "window-b"
      yield* clients[1].finish(paymentId, claimOf(name).id, "served", 400n)
      yield* clients[0].finish(paymentId, claimOf("stream").id, "served")
      for (const client of clients)
        assert.deepInclude(yield* creditsOf(client).standing(paymentId), { owed: price + 400n, accepted: 2n * price })
    }).pipe(Effect.scoped)
  )

  it.effect("that come at once at both are each granted with a voucher of its own, after corrections", () =>
    Effect.gen(function* () {
      const { chain, first, second } = yield* world
      const clients = [yield* clientOf(first.url), yield* clientOf(second.url)]
      const { draw, id } = yield* opened(chain, clients[0] ?? assert.fail("no client"))
      const sold = Effect.fnUntraced(function* (client: DrawingShop.Client, name: string) {
        let maximum = price
        for (let corrections = 0; ; corrections++) {
          const end = yield* Effect.result(insistent(draw(maximum, `${name}-${corrections}`, client)))
          if (end._tag === "Success") {
            yield* client.finish(end.success.paymentId, claimOf(`${name}-${corrections}`).id, "served")
            return maximum
          }
          assert.instanceOf(end.failure, ChannelCorrection)
          const { channelState } = end.failure instanceof ChannelCorrection ? end.failure.facts : {}
          maximum = price + BigInt(String(Reflect.get(Object(channelState), "chargedCumulativeAmount")))
        }
      })
      const requests = Array.from({ length: 8 }, (_, request) => request)
      const ends = yield* Effect.forEach(
        requests,
        (request) => sold(clients[request % 2] ?? assert.fail("no client"), `request-${request}`),
        { concurrency: "unbounded" }
      )
      const maxima = ends.toSorted((one, other) => Number(one - other))
      assert.deepStrictEqual(
        maxima,
        requests.map((request) => BigInt(request + 1) * price)
      )
      const owed = BigInt(requests.length) * price
      for (const client of clients) assert.deepInclude(yield* creditsOf(client).standing(id(price)), { owed })
    }).pipe(Effect.scoped)
  )
})
