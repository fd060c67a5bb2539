/** The watch's parts do not wait for each other, and what is not worth a transaction costs none. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"

import * as MemoryChannelStore from "../../../src/facilitator/channel/MemoryChannelStore.ts"
import type { ChannelClaims } from "../../../src/facilitator/local/ChannelClaims.ts"
import type { DrawContext } from "../../../src/facilitator/local/ChannelDraws.ts"
import * as ChannelHealth from "../../../src/facilitator/local/ChannelHealth.ts"
import * as ChannelWatch from "../../../src/facilitator/local/ChannelWatch.ts"
import * as Network from "../../../src/protocol/Network.ts"
import { FacilitatorUnavailable } from "../../../src/protocol/ProtocolError.ts"
import type { ChannelRow, SchemeDraws } from "../../../src/scheme/SchemeDraws.ts"
import type { SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"

const network = Network.make("ledger:watch")
const config: Schema.Json = { payee: "shop" }

const requirements = {
  scheme: "batch-settlement",
  network,
  maxAmountRequired: "1",
  resource: "payment channels",
  payTo: "shop",
  maxTimeoutSeconds: 60,
  asset: "dollar"
}

/** A ledger with channels that owe money, on a chain that the test moves. */
const watched = Effect.fnUntraced(function* (claim: ChannelClaims["claim"], options: ChannelWatch.Options = {}) {
  const ledger = MemoryChannelStore.make()
  const withdrawing = new Set<string>()
  const paid: Array<string> = []
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
    parties: () => ({ payer: "payer", payTo: "shop", asset: "dollar" }),
    claims: (rows: ReadonlyArray<ChannelRow>) =>
      rows.map((row) => ({ rows: [row], channelIds: [row.channelId], requirements, claim: {} })),
    payouts: () => Effect.sync(() => [{ unpaid, requirements, payload: {} }]),
    claimGas: 1n
  } as Partial<SchemeDraws> as SchemeDraws
  const facilitator = {
    network,
    chainHead: Effect.succeed({ head: { number: 1n, hash: "0x1", time: 0 }, final: 0n }),
    channels: { draws }
  } as unknown as SchemeFacilitator
  const health = yield* ChannelHealth.make
  const context = { intake: { registry: { schemes: [facilitator] } }, ledger, health } as unknown as DrawContext
  const claims: ChannelClaims = {
    claim,
    payOut: (_, payout) => Effect.sync(() => void paid.push(`${payout.unpaid}`)),
    observe: (_, ids) => Effect.asVoid(ledger.observed(ids.map(stateOf)))
  }
  const sell = Effect.fnUntraced(function* (channelId: string, amount: bigint) {
    yield* ledger.open({ ...stateOf(channelId), network, config })
    const draw = { channelId, maximum: amount, amount, unique: undefined, voucher: {} }
    yield* ledger.accept(draw, channelId, { lease: 1_000, open: 1 })
    yield* ledger.commit(channelId, channelId, amount)
  })
  return {
    begin: Effect.forkScoped(ChannelWatch.run(context, claims, options)),
    ledger,
    health,
    facilitator,
    sell,
    paid,
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
