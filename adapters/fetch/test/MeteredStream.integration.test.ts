/** A buyer's metered streams, at a real HTTP server that may be hostile. */
import { assert, describe, it } from "@effect/vitest"
import { type ChannelEntry, PaymentJournal, type PaymentLimits } from "@pontage/core"
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import { settlementOf, streamOf } from "../src/index.ts"
import * as LeapClock from "./LeapClock.ts"
import { asset } from "./PaidShop.ts"
import * as StreamShop from "./StreamShop.ts"
import * as TestPayer from "./TestPayer.ts"

interface BuyerOptions {
  readonly limits?: PaymentLimits
  readonly journal?: PaymentJournal.PaymentJournal["Service"]
  readonly onTrouble?: (error: unknown) => void
  readonly balance?: bigint
  readonly clock?: Clock.Clock
  /** The network between buyer and shop. */
  readonly base?: typeof globalThis.fetch
}

/** A buyer at a shop: what it signed, what it was told, and what it was paid for. */
const buyerOf = (shop: StreamShop.StreamShop, { balance, onTrouble, ...options }: BuyerOptions = {}) => {
  const signer = StreamShop.signerOf(balance)
  const troubles: Array<unknown> = []
  const payments: Array<string> = []
  const { fetch } = TestPayer.make({
    schemes: [signer.client],
    limits: { perRequest: "$0.001", perStream: "$0.002" },
    onPayment: ({ amount }) => void payments.push(amount),
    ...options,
    onTrouble: (error) => {
      troubles.push(error)
      onTrouble?.(error)
    }
  })
  const open = () => fetch(`${shop.origin}/answer`)
  /** Reads a stream to its end. */
  const read = async () => {
    const response = await open()
    const text = await response.text()
    return { response, text, end: await streamOf(response)?.ended }
  }
  const book = async () => (await fetch.channels())[0]
  return { ...signer, fetch, open, read, book, troubles, payments }
}

const pieces = (text: string) => text.match(/^data: piece \d+$/gm)?.length ?? 0

/** The highest voucher less the price of what came. */
const ahead = (ceilings: ReadonlyArray<bigint>, count: number, tick = 100n) =>
  ceilings.reduce((one, other) => (other > one ? other : one), 0n) - BigInt(count) * tick

describe("a metered stream", () => {
  it("is paid window by window, each when the one before has come, and booked by its receipt", async () => {
    await using shop = await StreamShop.open()
    const buyer = buyerOf(shop)
    const { end, response, text } = await buyer.read()
    assert.strictEqual(response.url, `${shop.origin}/answer`)
    assert.strictEqual(pieces(text), 10)
    assert.include(text, "event: payment-receipt")
    assert.deepStrictEqual(buyer.ceilings(), [300n, 600n, 900n, 1200n])
    assert.deepStrictEqual(
      buyer.drawn.map(({ follows }) => follows),
      [true, false, false, false]
    )
    assert.deepInclude(end, { outcome: "complete", charged: 1000n, signed: 1200n, units: 10n, reason: undefined })
    assert.strictEqual(settlementOf(response)?.transaction, "")
    assert.deepStrictEqual(buyer.payments, ["1000"])
    assert.deepInclude(await buyer.book(), { charged: "1000", signed: "1200" })
    assert.isEmpty(buyer.troubles)
    // The next one begins at what was charged, and needs no correction.
    await buyer.read()
    assert.deepStrictEqual(shop.vouchers.slice(4), [1300n, 1600n, 1900n, 2200n])
  })

  it("goes on where a demand overtakes the piece that it follows", async () => {
    const looked = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    await using shop = await StreamShop.open({ held: (piece) => (piece === 2 ? looked.promise : undefined) })
    // The buyer's pause ends when the piece is there, which is sent when the pause has begun.
    const clock = LeapClock.make()
    const pausing: Clock.Clock = {
      ...clock, // oxlint-disable-line no-misused-spread -- it is a plain object
      sleep: (duration) =>
        Duration.toMillis(duration) >= 1000
          ? clock.sleep(duration)
          : Effect.promise(() => (looked.resolve(), arrived.promise))
    }
    const buyer = buyerOf(shop, { clock: pausing })
    const response = await buyer.open()
    let text = ""
    for await (const chunk of response.body!) {
      text += new TextDecoder().decode(chunk)
      if (text.includes("piece 2")) arrived.resolve()
    }
    assert.strictEqual(pieces(text), 10)
    assert.deepInclude(await streamOf(response)?.ended, { outcome: "complete", charged: 1000n, signed: 1200n })
  })

  it.each([
    { count: 3, ceilings: [300n] },
    { count: 4, ceilings: [300n, 600n] },
    { count: 6, ceilings: [300n, 600n] },
    { count: 7, ceilings: [300n, 600n, 900n] }
  ])("of $count units at 3 a window is signed for as far as it goes", async ({ ceilings, count }) => {
    await using shop = await StreamShop.open({ pieces: count })
    const buyer = buyerOf(shop)
    const { end } = await buyer.read()
    assert.deepStrictEqual(buyer.ceilings(), ceilings)
    assert.strictEqual(end?.charged, BigInt(count) * 100n)
  })

  it("ends at the limit of streams: what came is there, and the buyer is told", async () => {
    await using shop = await StreamShop.open()
    const buyer = buyerOf(shop, {
      limits: { perRequest: "$0.001", perStream: "$0.0006" },
      onTrouble: () => shop.idle()
    })
    const { end, text } = await buyer.read()
    assert.strictEqual(pieces(text), 6)
    // The last one says that no further one comes.
    assert.deepStrictEqual(buyer.ceilings(), [300n, 600n, 600n])
    assert.deepInclude(end, { outcome: "limit", charged: 600n, signed: 600n })
    assert.deepInclude(end?.reason, { _tag: "PaymentDeclined", rule: "over_stream_limit" })
    assert.deepStrictEqual(buyer.troubles, [end?.reason])
    assert.deepInclude(await buyer.book(), { charged: "600", signed: "600" })
  })

  it("is bounded by the limit of requests where there is none of streams, and by the day's", async () => {
    await using shop = await StreamShop.open()
    const onTrouble = () => shop.idle()
    const plain = buyerOf(shop, { limits: { perRequest: "$0.0003" }, onTrouble })
    assert.deepInclude((await plain.read()).end, { outcome: "limit", signed: 300n })
    await using other = await StreamShop.open()
    const limits = { perRequest: "$0.001", perStream: "$1", perDay: "$0.0008" }
    const day = buyerOf(other, { limits, onTrouble: () => other.idle() })
    const { end } = await day.read()
    assert.deepInclude(end, { outcome: "limit", signed: 600n })
    assert.deepInclude(end?.reason, { rule: "over_day_limit" })
  })

  it("tops its channel up where the deposit is used, within the limits of channels", async () => {
    const chain: Array<bigint> = []
    await using shop = await StreamShop.open({ onDeposit: (amount) => void chain.push(amount) })
    const buyer = buyerOf(shop, { balance: 700n })
    const { end } = await buyer.read()
    assert.deepInclude(end, { outcome: "complete", charged: 1000n })
    assert.deepStrictEqual(
      buyer.drawn.map(({ deposit }) => deposit?._tag),
      [undefined, undefined, "New", undefined]
    )
    assert.deepStrictEqual(chain, [500n])
    await using poor = await StreamShop.open()
    const limits = { perRequest: "$0.001", perStream: "$1", perChannel: "$0.0001" }
    const tight = buyerOf(poor, { balance: 700n, limits, onTrouble: () => poor.idle() })
    const last = (await tight.read()).end
    assert.deepInclude(last, { outcome: "limit", charged: 600n })
    assert.deepInclude(last?.reason, { rule: "over_channel_limit" })
  })

  it("is signed for no more when its body is cancelled, and the next one follows the shop's sum", async () => {
    await using shop = await StreamShop.open({ pieces: 100 })
    const buyer = buyerOf(shop)
    const response = await buyer.open()
    const reader = response.body!.getReader()
    let text = ""
    // oxlint-disable-next-line no-await-in-loop -- chunks arrive one after another
    while (pieces(text) < 4) text += new TextDecoder().decode((await reader.read()).value)
    await reader.cancel()
    const end = await streamOf(response)?.ended
    if (end?.outcome !== "cancelled") return assert.fail("not cancelled")
    assert.isAtMost(Number(end.signed), 900)
    assert.isAtMost(Number(ahead(buyer.ceilings(), pieces(text))), 300)
    assert.deepInclude(await buyer.book(), { charged: `${end.signed}`, signed: `${end.signed}` })
    const next = await buyer.open()
    assert.strictEqual(next.status, 200)
    assert.isAtMost(Number(buyer.ceilings().at(-1)), Number(end.signed) + 300)
    await next.body?.cancel()
    return undefined
  })

  it("is not read ahead of its reader, so that nothing is signed for what nobody reads", async () => {
    await using shop = await StreamShop.open({ pieces: 100 })
    const waits = shop.waits()
    const buyer = buyerOf(shop)
    const response = await buyer.open()
    await waits
    assert.deepStrictEqual(buyer.ceilings(), [300n])
    await response.body?.cancel()
  })

  it("goes on from a journal that is read again in its middle, and loses nothing", async () => {
    await using shop = await StreamShop.open({ pieces: 100 })
    const lines: Array<ChannelEntry.JournalLine> = []
    const log = (): PaymentJournal.JournalLog => {
      let read = 0
      return {
        transact: (step) =>
          Effect.sync(() => {
            const [result, added] = step(lines.slice(read))
            read = lines.length
            lines.push(...added.map((line) => structuredClone(line)))
            return result
          })
      }
    }
    const first = buyerOf(shop, { journal: PaymentJournal.make(log()) })
    const response = await first.open()
    const reader = response.body!.getReader()
    let text = ""
    // oxlint-disable-next-line no-await-in-loop -- chunks arrive one after another
    while (pieces(text) < 5) text += new TextDecoder().decode((await reader.read()).value)
    // Another process reads the journal while the stream is under way.
    const second = buyerOf(shop, { journal: PaymentJournal.make(log()) })
    const book = await second.book()
    const written = first.ceilings().at(-1)
    assert.deepInclude(book, { charged: `${written}`, signed: `${written}` })
    await reader.cancel()
    await streamOf(response)?.ended
    const again = await second.open()
    assert.strictEqual(again.status, 200)
    await again.body?.cancel()
    const highest = second.ceilings().reduce((a, b) => (a > b ? a : b))
    assert.isAtMost(Number(highest), Number(shop.charged()) + 600)
  })
})

/** A network that breaks a stream after this many bytes. */
const cutAfter =
  (bytes: number): typeof globalThis.fetch =>
  async (input, init) => {
    const response = await fetch(input, init)
    if (response.headers.get("payment-voucher-url") === null || response.body === null) return response
    let left = bytes
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        controller.enqueue(chunk.subarray(0, left))
        left -= chunk.length
        if (left <= 0) controller.error(new Error("the connection broke"))
      }
    })
    return new Response(response.body.pipeThrough(cut), { status: response.status, headers: response.headers })
  }

describe("a metered stream that is cut", () => {
  const cuts = Array.from({ length: 32 }, (_, index) => 1 + 29 * index)

  it.each(cuts)("after %d bytes costs at most a window above what came, and the next one agrees", async (bytes) => {
    await using shop = await StreamShop.open()
    const buyer = buyerOf(shop, { base: cutAfter(bytes) })
    const response = await buyer.open()
    let text = ""
    const broke = await TestPayer.rejection(
      (async () => {
        for await (const chunk of response.body!) text += new TextDecoder().decode(chunk)
      })()
    )
    assert.deepInclude(broke, { _tag: "StreamBroken", bytes: BigInt(text.length) })
    assert.match(broke.message, /the connection broke/)
    const end = await streamOf(response)?.ended
    assert.strictEqual(end?.reason, broke)
    assert.isAtMost(Number(ahead(buyer.ceilings(), pieces(text))), 300)
    assert.deepInclude(await buyer.book(), { signed: `${end?.signed}` })
    assert.strictEqual(end?.charged, end?.signed)
    const again = await buyer.open()
    assert.strictEqual(again.status, 200)
    await again.body?.cancel()
  })
})

/** A network that says of a stream that it has 901 bytes. */
const announced: typeof globalThis.fetch = async (input, init) => {
  const response = await fetch(input, init)
  if (response.headers.get("payment-voucher-url") === null) return response
  const headers = new Headers(response.headers)
  headers.set("content-length", "901")
  return new Response(response.body, { status: response.status, headers })
}

describe("a metered stream without events", () => {
  const bytes = { type: "application/octet-stream", unit: "byte", tick: 1n, window: 1000n, pieceBytes: 1 }

  it("is paid one window ahead of the bytes that came, and booked by what the shop says of the channel", async () => {
    await using shop = await StreamShop.open({ ...bytes, pieces: 3210 })
    const buyer = buyerOf(shop, { limits: { perRequest: "$0.001", perStream: "$1" } })
    const { end, text } = await buyer.read()
    assert.lengthOf(text, 3210)
    assert.deepInclude(end, { outcome: "complete", charged: 3210n })
    assert.isAtMost(Number(end?.signed), 4210)
    assert.deepInclude(await buyer.book(), { charged: "3210", signed: `${end?.signed}` })
    assert.deepStrictEqual(buyer.payments, ["3210"])
    assert.isEmpty(buyer.troubles)
  })

  it("that is shorter than its head announces is told from a whole one", async () => {
    await using shop = await StreamShop.open({ ...bytes, pieces: 900 })
    const buyer = buyerOf(shop, { base: announced })
    const response = await buyer.open()
    const broke = await TestPayer.rejection(response.text())
    assert.deepInclude(broke, { _tag: "StreamBroken", bytes: 900n, charged: 900n, signed: 1000n })
    assert.match(broke.message, /900 of 901 bytes/)
    assert.deepInclude(await streamOf(response)?.ended, { outcome: "broken", charged: 900n, reason: broke })
    assert.deepInclude(await buyer.book(), { charged: "900" })
  })

  it("of another unit gets its first window alone, because what came cannot be counted", async () => {
    await using shop = await StreamShop.open({ ...bytes, unit: "token", pieces: 3000 })
    const waits = shop.waits()
    const buyer = buyerOf(shop)
    const reading = buyer.read()
    await waits
    shop.idle()
    const { end, text } = await reading
    assert.lengthOf(text, 1000)
    assert.deepInclude(end, { signed: 1000n, charged: 1000n })
  })

  it("ends at the limit of streams", async () => {
    await using shop = await StreamShop.open({ ...bytes, pieces: 3000 })
    const buyer = buyerOf(shop, {
      limits: { perRequest: "$0.001", perStream: "$0.0015" },
      onTrouble: () => shop.idle()
    })
    const reading = buyer.read()
    const { end, text } = await reading
    assert.lengthOf(text, 1000)
    assert.deepInclude(end, { outcome: "limit", signed: 1000n, charged: 1000n })
  })
})

/** A buyer that reads the stream of a hostile shop to its end: the amount that it has signed above the price of what came. */
const cheated = async (plan: StreamShop.StreamPlan) => {
  await using shop = await StreamShop.open({ pieces: 1000, ...plan })
  const buyer = buyerOf(shop, { limits: { perRequest: "$0.001", perStream: "$1" }, onTrouble: () => shop.idle() })
  const { end, text } = await buyer.read()
  return { end, buyer, lost: ahead(buyer.ceilings(), pieces(text)), shop }
}

describe("a hostile shop of streams", () => {
  const cases: ReadonlyArray<readonly [string, StreamShop.StreamPlan]> = [
    ["asks for vouchers without sending anything", { delivers: () => false }],
    ["stops sending after some pieces and goes on asking", { delivers: (piece) => piece < 5 }],
    ["sends a part of what it charges", { delivers: (piece) => piece % 2 === 0 }],
    ["names another channel", { need: (honest) => ({ ...honest, channelId: `0x${"b".repeat(64)}` }) }],
    ["asks for a higher sum", { need: (honest) => ({ ...honest, requiredCumulative: "100000" }) }],
    ["asks for a sum beyond all amounts", { need: (honest) => ({ ...honest, requiredCumulative: `${2n ** 255n}` }) }],
    [
      "says that it has a voucher that was never signed",
      { need: (honest) => ({ ...honest, acceptedCumulative: "5000" }) }
    ],
    ["asks for a negative sum", { need: (honest) => ({ ...honest, requiredCumulative: "-1" }) }],
    ["asks in no JSON", { need: () => "{" }],
    ["asks with an endless line", { need: () => `"${"x".repeat(100_000)}"` }],
    ["asks again and again for what it has", { need: (honest) => ({ ...honest, requiredCumulative: "300" }) }]
  ]

  it.each(cases)("that %s gets at most one window above what came", async (_, plan) => {
    const { buyer, end, lost } = await cheated(plan)
    assert.isAtMost(Number(lost), 300)
    assert.strictEqual(end?.outcome, "stopped")
    assert.deepInclude(end?.reason, { _tag: "StreamStopped" })
    assert.strictEqual(buyer.troubles[0], end?.reason)
  })

  it.each([
    ["takes no voucher", 402],
    ["calls the channel closed", 410],
    ["knows no voucher URL", 404],
    ["redirects the voucher", 307]
  ] as const)("that %s gets no higher one", async (_, status) => {
    const onVoucher: StreamShop.StreamPlan["onVoucher"] = (response) => {
      response.writeHead(status, status === 307 ? { location: "http://127.0.0.1:1/" } : {}).end("{}")
      return true
    }
    const { buyer, end, lost } = await cheated({ onVoucher })
    assert.strictEqual(Number(lost), 300)
    assert.strictEqual(end?.outcome, "stopped")
    assert.deepStrictEqual(buyer.ceilings(), [300n, 600n])
  })

  it("that loses vouchers is sent the same one again", async () => {
    await using shop = await StreamShop.open({
      onVoucher: (response, count) => count % 3 !== 0 && (response.socket?.destroy(), true)
    })
    const buyer = buyerOf(shop)
    const { end } = await buyer.read()
    assert.strictEqual(end?.outcome, "complete")
    assert.deepStrictEqual(buyer.ceilings(), [300n, 600n, 900n, 1200n])
    assert.lengthOf(shop.posts, 9)
  })

  it.each([
    ["without a receipt", () => undefined],
    ["with a receipt of another channel", (honest: object) => ({ ...honest, reference: "0x00" })],
    ["with a receipt above what was signed", (honest: object) => ({ ...honest, chargedAmount: "1000000" })],
    ["with a receipt that cannot be read", () => "[]"]
  ] as const)("that ends %s is told, and all that was signed counts as charged", async (_, end) => {
    await using shop = await StreamShop.open({ end })
    const buyer = buyerOf(shop)
    const { end: last } = await buyer.read()
    assert.deepInclude(last, { outcome: "stopped", charged: 1200n, signed: 1200n })
    assert.lengthOf(buyer.troubles, 1)
    assert.deepInclude(await buyer.book(), { charged: "1200", signed: "1200" })
  })

  it("that charges more than it has sent is reported, and what it says counts", async () => {
    await using shop = await StreamShop.open({ end: (honest) => ({ ...honest, chargedAmount: "1200", units: "12" }) })
    const buyer = buyerOf(shop)
    assert.strictEqual((await buyer.read()).end?.charged, 1200n)
    assert.lengthOf(buyer.troubles, 1)
  })

  const terms = { unit: "event", tick: "100", window: "300", voucherUrl: "/voucher", idleSeconds: 30 }

  it.each([
    ["no object", []],
    ["a voucher URL of another origin", { ...terms, voucherUrl: "https://thief.example/voucher" }],
    ["a voucher URL with a user", { ...terms, voucherUrl: "//user@127.0.0.1/voucher" }],
    ["a unit for nothing", { ...terms, tick: "0" }],
    ["a unit above the window", { ...terms, tick: "301" }],
    ["a negative window", { ...terms, window: "-300" }],
    ["an endless wait", { ...terms, idleSeconds: 1e9 }],
    ["a unit of a terminal's characters", { ...terms, unit: "\u001b[2J" }]
  ])("that offers %s gets nothing signed", async (_, metered) => {
    await using shop = await StreamShop.open({ metered })
    const buyer = buyerOf(shop)
    assert.deepInclude(await TestPayer.rejection(buyer.open()), { rule: "terms_unsupported" })
    assert.isEmpty(buyer.drawn)
  })

  it("that offers windows above the limit of a request gets nothing signed", async () => {
    await using shop = await StreamShop.open({ metered: { ...terms, window: "1001" } })
    const buyer = buyerOf(shop)
    assert.deepInclude(await TestPayer.rejection(buyer.open()), { rule: "over_request_limit" })
    assert.isEmpty(buyer.drawn)
  })
})

/** A clock whose time of day can be set forward. */
const settable = () => {
  const clock = LeapClock.make()
  let ahead = 0
  const now = () => clock.currentTimeMillisUnsafe() + ahead
  const set: Clock.Clock = {
    ...clock, // oxlint-disable-line no-misused-spread -- it is a plain object
    currentTimeMillisUnsafe: now,
    currentTimeMillis: Effect.sync(now)
  }
  return { clock: set, jump: (minutes: number) => void (ahead += minutes * 60_000) }
}

describe("a stream that is sold by the second", () => {
  it("is paid for by the seconds that pass, and not by a clock that is set forward meanwhile", async () => {
    const { clock, jump } = settable()
    await using shop = await StreamShop.open({ unit: "second", pieces: 100 })
    const buyer = buyerOf(shop, { clock, limits: { perRequest: "$0.001", perStream: "$1" }, onTrouble: shop.idle })
    const response = await buyer.open()
    jump(60)
    await response.text()
    assert.deepStrictEqual(buyer.ceilings(), [300n])
    assert.deepInclude(await streamOf(response)?.ended, { outcome: "stopped", signed: 300n })
  })
})

describe("a stream of many hours", () => {
  it("counts against the day's limit for 24 hours after its last voucher", async () => {
    const { clock, jump } = settable()
    const limits = { perRequest: "$0.001", perStream: "$1", perDay: "$0.0006" }
    await using shop = await StreamShop.open()
    const buyer = buyerOf(shop, { clock, limits, onTrouble: shop.idle })
    const response = await buyer.open()
    jump(23 * 60 + 50)
    await response.text()
    assert.deepInclude(await streamOf(response)?.ended, { outcome: "limit", signed: 600n })
    // A day after its first voucher, and twenty minutes after its last.
    jump(20)
    assert.deepInclude(await TestPayer.rejection(buyer.open()), { rule: "over_day_limit" })
    assert.deepStrictEqual(buyer.ceilings(), [300n, 600n, 600n])
    jump(24 * 60)
    await (await buyer.open()).body?.cancel()
    assert.deepStrictEqual(buyer.ceilings(), [300n, 600n, 600n, 900n])
  })
})

describe("a stream whose first window is above the limit of streams", () => {
  it.each([
    ["perStream", { perRequest: "$0.001", perStream: "$0.0002" }],
    ["perStream of an asset", { perRequest: "$1", assets: { [asset]: { perRequest: "1000", perStream: "299" } } }],
    ["perStream of a network", { perRequest: "$1", networks: { "eip155:8453": { perStream: "$0.0002" } } }]
  ])("by %s gets nothing signed", async (_, limits) => {
    await using shop = await StreamShop.open()
    const buyer = buyerOf(shop, { limits })
    const declined = await TestPayer.rejection(buyer.open())
    assert.deepInclude(declined, { rule: "over_stream_limit" })
    assert.include(declined.message, "first window")
    assert.isEmpty(buyer.drawn)
  })
})

const wrong = (limits: object) => () => TestPayer.make({ limits })

describe("the limit of streams", () => {
  it("refuses unknown keys and texts that are no price, as other limits do", async () => {
    assert.throws(wrong({ perstream: "$1" }), /perStream/)
    assert.throws(wrong({ perStream: "1 dollar" }), /limits.perStream/)
    assert.throws(wrong({ networks: { "eip155:8453": { perStreams: "$1" } } }), /perStream/)
  })
})
