/** A run that was served is charged what it reserved, whatever happened to its channel meanwhile. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"

import * as MemoryChannelStore from "../../../src/facilitator/channel/MemoryChannelStore.ts"
import * as ChainClock from "../../../src/facilitator/local/ChainClock.ts"
import * as ChannelCredit from "../../../src/facilitator/local/ChannelCredit.ts"
import * as ChannelDraws from "../../../src/facilitator/local/ChannelDraws.ts"
import * as ChannelHealth from "../../../src/facilitator/local/ChannelHealth.ts"
import * as ChannelStates from "../../../src/facilitator/local/ChannelStates.ts"
import * as IntakeGate from "../../../src/facilitator/local/IntakeGate.ts"
import type { Presented } from "../../../src/facilitator/local/PaymentIntake.ts"
import * as Network from "../../../src/protocol/Network.ts"
import { ChannelCorrection } from "../../../src/scheme/ChannelCorrection.ts"
import type { ChannelSums, SchemeDraws } from "../../../src/scheme/SchemeDraws.ts"
import type { SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"

const network = Network.make("ledger:draws")
const channelId = "0xchannel"
const parties = { payer: "payer", payTo: "shop", asset: "dollar" }
const price = 100n
const maximumOf = Schema.decodeUnknownSync(Schema.String)

const full = { balance: 1_000n, withdrawRequestedAt: undefined, block: { number: 1n, hash: "0x1" } }

/** The chain's channel, which a test may change. */
let onChain: Pick<ChannelSums, "balance" | "withdrawRequestedAt" | "block"> & { readonly refundNonce?: bigint } = full

const stateOf = (id: string): ChannelSums => ({ channelId: id, claimed: 0n, refundNonce: 0n, ...onChain })

/** A scheme whose messages are maxima, with a word before those that ask for a refund, on a chain with one channel. */
const draws = {
  read: ({ payload }) => {
    const maximum = maximumOf(payload).replace("refund ", "")
    return Effect.succeed({
      ...parties,
      channelId,
      config: {},
      maximum: BigInt(maximum),
      voucher: maximum,
      deposit: undefined,
      withdrawDelay: 86_400,
      ...(maximum !== payload && { refund: { amount: undefined } })
    })
  },
  states: (ids) => Effect.succeed(ids.map(stateOf)),
  parties: () => parties,
  receipt: () => ({}),
  correction: ({ owed, voucher = null }) => ({ owed: `${owed}`, voucher }),
  refund: ({ amount, nonce }) => ({
    payload: `refund ${nonce} of ${amount}`,
    requirements: { ...parties, scheme: "batch-settlement", network, maxAmountRequired: "1", resource: "channels" }
  }),
  claimGas: 1n
} satisfies Partial<SchemeDraws> as Partial<SchemeDraws> as SchemeDraws

const facilitator = {
  network,
  scheme: { name: "batch-settlement", network: () => network, address: (text: string) => text },
  read: (requirements: unknown, payload: unknown) =>
    Effect.succeed({
      requirements,
      payload,
      authorization: {
        ...parties,
        amount: 1n,
        nonce: maximumOf(payload),
        validAfter: 0,
        validBefore: 1,
        binding: undefined
      }
    }),
  chainHead: Effect.succeed({ head: { number: 1n, hash: "0x1", time: 0 }, final: 0n }),
  channels: { draws, plan: () => Effect.void }
} as unknown as SchemeFacilitator

const presented = (payload: string) =>
  ({
    facilitator,
    payload,
    request: { paymentRequirements: { maxAmountRequired: `${price}` } },
    caller: "",
    refusal: undefined
  }) as unknown as Presented

const shop = Effect.gen(function* () {
  onChain = full
  const ledger = MemoryChannelStore.make()
  const registry = { schemes: [facilitator] }
  const intake = { intake: IntakeGate.make(), clocks: ChainClock.make(), registry }
  const health = yield* ChannelHealth.make
  yield* health.looked(facilitator, 1n)
  const sent: Array<unknown> = []
  const included = yield* Deferred.make<void>()
  const settling = {
    settle: ({ payload }: Presented) =>
      Effect.suspend(() => {
        sent.push(payload)
        return Effect.as(Deferred.await(included), { transaction: "0xrefund" })
      })
  }
  const states = ChannelStates.make()
  const context = { intake, ledger, health, settling, states } as unknown as ChannelDraws.DrawContext
  const shared = yield* ChannelDraws.make(context, () => 1n)
  const { finish, take } = shared
  return {
    ledger,
    registry,
    sent,
    included,
    credit: ChannelCredit.make(context, shared),
    take: (maximum: bigint, id: string) => take(presented(`${maximum}`), draws, { id, resource: "report" }),
    refund: (maximum: bigint, id = "refund") => take(presented(`refund ${maximum}`), draws, { id, resource: "report" }),
    served: (paymentId: string, id: string, charge?: bigint) =>
      finish(paymentId, id, "served", charge) ?? Effect.die("it is no draw")
  }
})

describe("a draw that lapsed while its handler ran", () => {
  it.effect("is charged its whole price, though another request has taken its voucher off the channel", () =>
    Effect.gen(function* () {
      const { ledger, served, take } = yield* shop
      const { paymentId } = yield* take(price, "first")
      yield* TestClock.adjust("61 seconds")
      const stale = yield* Effect.flip(take(1n, "second"))
      assert.strictEqual(stale._tag, "ValidationError")
      assert.deepInclude(yield* ledger.find(channelId), { signed: 0n, reserved: 0n, charged: 0n })
      assert.deepInclude(yield* served(paymentId, "first"), { execution: "served", amount: "100" })
      assert.deepInclude(yield* ledger.find(channelId), { signed: price, used: price, charged: price })
    })
  )

  it.effect("is not charged beside the draw that has its voucher by now", () =>
    Effect.gen(function* () {
      const { ledger, served, take } = yield* shop
      const { paymentId } = yield* take(price, "first")
      yield* TestClock.adjust("61 seconds")
      yield* take(price, "second")
      assert.deepInclude(yield* Effect.flip(served(paymentId, "first")), { detail: "lease_lapsed" })
      assert.deepInclude(yield* served(paymentId, "second"), { execution: "served", amount: "100" })
      assert.deepInclude(yield* ledger.find(channelId), { used: price, charged: price })
    })
  )
})

describe("draws of one channel that are served", () => {
  it.effect("are charged no more than each reserved, in any order", () =>
    Effect.gen(function* () {
      const { ledger, served, take } = yield* shop
      const first = yield* take(price, "first")
      const second = yield* take(2n * price, "second")
      assert.deepInclude(yield* served(second.paymentId, "second"), { amount: "100" })
      assert.deepInclude(yield* served(first.paymentId, "first"), { amount: "100" })
      assert.deepInclude(yield* served(first.paymentId, "first"), { amount: "100" })
      assert.deepInclude(yield* ledger.find(channelId), { used: 2n * price, charged: 2n * price })
    })
  )
})

describe("a request that was told its next voucher", () => {
  const stale = 5n * price

  it.effect("draws with it at once, although its dialect has no token that says that it is the same", () =>
    Effect.gen(function* () {
      const { take } = yield* shop
      const told = yield* Effect.flip(take(stale, "first"))
      assert.strictEqual(told instanceof ChannelCorrection ? told.next : undefined, price)
      const again = yield* Effect.forkChild(Effect.timeoutOption(take(price, "first"), "1 second"))
      yield* TestClock.adjust("1 second")
      assert.deepInclude(Option.getOrUndefined(yield* Fiber.join(again)), { execution: "granted" })
      // Its turn is over.
      assert.deepInclude(yield* take(2n * price, "second"), { execution: "granted" })
    })
  )

  it.effect("has its voucher kept free from another request meanwhile", () =>
    Effect.gen(function* () {
      const { take } = yield* shop
      yield* Effect.flip(take(stale, "first"))
      const other = yield* Effect.forkChild(Effect.exit(take(stale, "other")))
      yield* TestClock.adjust("1 second")
      assert.isUndefined(other.pollUnsafe())
      assert.deepInclude(yield* take(price, "first"), { execution: "granted" })
      assert.isTrue(Exit.isFailure(yield* Fiber.join(other)))
    })
  )
})

describe("a channel whose state on the chain changes", () => {
  it.effect("is read anew for a draw that the state of a moment ago refuses", () =>
    Effect.gen(function* () {
      const { served, take } = yield* shop
      onChain = { ...full, balance: price }
      const { paymentId } = yield* take(price, "first")
      yield* served(paymentId, "first")
      assert.deepInclude(yield* Effect.flip(take(2n * price, "short")), { reason: "amount_mismatch" })
      onChain = { ...full, block: { number: 2n, hash: "0x2" } }
      assert.deepInclude(yield* take(2n * price, "second"), { execution: "granted" })
    })
  )

  it.effect("tells a stream of a withdrawal, also where the channel owes nothing", () =>
    Effect.gen(function* () {
      const { credit, take } = yield* shop
      const { paymentId } = yield* take(price, "first")
      assert.isFalse(yield* credit.isClosed(paymentId))
      onChain = { ...full, withdrawRequestedAt: 1, block: { number: 2n, hash: "0x2" } }
      yield* TestClock.adjust("3 seconds")
      assert.isTrue(yield* credit.isClosed(paymentId))
      assert.isFalse(yield* credit.isClosed("another payment"))
    })
  )

  it.effect("grants nothing two seconds after a withdrawal began", () =>
    Effect.gen(function* () {
      const { take } = yield* shop
      yield* take(price, "first")
      onChain = { ...full, withdrawRequestedAt: 7, block: { number: 2n, hash: "0x2" } }
      yield* TestClock.adjust("2 seconds")
      const refused = yield* Effect.flip(take(2n * price, "second"))
      assert.match(refused.message, /a withdrawal from it is pending/)
    })
  )
})

describe("a facilitator that serves while a network is not connected", () => {
  it.effect("has streams of the network's channels ask again, and knows no others", () =>
    Effect.gen(function* () {
      const { credit, registry, take } = yield* shop
      const { paymentId } = yield* take(price, "first")
      registry.schemes = []
      const part = { claimId: "second", amount: price, known: undefined, waitMillis: 0 }
      const failures = [
        yield* Effect.flip(credit.reserve({ ...part, paymentId })),
        yield* Effect.flip(credit.isClosed(paymentId)),
        yield* Effect.flip(credit.standing(paymentId))
      ]
      for (const failure of failures) assert.deepInclude(failure, { _tag: "FacilitatorUnavailable", retryAfter: 2 })
      assert.isTrue(yield* credit.renew(paymentId, "first"))
      const other = "draw-0xother-100"
      const unknown = yield* Effect.flip(credit.reserve({ ...part, paymentId: other }))
      assert.deepInclude(unknown, { detail: "unknown_payment" })
      assert.isFalse(yield* credit.isClosed(other))
      assert.isUndefined(yield* credit.standing(other))
    })
  )
})

const toldBy = (refused: unknown) =>
  refused instanceof ChannelCorrection ? refused.facts : assert.fail("no correction")

describe("a refund that a stranger asks for by a voucher that a claim has named", () => {
  it.effect("gets the highest voucher only once that buys nothing more, and by that one no higher one", () =>
    Effect.gen(function* () {
      const { ledger, refund, served, take } = yield* shop
      yield* served((yield* take(price, "first")).paymentId, "first")
      yield* ledger.publish([{ channelId, maximum: price }])
      yield* served((yield* take(2n * price, "second")).paymentId, "second")
      yield* take(3n * price, "third")
      assert.deepStrictEqual(toldBy(yield* Effect.flip(refund(price))), { owed: "200", voucher: "200" })
      const drawn = yield* Effect.forkChild(Effect.flip(take(2n * price, "stranger")))
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(toldBy(yield* Fiber.join(drawn)), { owed: "0", voucher: null })
      assert.deepInclude(yield* ledger.find(channelId), { signed: 3n * price, charged: 2n * price, reserved: price })
      assert.deepInclude(yield* served(`draw-${channelId}-300`, "third"), { amount: "100" })
    })
  )

  it.effect("gets no voucher that is not used up", () =>
    Effect.gen(function* () {
      const { ledger, refund, served, take } = yield* shop
      yield* served((yield* take(price, "first")).paymentId, "first")
      yield* ledger.publish([{ channelId, maximum: price }])
      yield* served((yield* take(2n * price, "second")).paymentId, "second", 40n)
      assert.deepStrictEqual(toldBy(yield* Effect.flip(refund(price))), { owed: "140", voucher: null })
      assert.deepInclude(yield* ledger.find(channelId), { published: price })
      // A claim names it, and then strangers know it anyway.
      yield* ledger.publish([{ channelId, maximum: 2n * price }])
      assert.deepStrictEqual(toldBy(yield* Effect.flip(refund(price))), { owed: "140", voucher: "200" })
    })
  )

  it.effect("leaves its payer the correction by a voucher that no claim has named", () =>
    Effect.gen(function* () {
      const { refund, served, take } = yield* shop
      yield* served((yield* take(price, "first")).paymentId, "first", 40n)
      const correction = { owed: "40", voucher: "100" }
      assert.deepStrictEqual(toldBy(yield* Effect.flip(refund(1n))), correction)
      // A payer that has lost its books begins with what the chain shows as claimed.
      assert.deepStrictEqual(toldBy(yield* Effect.flip(refund(0n))), correction)
    })
  )
})

describe("a refund whose caller does not wait for its end", () => {
  it.effect("goes on, and is made once: the same claim that comes again has it", () =>
    Effect.gen(function* () {
      const { included, refund, sent, served, take } = yield* shop
      yield* served((yield* take(price, "first")).paymentId, "first")
      const left = yield* Effect.forkChild(refund(price), { startImmediately: true })
      while (sent.length === 0) yield* Effect.yieldNow
      yield* Fiber.interrupt(left)
      onChain = { ...full, balance: price, refundNonce: 1n, block: { number: 2n, hash: "0x2" } }
      yield* Deferred.succeed(included, undefined)
      assert.deepInclude(yield* refund(price), { isRefund: true, transaction: "0xrefund" })
      assert.deepStrictEqual(sent, ["refund 0 of 900"])
      const another = yield* Effect.flip(refund(price, "another"))
      assert.deepInclude(another, { detail: "batch_settlement_refund_no_balance" })
    })
  )
})
