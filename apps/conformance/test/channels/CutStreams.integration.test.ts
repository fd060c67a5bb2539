/** Metered streams that do not come to their end: neither side loses more than one window, by the ledger and by the chain. */
import { assert, layer } from "@effect/vitest"
import { FacilitatorUnavailable, MemoryChannelStore } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"

import { chainLayer, paidOut } from "./ChannelShopTrial.ts"
import { everywhere } from "./FacilitatorPlace.ts"
import * as StreamBuyer from "./StreamBuyer.ts"
import * as StreamShops from "./StreamShops.ts"

const { opened, tick, windowAmount } = StreamShops

const isUnit = ({ name }: StreamBuyer.StreamEvent) => name === ""
const isNeed = ({ name }: StreamBuyer.StreamEvent) => name === "payment-need-voucher"

interface Stream {
  readonly shop: StreamShops.StreamShop
  readonly buyer: StreamBuyer.StreamBuyer
  readonly offer: StreamBuyer.Offer
}

/** A buyer with a channel, which follows its streams. */
const streamOf = Effect.fnUntraced(function* (
  host: keyof typeof StreamShops.hosts,
  terms: StreamShops.StreamTerms = {}
) {
  const shop = yield* opened(host, terms)
  const { key } = yield* shop.chain.payer
  const buyer = StreamBuyer.make(shop, key)
  const offer = yield* Effect.promise(() => buyer.offerOf(shop.url))
  return { shop, buyer, offer } satisfies Stream
})

const standingOf = ({ buyer, offer, shop }: Stream) =>
  Effect.map(Effect.orDie(shop.ledger.find(buyer.idOf(offer))), (standing) => {
    if (standing === undefined) throw new Error("the ledger has no such channel")
    return standing
  })

/** The channel once no stream draws on it. */
const quiet = (stream: Stream) =>
  Effect.repeat(
    Effect.tap(standingOf(stream), ({ open }) => (open === 0 ? Effect.void : Effect.sleep("5 millis"))),
    { until: ({ open }) => open === 0 }
  )

/** Begins a stream by a voucher on top of what the channel owes, or by a deposit. */
const begun = async ({ buyer, offer, shop }: Stream, owed: bigint, query: string, deposit?: bigint) => {
  const maximum = owed + windowAmount
  const payload =
    deposit === undefined ? await buyer.voucherOf(offer, maximum) : await buyer.depositOf(offer, maximum, deposit)
  const response = await buyer.request(`${shop.url}?${query}`, offer, { ...payload, follows: true })
  assert.strictEqual(response.status, 200)
  return StreamBuyer.readerOf(response)
}

const required = (need: StreamBuyer.StreamEvent | undefined): bigint =>
  BigInt((JSON.parse(need?.data ?? "") as { requiredCumulative: string }).requiredCumulative)

/** Follows a stream, and leaves it once its text is longer than this. */
const readTo = async ({ buyer, offer }: Stream, reader: ReturnType<typeof StreamBuyer.readerOf>, bytes: number) => {
  let answered = 0
  while (!reader.isOver() && reader.text().length < bytes) {
    // oxlint-disable-next-line no-await-in-loop -- a voucher follows each need
    await reader.until((events, text) => text.length >= bytes || events.filter(isNeed).length > answered)
    if (reader.text().length >= bytes) break
    const need = reader.events().filter(isNeed)[answered]
    if (need === undefined) continue
    answered++
    // oxlint-disable-next-line no-await-in-loop -- a voucher follows each need
    await buyer.post(offer, await buyer.voucherOf(offer, required(need)))
  }
  await reader.cut()
  return BigInt(reader.events().filter(isUnit).length) * tick
}

const receiptIn = (reader: ReturnType<typeof StreamBuyer.readerOf>) => {
  const last = reader.events().at(-1)
  assert.strictEqual(last?.name, "payment-receipt")
  return JSON.parse(last?.data ?? "") as Readonly<Record<string, string>>
}

for (const { place, shared } of everywhere(chainLayer))
  layer(shared, { timeout: "15 minutes", excludeTestServices: true })(
    `a metered stream, its facilitator ${place}`,
    (it) => {
      for (const host of ["Koa", "Express", "a fetch handler"] as const) {
        it.effect(`on ${host} that is cut at any byte costs what was sent, to a window`, () =>
          Effect.scoped(
            Effect.gen(function* () {
              const stream = yield* streamOf(host)
              const first = yield* Effect.promise(() => begun(stream, 0n, "units=1", 700_000n))
              yield* Effect.promise(() => first.until(() => false))
              const cuts = fc.sample(fc.integer({ min: 0, max: 900 }), { numRuns: 20, seed: 7 })
              for (const bytes of cuts) {
                const before = (yield* quiet(stream)).charged
                const seen = yield* Effect.promise(async () =>
                  readTo(stream, await begun(stream, before, "units=45"), bytes)
                )
                const charged = (yield* quiet(stream)).charged - before
                assert.isTrue(charged >= seen, `cut at ${bytes}: charged ${charged} for ${seen}`)
                assert.isTrue(charged - seen <= windowAmount, `cut at ${bytes}: charged ${charged} for ${seen}`)
              }
            })
          )
        )
      }

      for (const host of ["Koa", "Express", "a fetch handler"] as const) {
        it.effect(`on ${host} of bytes in large pieces that is cut at any byte costs what was sent, to a window`, () =>
          Effect.scoped(
            Effect.gen(function* () {
              const stream = yield* streamOf(host, { sold: { unit: "byte", tick: "$0.000001" } })
              const of = (query: string) => ({
                ...stream,
                shop: { ...stream.shop, url: `${stream.shop.origin}/bytes` },
                query
              })
              const whole = of("units=1&size=1")
              const first = yield* Effect.promise(() => begun(whole, 0n, whole.query, 700_000n))
              yield* Effect.promise(() => first.until(() => false))
              const cuts = fc.record({
                size: fc.constantFrom(1, 7, 400, 1000, 2500, 10_000),
                bytes: fc.integer({ min: 0, max: 5_000 })
              })
              for (const { bytes, size } of fc.sample(cuts, { numRuns: 20, seed: 7 })) {
                const before = (yield* quiet(stream)).charged
                const seen = yield* Effect.promise(async () => {
                  const reader = await begun(of(""), before, `units=20000&size=${size}`)
                  for (let paid = before + windowAmount; reader.text().length < bytes; paid += windowAmount) {
                    // oxlint-disable no-await-in-loop -- a voucher follows what its window has brought
                    await reader.until((_, text) => text.length >= bytes || BigInt(text.length) >= paid - before)
                    if (reader.text().length >= bytes) break
                    const { buyer, offer } = stream
                    await buyer.post(offer, await buyer.voucherOf(offer, paid + windowAmount))
                    // oxlint-enable no-await-in-loop
                  }
                  await reader.cut()
                  return BigInt(reader.text().length)
                })
                const charged = (yield* quiet(stream)).charged - before
                const message = `pieces of ${size} cut at ${bytes}: charged ${charged} for ${seen}`
                assert.isTrue(charged >= seen && charged - seen <= windowAmount, message)
              }
            })
          )
        )
      }

      it.effect("that is cut is claimed on the chain for what the ledger has charged", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const stream = yield* streamOf("Koa", { claimAt: 1n })
            const seen = yield* Effect.promise(async () =>
              readTo(stream, await begun(stream, 0n, "units=45", 100_000n), 300)
            )
            const { charged } = yield* quiet(stream)
            assert.isTrue(charged >= seen && charged - seen <= windowAmount)
            yield* paidOut(stream.shop, charged)
          })
        )
      )

      it.effect("ends when its next voucher does not come, and its buyer begins another one on top of it", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const stream = yield* streamOf("Hono")
            const reader = yield* Effect.promise(() => begun(stream, 0n, "units=45", 100_000n))
            yield* Effect.promise(() => reader.until(() => false))
            assert.deepInclude(receiptIn(reader), { end: "idle", units: "10", chargedAmount: `${windowAmount}` })
            const { charged, reserved } = yield* quiet(stream)
            assert.deepStrictEqual([charged, reserved], [windowAmount, 0n])
            const again = yield* Effect.promise(() => begun(stream, windowAmount, "units=2"))
            yield* Effect.promise(() => again.until(() => false))
            assert.deepInclude(receiptIn(again), { units: "2", chargedCumulativeAmount: `${windowAmount + 2n * tick}` })
          })
        )
      )

      it.effect("of which nothing is charged again and again is refused in the end", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const stream = yield* streamOf("Koa")
            const { buyer, offer, shop } = stream
            yield* Effect.promise(async () => {
              await (await begun(stream, 0n, "units=0", 100_000n)).until(() => false)
              const payload = { ...(await buyer.voucherOf(offer, windowAmount)), follows: true }
              const statuses: Array<number> = []
              while (statuses.length < 120) {
                // oxlint-disable-next-line no-await-in-loop -- one voucher is for one request at a time
                const response = await buyer.request(`${shop.url}?units=0`, offer, payload)
                // oxlint-disable-next-line no-await-in-loop -- the stream is at its end when its last byte has come
                await response.arrayBuffer()
                statuses.push(response.status)
              }
              assert.deepStrictEqual(statuses, [...Array.from({ length: 119 }, () => 200), 503])
            })
            assert.deepInclude(yield* quiet(stream), { charged: 0n, reserved: 0n })
          })
        )
      )

      it.effect("whose handler throws is charged up to there", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const stream = yield* streamOf("a fetch handler")
            const reader = yield* Effect.promise(() => begun(stream, 0n, "units=45&fail=4", 100_000n))
            yield* Effect.ignore(Effect.tryPromise(() => reader.until(() => false)))
            assert.strictEqual((yield* quiet(stream)).charged, 5n * tick)
          })
        )
      )

      it.effect("beside another one of its channel waits for credit of its own", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const stream = yield* streamOf("Fastify")
            const { buyer, offer } = stream
            yield* Effect.promise(async () => {
              const one = await begun(stream, 0n, "units=30", 100_000n)
              const other = await begun(stream, windowAmount, "units=30")
              // One voucher covers all that both will need.
              const whole = await buyer.post(offer, await buyer.voucherOf(offer, 6n * windowAmount))
              assert.strictEqual(whole.status, 200)
              await Promise.all([one.until(() => false), other.until(() => false)])
              for (const reader of [one, other]) assert.deepInclude(receiptIn(reader), { units: "30" })
            })
            const { charged, signed } = yield* quiet(stream)
            assert.deepStrictEqual([charged, signed], [60n * tick, 6n * windowAmount])
            // Credit that a stream leaves is there for the next one.
            yield* Effect.promise(async () => {
              await buyer.post(offer, await buyer.voucherOf(offer, 9n * windowAmount))
              const next = await begun(stream, 6n * windowAmount, "units=30")
              await next.until(() => false)
              assert.deepInclude(receiptIn(next), { units: "30", chargedCumulativeAmount: `${9n * windowAmount}` })
              assert.deepStrictEqual(next.events().filter(isNeed), [])
            })
          })
        )
      )

      it.effect("goes on beside as many others as its channel may have", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const stream = yield* streamOf("Express", { idleSeconds: 300 })
            const { buyer, offer } = stream
            yield* Effect.promise(async () => {
              const readers = [await begun(stream, 0n, "units=12", 200n * windowAmount)]
              while (readers.length < 64) {
                const owed = BigInt(readers.length) * windowAmount
                // oxlint-disable-next-line no-await-in-loop -- a channel's vouchers follow each other
                readers.push(await begun(stream, owed, "units=12"))
              }
              for (const reader of readers)
                // oxlint-disable-next-line no-await-in-loop -- all of them wait
                await reader.until((events) => events.some(isNeed))
              const one = await buyer.voucherOf(offer, 64n * windowAmount + windowAmount)
              const more = await buyer.request(stream.shop.url, offer, { ...one, follows: true })
              assert.strictEqual(more.status, 503)
              await more.arrayBuffer()
              await buyer.post(offer, await buyer.voucherOf(offer, 128n * windowAmount))
              await Promise.all(readers.map((reader) => reader.until(() => false)))
              for (const reader of readers) assert.deepInclude(receiptIn(reader), { units: "12" })
            })
            assert.strictEqual((yield* quiet(stream)).charged, 64n * 12n * tick)
          })
        )
      )

      it.effect("whose ledger is away ends, and is charged once the ledger is back", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const ledger = MemoryChannelStore.make()
            const away = Effect.fail(new FacilitatorUnavailable({ message: "the ledger is away" }))
            let failures = 0
            const orAway = <A, E>(effect: Effect.Effect<A, E>) =>
              Effect.suspend((): Effect.Effect<A, E | FacilitatorUnavailable> => (failures-- > 0 ? away : effect))
            const stream = yield* streamOf("Express", {
              ledger: {
                ...ledger,
                find: (id) => orAway(ledger.find(id)),
                commit: (...given) => orAway(ledger.commit(...given))
              }
            })
            const reader = yield* Effect.promise(() => begun(stream, 0n, "units=45", 100_000n))
            yield* Effect.promise(() => reader.until((events) => events.some(isNeed)))
            failures = 8
            yield* Effect.promise(() => reader.until(() => false))
            failures = 0
            assert.include(["closed", "idle"], receiptIn(reader)["end"])
            assert.strictEqual((yield* quiet(stream)).charged, windowAmount)
          })
        )
      )
    }
  )
