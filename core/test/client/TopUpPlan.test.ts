/** Plans of top-ups for the options of a shop that lists many. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as PaymentJournal from "../../src/client/PaymentJournal.ts"
import * as PaymentPolicy from "../../src/client/PaymentPolicy.ts"
import * as TopUps from "../../src/client/topup/TopUps.ts"
import * as Network from "../../src/protocol/Network.ts"
import type { PaymentRequirements } from "../../src/protocol/PaymentRequirements.ts"
import { ChainUnavailable, FacilitatorUnavailable } from "../../src/protocol/ProtocolError.ts"
import type { TopUpOffer, TopUpSource } from "../../src/scheme/TopUpSource.ts"
import * as Wallet from "./Wallet.ts"

const { schemeClient } = Wallet.make()
const policy = Result.getOrThrow(
  PaymentPolicy.make({ assets: { [Wallet.gold.address]: "100000" } }, {}, [schemeClient])
)
const context: TopUps.TopUpContext = {
  journal: PaymentJournal.make(PaymentJournal.memoryLog()),
  policy,
  confirm: () => Effect.succeed(true),
  mayTopUp: true
}

/** The options of a shop: many payees, each in both tokens. */
const options = Array.from({ length: 60 }, (_, index) => {
  const payTo = `0x${(index + 1).toString(16).padStart(40, "0")}`
  const { address } = index % 2 === 0 ? Wallet.dollars : Wallet.gold
  const request = { method: "GET", url: new URL("https://shop.example/report") }
  return Result.getOrThrow(policy.judge(request, Wallet.offer({ payTo, asset: address }), schemeClient))
})

/** Top-ups of an account with this balance; `asked` holds the questions. */
const topUpsOf = (balanceOf: TopUpSource["balanceOf"], quoted: ReadonlyArray<TopUpOffer> = []) => {
  const asked: Array<string> = []
  const source: TopUpSource = {
    facilitator: "https://facilitator.example",
    account: "0x4444444444444444444444444444444444444444",
    networks: [Wallet.network],
    schemeClient,
    waitMillis: 0,
    least: () => 0n,
    balanceOf: (asset) => {
      asked.push(`balance of ${asset.symbol}`)
      return Effect.andThen(Effect.yieldNow, balanceOf(asset))
    },
    offers: (_, asset) => {
      asked.push(`ways to ${asset}`)
      const silent = Effect.fail(new FacilitatorUnavailable({ message: "silent" }))
      return Effect.andThen(Effect.yieldNow, quoted.length === 0 ? silent : Effect.succeed(quoted))
    },
    submit: () => Effect.die("nothing is signed"),
    observe: () => Effect.die("nothing is signed")
  }
  return { asked, topUps: TopUps.make(source) }
}

const judged = { allowed: options, declined: [] }

describe("a shop's options", () => {
  it.effect("are planned by one question for each balance and each way, however many they are", () =>
    Effect.gen(function* () {
      const { asked, topUps } = topUpsOf(() => Effect.succeed(0n))
      const { allowed, declined } = yield* topUps.judge(context, judged, undefined)
      assert.isEmpty(allowed)
      assert.lengthOf(declined, options.length)
      assert.isTrue(declined.every(({ rule }) => rule === "top_up_unavailable"))
      const ways = [Wallet.dollars, Wallet.gold].map(({ address }) => `ways to ${address}`)
      assert.deepStrictEqual(asked, ["balance of USDC", "balance of GOLD", ...ways])
      // The next offer is judged by new answers.
      yield* topUps.judge(context, judged, undefined)
      assert.lengthOf(asked, 8)
    })
  )

  it.effect("count as payable where the node says nothing, which is asked once too", () =>
    Effect.gen(function* () {
      const silent = new ChainUnavailable({ network: Wallet.network, message: "silent" })
      const { asked, topUps } = topUpsOf(() => Effect.fail(silent))
      const { allowed } = yield* topUps.judge(context, judged, undefined)
      assert.deepStrictEqual(allowed, options)
      assert.deepStrictEqual(asked, ["balance of USDC", "balance of GOLD"])
    })
  )
})

/** A way from another network, at a fee of a dollar. */
const wayOf = (minimum = 0n): TopUpOffer => {
  const fee = 1_000_000n
  const from = { ...Wallet.dollars, network: Network.make("eip155:42161") }
  return {
    from,
    to: Wallet.dollars,
    available: 100_000_000n,
    feeFor: () => fee,
    arrivingOf: (total) => total - fee,
    minimum,
    quotedUntil: 4_102_444_800,
    expectedSeconds: 60,
    requirements: (amount) => Wallet.offer({ network: from.network, maxAmountRequired: `${amount + fee}` })
  }
}

const limited = Result.getOrThrow(PaymentPolicy.make({ perRequest: "$30" }, {}, [schemeClient]))

/** An option of a shop for 10 dollars. */
const optionOf = (requirements: Partial<PaymentRequirements> = {}) => {
  const request = { method: "GET", url: new URL("https://shop.example/report") }
  return Result.getOrThrow(
    limited.judge(request, Wallet.offer({ maxAmountRequired: "10000000", ...requirements }), schemeClient)
  )
}

describe("a facilitator's least amount", () => {
  it.effect.each([
    [5_000_000n, undefined],
    [30_000_000n, undefined],
    [90_000_000n, "over_request_limit"]
  ] as const)("of %d is brought where what it adds keeps the limit of a request: %s", ([minimum, rule]) =>
    Effect.gen(function* () {
      const { topUps } = topUpsOf(() => Effect.succeed(0n), [wayOf(minimum)])
      const judgment = yield* topUps.judge(
        { ...context, policy: limited },
        { allowed: [optionOf()], declined: [] },
        undefined
      )
      assert.strictEqual(judgment.declined[0]?.rule, rule)
      const least = minimum > 10_000_000n ? minimum : 10_000_000n
      assert.strictEqual(judgment.allowed[0]?.quote.topUp?.amount, rule === undefined ? least : undefined)
    })
  )
})

/** The part of an option whose money goes to another network. */
const route = (payTo: string) => ({ extra: { route: { network: "eip155:137", payTo } } })

describe("a shop's offer after the top-up", () => {
  const stranger = "0x9999999999999999999999999999999999999999"

  /** The plan for the new offer, where the top-up was agreed on for the old one and the account has this. */
  const planOf = Effect.fnUntraced(function* (
    before: Partial<PaymentRequirements>,
    after: Partial<PaymentRequirements>,
    balance = 100_000_000n
  ) {
    const { topUps } = topUpsOf(() => Effect.succeed(balance), [wayOf()])
    const { allowed, declined } = yield* topUps.judge(
      { ...context, policy: limited },
      { allowed: [optionOf(after)], declined: [] },
      optionOf(before).quote
    )
    return [allowed[0] === undefined ? "none" : allowed[0].topUp?._tag, declined[0]?.rule]
  })

  it.effect.each([
    ["the same", {}, {}, ["Agreed", undefined]],
    ["cheaper", {}, { maxAmountRequired: "9000000" }, ["Agreed", undefined]],
    ["dearer", {}, { maxAmountRequired: "11000000" }, [undefined, undefined]],
    ["for another payee", {}, { payTo: stranger }, [undefined, undefined]],
    ["by a route", {}, route(Wallet.payTo), [undefined, undefined]],
    ["by the same route", route(Wallet.payTo), route(Wallet.payTo), ["Agreed", undefined]],
    ["by a route to another payee", route(Wallet.payTo), route(stranger), [undefined, undefined]]
  ] as const)("is bought without a second question only if it is the agreed one: %s", ([, before, after, plan]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* planOf(before, after), [...plan])
    })
  )

  it.effect("has no second top-up made for the same request", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* planOf({}, { payTo: stranger }, 0n), ["none", "top_up_unavailable"])
    })
  )
})

describe("the order of a top-up", () => {
  it.effect("has no other keys than those that are known", () =>
    Effect.gen(function* () {
      const { asked, topUps } = topUpsOf(() => Effect.succeed(0n), [wayOf()])
      const misspelt = { to: Wallet.network, form: "arbitrum", amount: "$20" }
      const declined = yield* Effect.flip(topUps.order(context, misspelt))
      assert.deepInclude(declined, { _tag: "PaymentDeclined", rule: "top_up_unavailable" })
      assert.include(declined.message, "form")
      assert.isEmpty(asked)
    })
  )
})
