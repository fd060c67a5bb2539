/** A buyer's arithmetic of payment channels: the recovery cases of the scheme, and the limits of deposits. */
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as fc from "fast-check"

import * as ChannelBooks from "../../src/client/ChannelBooks.ts"
import { afterLine, type ChannelEntry } from "../../src/client/ChannelEntry.ts"
import * as ChannelFunds from "../../src/client/ChannelFunds.ts"
import * as PaymentPolicy from "../../src/client/PaymentPolicy.ts"
import * as Spending from "../../src/client/Spending.ts"
import * as Wallet from "./Wallet.ts"

const bookOf = (changes: Partial<ChannelEntry> = {}): ChannelEntry => ({
  kind: "channel",
  id: "0xa",
  host: "shop.example",
  network: Wallet.network,
  asset: Wallet.dollars.address,
  payTo: Wallet.payTo,
  terms: {},
  units: [{ unit: Spending.dollar, scale: 6 }],
  balance: "1000",
  claimed: "0",
  charged: "0",
  signed: "0",
  at: 0,
  ...changes
})

const drawn = (changes: Partial<ChannelBooks.Drawn> = {}): ChannelBooks.Drawn => ({
  ceiling: 10n,
  floor: 0n,
  isRecovered: false,
  ...changes
})

const standing = (claimed = 0n, balance = 1000n, time = 0) => ({ balance, claimed, isClosing: false, time })

const judged = (
  charged: bigint | undefined,
  proven: bigint | undefined,
  {
    book = bookOf(),
    claimed = 0n,
    own = drawn()
  }: { book?: ChannelEntry; claimed?: bigint; own?: ChannelBooks.Drawn } = {}
) => ChannelBooks.judge(book, { charged, proven }, standing(claimed), own, 0)

describe("a correction", () => {
  it("of a shop that is ahead is followed up to an earlier voucher of this payer", () => {
    const judgement = judged(100n, 100n)
    assert.deepInclude(judgement, { _tag: "Accepted", floor: 100n })
    assert.deepInclude(judgement._tag === "Accepted" ? judgement.book : {}, { charged: "100", signed: "100" })
  })

  it("in a race of two requests is followed, because another request has signed for it", () => {
    const book = bookOf({ charged: "100", signed: "110" })
    assert.deepInclude(judged(110n, 110n, { book, own: drawn({ ceiling: 110n, floor: 110n }) }), { _tag: "Accepted" })
  })

  it("that is the voucher of the request itself ends the purchase", () => {
    const book = bookOf({ charged: "100", signed: "110" })
    const judgement = judged(110n, 110n, { book, own: drawn({ ceiling: 110n, floor: 100n }) })
    assert.deepInclude(judgement, { _tag: "Charged" })
    assert.strictEqual(judgement._tag === "Charged" ? judgement.book.charged : "", "110")
  })

  it("below the claims on the chain, above every signature, or without one changes nothing", () => {
    assert.deepInclude(judged(100n, 100n, { claimed: 150n }), { _tag: "Unproven" })
    assert.deepInclude(judged(101n, 100n), { _tag: "Unproven" })
    assert.deepInclude(judged(100n, undefined), { _tag: "Unproven" })
  })

  it("changes nothing while the node shows claims that no voucher of this payer allows", () => {
    const book = bookOf({ charged: "100", signed: "110" })
    for (const said of [undefined, 111n]) {
      assert.deepInclude(judged(said, undefined, { book, claimed: 111n }), { _tag: "Unproven" })
    }
    // A voucher of another device is a proof.
    assert.deepInclude(judged(111n, 111n, { book, claimed: 111n }), { _tag: "Accepted" })
  })

  it("downwards needs no proof: a lower voucher gives nothing away", () => {
    const book = bookOf({ charged: "100", signed: "110" })
    const judgement = judged(90n, undefined, { book, own: drawn({ ceiling: 110n, floor: 100n }) })
    assert.deepInclude(judgement._tag === "Accepted" ? judgement.book : {}, { charged: "90", signed: "110" })
  })

  it("without numbers follows the chain", () => {
    const book = bookOf({ signed: "40" })
    const judgement = judged(undefined, undefined, { book, claimed: 40n })
    assert.deepInclude(judgement._tag === "Accepted" ? judgement.book : {}, { charged: "40", signed: "40" })
    assert.deepInclude(judged(undefined, undefined, { book, claimed: 10n }), { _tag: "Charged" })
    const lost = judged(undefined, undefined, { book, claimed: 11n, own: drawn({ isRecovered: true }) })
    assert.deepInclude(lost._tag === "Accepted" ? lost.book : {}, { charged: "11" })
  })

  it("after lost books is followed, but for a voucher that may be the purchase's own", () => {
    const book = bookOf({ signed: "40" })
    const own = drawn({ isRecovered: true })
    for (const [charged, proven] of [
      [5n, 5n],
      [9n, 9n],
      [11n, 11n],
      [40n, 40n]
    ] as const) {
      assert.deepInclude(judged(charged, proven, { book, own }), { _tag: "Accepted" })
    }
    for (const charged of [1n, 9n, 10n]) {
      assert.deepInclude(judged(charged, 10n, { book, own }), { _tag: "Charged" })
    }
    assert.deepInclude(judged(0n, 10n, { book, own }), { _tag: "Accepted" })
  })

  it("never lets one purchase allow more than its amount above earlier vouchers", () => {
    const amounts = fc.bigInt(0n, 400n)
    fc.assert(
      fc.property(amounts, amounts, amounts, amounts, amounts, (charged, more, said, proven, claimed) => {
        const signed = charged + more
        const book = bookOf({ charged: `${charged}`, signed: `${signed + 10n}` })
        const own = drawn({ ceiling: charged + 10n, floor: signed })
        // A proof is a voucher that this payer has signed, and so are all claims.
        const real = [proven, claimed].map((one) => (one > signed + 10n ? signed + 10n : one))
        const judgement = judged(said, real[0], { book, own, claimed: real[1] ?? 0n })
        if (judgement._tag !== "Accepted") return
        assert.isTrue(BigInt(judgement.book.charged) <= judgement.floor)
        assert.isTrue(judgement.floor <= signed || judgement.floor > charged + 10n)
      }),
      { numRuns: 2_000 }
    )
  })
})

describe("a channel's line", () => {
  it("keeps the highest voucher, whatever the order of lines", () => {
    const low = bookOf({ signed: "10", charged: "10" })
    assert.strictEqual(afterLine(bookOf({ signed: "20" }), low).signed, "20")
    assert.strictEqual(afterLine(bookOf({ signed: "20" }), low).charged, "10")
  })
})

const quoteOf = (price: string, limits: Parameters<typeof PaymentPolicy.make>[0] = {}) => {
  const { schemeClient } = Wallet.make()
  const policy = Result.getOrThrow(PaymentPolicy.make(limits, {}, [schemeClient]))
  const request = { method: "GET", url: new URL("https://shop.example/report") }
  return Result.getOrThrow(policy.judge(request, Wallet.offer({ maxAmountRequired: price }), schemeClient))
}

const offered = { id: "0xa", terms: {}, withdrawDelay: 900, leastDeposit: 0n, wantedDeposit: 100_000n }

const planned = (
  book: ChannelEntry,
  limits: Parameters<typeof quoteOf>[1] = {},
  others: ReadonlyArray<ChannelEntry> = [],
  least = 0n
) =>
  ChannelFunds.plan(
    book,
    quoteOf("10000", limits),
    { ...offered, leastDeposit: least },
    new Map(others.map((one) => [one.id, one]))
  )

const onBase = (own: object, more: object = {}) => ({ ...more, networks: { base: own } })

describe("a reading of the chain", () => {
  it("of an earlier block than the last one changes nothing", () => {
    const book = ChannelFunds.afterReading(bookOf(), standing(10n, 2_000n, 60))
    assert.deepInclude(book, { balance: "2000", claimed: "10", readAt: 60 })
    assert.strictEqual(ChannelFunds.afterReading(book, standing(0n, 0n, 59)), book)
    assert.deepInclude(ChannelFunds.afterReading(book, standing(10n, 500n, 60)), { balance: "500" })
  })
})

describe("the next voucher", () => {
  const empty = bookOf({ balance: "0" })

  it("counts what no earlier voucher has allowed", () => {
    const plan = Result.getOrThrow(planned(bookOf({ balance: "50000", charged: "10000", signed: "15000" })))
    assert.deepStrictEqual(plan, { ceiling: 20_000n, increase: 5_000n, funding: { _tag: "Enough" } })
    const again = Result.getOrThrow(planned(bookOf({ balance: "50000", charged: "10000", signed: "20000" })))
    assert.strictEqual(again.increase, 0n)
  })

  it("is funded as the payer wants it, at least as the shop wants it, and at most as the limits allow", () => {
    const amountOf = (plan: ReturnType<typeof planned>) => {
      const { funding } = Result.getOrThrow(plan)
      return funding._tag === "Deposit" ? funding.amount : undefined
    }
    assert.strictEqual(amountOf(planned(empty)), 100_000n)
    assert.strictEqual(amountOf(planned(empty, {}, [], 300_000n)), 300_000n)
    assert.strictEqual(amountOf(planned(empty, { perChannel: "$0.05" })), 50_000n)
    assert.strictEqual(amountOf(planned(empty, { inChannels: "$0.05" })), 50_000n)
    const other = bookOf({ id: "0xb", balance: "80000", charged: "20000" })
    assert.strictEqual(amountOf(planned(empty, { inChannels: "$0.1" }, [other])), 40_000n)
    assert.strictEqual(amountOf(planned(bookOf({ balance: "5000", charged: "5000" }))), 100_000n)
  })

  it("is funded within the limits of its network, where the channels of that network count", () => {
    const amountOf = (plan: ReturnType<typeof planned>) => {
      const { funding } = Result.getOrThrow(plan)
      return funding._tag === "Deposit" ? funding.amount : undefined
    }
    assert.strictEqual(amountOf(planned(empty, onBase({ perChannel: "$0.05" }))), 50_000n)
    assert.strictEqual(amountOf(planned(empty, onBase({ perChannel: "$2" }), [], 1_500_000n)), 1_500_000n)
    assert.isTrue(Result.isFailure(planned(empty, onBase({ perChannel: "$2" }, { perChannel: "$1" }), [], 1_500_000n)))
    const other = bookOf({ id: "0xb", balance: "80000", charged: "20000" })
    const limits = onBase({ inChannels: "$0.1" })
    assert.strictEqual(amountOf(planned(empty, limits, [other])), 40_000n)
    assert.strictEqual(amountOf(planned(empty, limits, [{ ...other, network: "eip155:1" }])), 100_000n)
    assert.isTrue(Result.isFailure(planned(empty, { perChannel: "$0", networks: { base: {} } })))
  })

  it("is declined where the limits leave too little", () => {
    for (const plan of [
      planned(empty, {}, [], 1_000_001n),
      planned(empty, { perChannel: "$0.009999" }),
      planned(empty, { inChannels: "$0.1" }, [bookOf({ id: "0xb", balance: "95000" })])
    ]) {
      assert.deepInclude(Result.getOrThrow(Result.flip(plan)), { rule: "over_channel_limit" })
    }
  })

  it("sends a signed deposit again, and signs no other while that one may still be made", () => {
    const open = { amount: "100000", onTopOf: "0", validBefore: 300, isReported: false, signed: {} }
    const pending = { ...empty, deposit: open }
    assert.deepInclude(Result.getOrThrow(planned(pending)), { funding: { _tag: "Again", amount: 100_000n } })
    const reported = { ...empty, charged: "100000", deposit: { ...open, isReported: true } }
    assert.deepInclude(Result.getOrThrow(Result.flip(planned(reported))), { rule: "over_channel_limit" })
    const made = ChannelFunds.afterReading(reported, standing(0n, 100_000n))
    assert.isUndefined(made.deposit)
    const dead = ChannelFunds.afterReading(reported, standing(0n, 0n, 360))
    assert.isUndefined(dead.deposit)
    assert.isDefined(ChannelFunds.afterReading(reported, standing(0n, 0n, 359)).deposit)
  })
})
