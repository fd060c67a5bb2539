/** The watch's parts do not wait for each other, and what is not worth a transaction costs none. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"

import type { ChannelStore } from "../../../src/facilitator/channel/ChannelStore.ts"
import * as MemoryChannelStore from "../../../src/facilitator/channel/MemoryChannelStore.ts"
import type { ChannelClaims } from "../../../src/facilitator/local/ChannelClaims.ts"
import type { DrawContext } from "../../../src/facilitator/local/ChannelDraws.ts"
import * as ChannelHealth from "../../../src/facilitator/local/ChannelHealth.ts"
import * as ChannelWatch from "../../../src/facilitator/local/ChannelWatch.ts"
import * as Network from "../../../src/protocol/Network.ts"
import { FacilitatorUnavailable, SettlementPending } from "../../../src/protocol/ProtocolError.ts"
import type { ChannelRow, SchemeDraws } from "../../../src/scheme/SchemeDraws.ts"
import type { SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"

const network = Network.make("ledger:watch")

const requirements = {
  scheme: "batch-settlement",
  network,
  maxAmountRequired: "1",
  resource: "payment channels",
  payTo: "shop",
  maxTimeoutSeconds: 60,
  asset: "dollar"
}

const payeeOf = Schema.decodeUnknownSync(Schema.Struct({ payee: Schema.String }))

/** A ledger with channels that owe money, on a chain that the test moves. The watch sees the ledger through `seen`. */
const watched = Effect.fnUntraced(function* (
  claim: ChannelClaims["claim"],
  options: ChannelWatch.Options = {},
  seen: (ledger: ChannelStore["Service"]) => ChannelStore["Service"] = (ledger) => ledger
) {
  const ledger = MemoryChannelStore.make()
  const withdrawing = new Set<string>()
  const paid: Array<string> = []
  const payees = new Set<string>()
  let unpaid = 0n
  let block = 2n
  const stateOf = (channelId: string) => ({
    channelId,
    balance: 10_000_000n,
    claimed: 0n,
    withdrawRequestedAt: withdrawing.has(channelId) ? 1 : undefined,
    refundNonce: 0n,
    block: { number: block++, hash: `${block}` }
  })
  const draws = {
    states: (ids: ReadonlyArray<string>) => Effect.sync(() => ids.map(stateOf)),
    parties: (config: Schema.Json) => ({ payer: "payer", payTo: payeeOf(config).payee, asset: "dollar" }),
    claims: (rows: ReadonlyArray<ChannelRow>) =>
      rows.map((row) => ({ rows: [row], channelIds: [row.channelId], requirements, claim: {} })),
    payouts: (receivers: ReadonlyArray<{ readonly payTo: string }>) =>
      Effect.sync(() =>
        receivers.map(({ payTo }) => ({ unpaid, requirements: { ...requirements, payTo }, payload: {} }))
      ),
    claimGas: 1n
  } as Partial<SchemeDraws> as SchemeDraws
  const facilitator = {
    network,
    chainHead: Effect.succeed({ head: { number: 1n, hash: "0x1", time: 0 }, final: 0n }),
    channels: { draws }
  } as unknown as SchemeFacilitator
  const health = yield* ChannelHealth.make
  const context = {
    intake: { registry: { schemes: [facilitator] } },
    ledger: seen(ledger),
    health
  } as unknown as DrawContext
  const claims: ChannelClaims = {
    claim,
    payOut: (_, payout) =>
      Effect.sync(() => {
        paid.push(`${payout.unpaid}`)
        payees.add(payout.requirements.payTo)
      }),
    observe: (_, ids) => Effect.asVoid(ledger.observed(ids.map(stateOf)))
  }
  const open = (channelId: string, payee = "shop") => ledger.open({ ...stateOf(channelId), network, config: { payee } })
  const sell = Effect.fnUntraced(function* (channelId: string, amount: bigint) {
    yield* open(channelId)
    const draw = { channelId, maximum: amount, amount, unique: undefined, voucher: {} }
    yield* ledger.accept(draw, channelId, { lease: 1_000, open: 1 })
    yield* ledger.commit(channelId, channelId, amount)
  })
  return {
    begin: Effect.forkScoped(ChannelWatch.run(context, claims, () => options)),
    ledger,
    health,
    facilitator,
    open,
    sell,
    paid,
    payees,
    withdraw: (channelId: string) => withdrawing.add(channelId),
    owe: (amount: bigint) => {
      unpaid = amount
    }
  }
})

const idsOf =
  (claimed: Array<string>): ChannelClaims["claim"] =>
  (_, { channelIds }) =>
    Effect.sync(() => void claimed.push(...channelIds))

describe("the watch over payment channels", () => {
  it.effect("sees and claims before a withdrawal while another claim hangs", () =>
    Effect.gen(function* () {
      const claimed: Array<string> = []
      const shop = yield* watched((_, { channelIds }) =>
        channelIds[0] === "stuck" ? Effect.never : Effect.sync(() => void claimed.push(...channelIds))
      )
      yield* shop.begin
      yield* shop.sell("stuck", 5_000_000n)
      yield* shop.sell("left", 20_000n)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(claimed, [])
      shop.withdraw("left")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(new Set(claimed), new Set(["left"]))
    })
  )

  it.effect("claims again what a reorganisation has taken back, though nobody draws on the channel any more", () =>
    Effect.gen(function* () {
      let claims = 0
      let ledger: ChannelStore["Service"] | undefined
      const shop = yield* watched((_, { rows }) =>
        Effect.suspend(() => {
          claims++
          return ledger?.claimed(rows, { number: 1n, hash: "0xlost" }) ?? Effect.void
        })
      )
      ledger = shop.ledger
      yield* shop.begin
      yield* shop.sell("due", 5_000_000n)
      // The chain never shows a claim.
      yield* TestClock.adjust("5 minutes")
      assert.isAbove(claims, 5)
    })
  )

  it.effect("claims again what a reorganisation has taken back from an earlier process", () =>
    Effect.gen(function* () {
      const claimed: Array<string> = []
      const shop = yield* watched(idsOf(claimed))
      yield* shop.sell("due", 5_000_000n)
      yield* shop.ledger.claimed([{ channelId: "due", total: 5_000_000n }], { number: 1n, hash: "0xlost" })
      yield* shop.begin
      // The chain never shows that claim.
      yield* TestClock.adjust("1 minute")
      assert.include(claimed, "due")
    })
  )

  it.effect("stops draws while claims cannot be sent, and not for a channel whose own claim is refused", () =>
    Effect.gen(function* () {
      let isOut = true
      const shop = yield* watched(() =>
        isOut ? Effect.fail(new FacilitatorUnavailable({ message: "the ceiling is reached" })) : Effect.void
      )
      yield* shop.begin
      yield* shop.sell("due", 5_000_000n)
      yield* TestClock.adjust("1 minute")
      yield* Effect.flip(shop.health.demand(shop.facilitator, 900))
      isOut = false
      yield* TestClock.adjust("1 minute")
      yield* shop.health.demand(shop.facilitator, 900)
    })
  )

  it.effect("begins to draw again only once a claim has landed, not with one whose outcome is unknown", () =>
    Effect.gen(function* () {
      let outcome: ReturnType<ChannelClaims["claim"]> = Effect.fail(
        new FacilitatorUnavailable({ message: "the ceiling is reached" })
      )
      const shop = yield* watched(() => Effect.suspend(() => outcome))
      yield* shop.begin
      yield* shop.sell("due", 5_000_000n)
      yield* TestClock.adjust("1 minute")
      yield* Effect.flip(shop.health.demand(shop.facilitator, 900))
      outcome = Effect.fail(new SettlementPending({ paymentId: "claim", status: "sent", message: "it is sent" }))
      yield* TestClock.adjust("1 minute")
      yield* Effect.flip(shop.health.demand(shop.facilitator, 900))
      outcome = Effect.void
      yield* TestClock.adjust("1 minute")
      yield* shop.health.demand(shop.facilitator, 900)
    })
  )

  it.effect("stops draws once no claim has had an outcome for a third of the delay of a withdrawal", () =>
    Effect.gen(function* () {
      let outcome: ReturnType<ChannelClaims["claim"]> = Effect.fail(
        new SettlementPending({ paymentId: "claim", status: "sent", message: "it is sent" })
      )
      const shop = yield* watched(() => Effect.suspend(() => outcome))
      yield* shop.begin
      yield* shop.sell("due", 5_000_000n)
      yield* TestClock.adjust("5 minutes")
      yield* shop.health.demand(shop.facilitator, 900)
      yield* TestClock.adjust("2 minutes")
      const stopped = yield* Effect.flip(shop.health.demand(shop.facilitator, 900))
      assert.include(stopped.message, "no claim that was sent")
      yield* shop.health.demand(shop.facilitator, 86_400)
      outcome = Effect.void
      yield* TestClock.adjust("1 minute")
      yield* shop.health.demand(shop.facilitator, 900)
    })
  )

  it.effect("draws on while the outcome of one claim is unknown and another one lands", () =>
    Effect.gen(function* () {
      let isOut = true
      const shop = yield* watched((_, { channelIds }) => {
        if (isOut) return Effect.fail(new FacilitatorUnavailable({ message: "the ceiling is reached" }))
        const pending = new SettlementPending({ paymentId: "claim", status: "sent", message: "it is sent" })
        return channelIds[0] === "slow" ? Effect.fail(pending) : Effect.void
      })
      yield* shop.begin
      yield* shop.sell("slow", 5_000_000n)
      yield* shop.sell("fast", 5_000_000n)
      yield* TestClock.adjust("1 minute")
      yield* Effect.flip(shop.health.demand(shop.facilitator, 900))
      isOut = false
      yield* TestClock.adjust("1 minute")
      yield* shop.health.demand(shop.facilitator, 900)
    })
  )

  it.effect("claims nothing below what a claim is worth, also before a withdrawal", () =>
    Effect.gen(function* () {
      const claimed: Array<string> = []
      const shop = yield* watched(idsOf(claimed), { leastClaim: 1_000n, maximumAgeMillis: 600_000 })
      yield* shop.begin
      yield* shop.sell("little", 999n)
      yield* shop.sell("enough", 1_000n)
      shop.withdraw("little")
      yield* TestClock.adjust("15 minutes")
      assert.deepStrictEqual(new Set(claimed), new Set(["enough"]))
    })
  )

  it.effect("has money paid out by what the chain shows, and a small sum at its age", () =>
    Effect.gen(function* () {
      const shop = yield* watched(() => Effect.void, { leastPayout: 100n, maximumAgeMillis: 600_000 })
      yield* shop.begin
      yield* shop.sell("paid", 10n)
      shop.owe(100n)
      yield* TestClock.adjust("1 minute")
      assert.include(shop.paid, "100")
      shop.owe(0n)
      yield* TestClock.adjust("1 minute")
      shop.paid.length = 0
      shop.owe(99n)
      yield* TestClock.adjust("9 minutes")
      assert.deepStrictEqual(shop.paid, [])
      yield* TestClock.adjust("2 minutes")
      assert.include(shop.paid, "99")
    })
  )

  it.effect("pays receivers whose channels owe nothing, also after a read of the ledger that broke off", () =>
    Effect.gen(function* () {
      let isBroken = true
      const shop = yield* watched(
        () => Effect.void,
        {},
        (ledger) => ({
          ...ledger,
          configs: (of, take) =>
            Effect.suspend(() => {
              if (!isBroken) return ledger.configs(of, take)
              take({ payee: "one" })
              return Effect.fail(new FacilitatorUnavailable({ message: "the second page could not be read" }))
            })
        })
      )
      yield* shop.open("0x1", "one")
      yield* shop.open("0x2", "two")
      shop.owe(50_000n)
      yield* shop.begin
      yield* TestClock.adjust("1 minute")
      isBroken = false
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual([...shop.payees].toSorted(), ["one", "two"])
    })
  )

  it.effect("pays within an hour a receiver whose first money was claimed between two looks", () =>
    Effect.gen(function* () {
      const shop = yield* watched(() => Effect.void)
      yield* shop.open("0x1", "one")
      shop.owe(50_000n)
      yield* shop.begin
      yield* TestClock.adjust("1 minute")
      yield* shop.open("0x2", "two")
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([...shop.payees].toSorted(), ["one", "two"])
    })
  )

  it.effect("forgets draws a day after their lease", () =>
    Effect.gen(function* () {
      const shop = yield* watched(() => Effect.void)
      yield* shop.sell("old", 100n)
      yield* TestClock.adjust("25 hours")
      yield* shop.begin
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* shop.ledger.forget(Number.MAX_SAFE_INTEGER), 0)
    })
  )
})
