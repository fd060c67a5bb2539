/**
 * Attacks on the shared resources of a facilitator's payers on TRON: the lane that their payments are sent in, and the energy that
 * is lent to them.
 */
import type { TronTestChain } from "@pontage/tron/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import type { Attack } from "./Attack.ts"
import * as Direct from "./hostile/DirectSettlement.ts"
import * as TronStage from "./stage/TronStage.ts"

const flood = 12

/** TRX for the fees of one or two payments. */
const littleSun = 4_500_000n

const untilWaiting = (chain: TronTestChain.Shape, isEnough: (ids: ReadonlyArray<string>) => boolean) =>
  Effect.repeat(Effect.andThen(Effect.sleep("10 millis"), chain.waiting), { until: (ids) => isEnough(ids) })

const filledLane: Attack = {
  name: "filled-lane",
  what: `a TRON payer with TRX for two payments brings ${flood} at once, beside an honest payer of the same caller`,
  expected: "no payment is sent that no block takes, and the honest payer's is in the next block",
  targets: ["pontage"],
  mutation: [
    {
      module: "schemes/tron/src/sending/TronCommitments",
      piece: "burntBy(needs, means, prices) <= means.balance",
      instead: "burntBy(needs, means, prices) >= 0n"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const { chain, payer, settle, sign } = yield* TronStage.make(stage, () =>
      Effect.succeed({ PONTAGE_SETTLE_TIMEOUT_MS: "25000" })
    )
    const poor = yield* payer("a few TRX", littleSun)
    const [honest] = chain.accounts.payers
    yield* chain.setMining("manual")
    const payments = yield* Effect.forEach(Array.from({ length: flood }), () => sign(poor))
    let answered = 0
    const bringing = yield* Effect.forEach(payments, (payment) =>
      Effect.forkChild(Effect.tap(settle(stage.mallory, payment), () => Effect.sync(() => answered++)))
    )
    const own = new Set(payments.map(({ id }) => id))
    const sentOf = (ids: ReadonlyArray<string>) => ids.filter((id) => own.has(id)).length
    yield* untilWaiting(chain, (ids) => sentOf(ids) + answered >= flood)
    const good = yield* sign(honest)
    const paying = yield* Effect.forkChild(settle(stage.mallory, good))
    let isAnswered = false
    yield* Effect.forkChild(
      Effect.andThen(
        Fiber.await(paying),
        Effect.sync(() => (isAnswered = true))
      )
    )
    const before = yield* untilWaiting(chain, (ids) => ids.includes(good.id) || isAnswered)
    yield* chain.mine()
    const left = yield* chain.waiting
    const honestly = yield* Fiber.join(paying)
    const transfers = yield* chain.transfers()
    yield* Effect.forEach(bringing, (fiber) => Fiber.interrupt(fiber))
    const sent = sentOf(before)
    const taken = transfers.filter(({ transaction }) => own.has(transaction)).length
    return {
      held: sent > 0 && taken === sent && sentOf(left) === 0 && before.includes(good.id) && Direct.isSettled(honestly),
      seen: `${sent} of ${flood} sent, ${taken} in the next block, ${sentOf(left)} waiting on; the honest payer ${Direct.wordOf(honestly)} after 1 block`,
      attackerCost: `fees of ${taken} transfers`,
      targetCost: `${sent - taken} places of the lane`
    }
  })
}

/** Enough for the bandwidth of transfers, and not for the energy of one. */
const forBandwidth = 1_800_000n
const staked = 1_000_000_000_000n
const borrowers = 4

const borrowedEnergy: Attack = {
  name: "borrowed-energy",
  what: "a TRON payer spends the energy that was lent for its payment on a transfer of its own, and asks for more",
  expected: "it is lent none again, and a payer of another caller is lent to and served",
  targets: ["pontage"],
  mutation: [
    {
      module: "schemes/tron/src/sending/SponsorBudget",
      piece: 'end === "misused"',
      instead: "end === null"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const { chain, payer, settle, sign } = yield* TronStage.make(stage, (chain) =>
      Effect.as(chain.stake(chain.accounts.signers[0], staked), {
        PONTAGE_TRON_SPONSOR_KEY: chain.accounts.signers[0].privateKey,
        PONTAGE_SETTLE_TIMEOUT_MS: "4000"
      })
    )
    const { stranger } = chain.accounts
    /** Whether the loan was spent before the payment: the payment is the quicker one now and then. */
    const borrow = Effect.fnUntraced(function* (name: string) {
      const hostile = yield* payer(name, forBandwidth)
      const away = TronStage.transferTo(chain.token.address, stranger.address, 99n * TronStage.amount + 1n)
      yield* chain.setMining("manual")
      const paying = yield* Effect.forkChild(Effect.flatMap(sign(hostile), (one) => settle(stage.mallory, one)))
      yield* untilWaiting(chain, (ids) => ids.length > 0)
      yield* chain.mine()
      yield* chain.submit(away, hostile)
      yield* chain.setMining("instant")
      yield* chain.mine()
      const reply = yield* Fiber.join(paying)
      const transfers = yield* chain.transfers()
      return {
        hostile,
        reply,
        isSpent: transfers.some(({ from, to }) => from === hostile.address && to === stranger.address)
      }
    })
    let raid = yield* borrow("borrower 0")
    for (let index = 1; index < borrowers && !raid.isSpent; index++) raid = yield* borrow(`borrower ${index}`)
    yield* chain.mint(raid.hostile.address, 100n * TronStage.amount)
    // Until the end of the first loan is seen, the next payment waits.
    const again = yield* Effect.repeat(
      Effect.flatMap(sign(raid.hostile), (one) => settle(stage.mallory, one)),
      { while: (reply) => Direct.wordOf(reply) === "open", times: 20 }
    )
    const other = yield* payer("an honest payer", forBandwidth)
    const honestly = yield* Effect.flatMap(sign(other), (one) => settle(stage.victim, one))
    return {
      held:
        raid.isSpent &&
        !Direct.isSettled(raid.reply) &&
        Direct.wordOf(again) === "trx_for_fees" &&
        Direct.isSettled(honestly),
      seen: `the payment ${Direct.wordOf(raid.reply)}, the next ${Direct.wordOf(again)}; a payer of another ${Direct.wordOf(honestly)}`,
      attackerCost: "the bandwidth of its transfer",
      targetCost: "the energy of one transfer"
    }
  })
}

export const attacks: ReadonlyArray<Attack> = [filledLane, borrowedEnergy]
