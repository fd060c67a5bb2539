/** An operator's payment to a shop whose transaction reverts in its block, on two real chains: it is carried by another one. */
import { assert, describe, it } from "@effect/vitest"
import type { ObservedPayment, PreparedTransaction, SchemeFacilitator } from "@pontage/core"
import * as Effect from "effect/Effect"

import { chains, deliveryDepth, opened, payoutOf, price, settled } from "./InventoryMarket.ts"

/** The operator's money on the second chain, which it takes out. */
const stock = 100_000_000n

/** A payment of the operator that was signed for and sent, and that its token reverted for want of money. */
const reverted = Effect.fnUntraced(function* () {
  const both = yield* chains
  const { first, second } = both
  const market = yield* opened(both)
  const { facilitator, far, onward, operator, paid } = market
  const payment = yield* paid(0)
  const { block, transaction } = yield* settled(facilitator, payment)
  yield* first.mine(1)
  const payout = yield* payoutOf(far, yield* onward.observe({ payment, transaction, block, attempt: 1 }))
  yield* far.verify(payout)
  const [lane = ""] = far.lanes
  const prepared = Effect.gen(function* () {
    const number = yield* far.nextSlot(lane, "known")
    return (yield* far.prepare([payout], { lane, number }, yield* far.chainHead)).prepared
  })
  const carried = yield* prepared
  yield* second.setBalance(operator.address, 10n ** 18n)
  const words = [second.accounts.deployer.address.slice(2), stock.toString(16)].map((word) => word.padStart(64, "0"))
  yield* second.send({ from: operator.address, to: second.token.address, data: `0xa9059cbb${words.join("")}` })
  yield* far.submit(carried)
  const observed = { payment: payout, since: carried.head }
  const received = second.balanceOf(first.accounts.payee.address)
  return { ...market, ...both, payout, carried, observed, prepared, received }
})

/** The node takes a transaction before its block is mined: it is looked for until then. */
const seenBy = (far: SchemeFacilitator, observed: ObservedPayment, carried: PreparedTransaction) =>
  far.observe([observed], [carried]).pipe(
    Effect.repeat({ until: ({ inclusion }) => inclusion !== undefined }),
    Effect.map(({ inclusion, observations: [seen] }) => {
      assert.strictEqual(inclusion?.transaction, carried.transaction)
      return seen
    })
  )

describe("an operator's payment that its token reverts", () => {
  it.live("is unmoved once its block is final, and another transaction makes it, once", () =>
    Effect.gen(function* () {
      const { carried, far, observed, operator, prepared, received, second } = yield* reverted()
      const look = seenBy(far, observed, carried)
      assert.strictEqual((yield* look)?._tag, "Pending")
      yield* second.mine(deliveryDepth - 1)
      assert.strictEqual((yield* look)?._tag, "Pending")
      yield* second.mine(1)
      const seen = yield* look
      assert.deepInclude(seen, { _tag: "Unmoved", transaction: carried.transaction })
      assert.strictEqual(seen?._tag === "Unmoved" && seen.error.detail, "balance_below_amount")
      assert.strictEqual((yield* far.conclude(observed))._tag, "Pending")
      yield* second.mint(operator.address, 2n * price)
      const again = yield* prepared
      yield* far.submit(again)
      assert.deepInclude(yield* seenBy(far, observed, again), { _tag: "Settled", external: false })
      yield* second.mine(1)
      // The first transaction's view of it is the same one.
      assert.deepInclude(yield* look, { _tag: "Settled", transaction: again.transaction })
      assert.strictEqual(yield* received, price)
    }).pipe(Effect.scoped)
  )

  it.live("is settled where a stranger has made it since, in a block that is not final", () =>
    Effect.gen(function* () {
      const { carried, far, farBy, observed, operator, payout, received, second } = yield* reverted()
      const look = seenBy(far, observed, carried)
      assert.strictEqual((yield* look)?._tag, "Pending")
      yield* second.mine(deliveryDepth)
      yield* second.mint(operator.address, price)
      const { transaction } = yield* settled(yield* farBy(second.accounts.signers[2]), payout)
      assert.deepInclude(yield* look, { _tag: "Settled", transaction, external: true })
      assert.strictEqual(yield* received, price)
    }).pipe(Effect.scoped)
  )

  it.live("is pending as an ordinary payment, whose payer signs another one when it fails", () =>
    Effect.gen(function* () {
      const { carried, far, observed, payout, second } = yield* reverted()
      const { delivers: _, ...extra } = payout.requirements.extra ?? {}
      const payment = { ...payout, requirements: { ...payout.requirements, extra } }
      const look = seenBy(far, { ...observed, payment }, carried)
      assert.strictEqual((yield* look)?._tag, "Pending")
      yield* second.mine(deliveryDepth + 1)
      assert.strictEqual((yield* look)?._tag, "Pending")
    }).pipe(Effect.scoped)
  )
})
