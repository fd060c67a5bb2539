/** The count of streams that share a channel. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import * as StreamAccount from "../../src/client/stream/StreamAccount.ts"

const terms = { unit: "event", tick: 10n, window: 100n, voucherUrl: "https://shop.example/voucher", idleSeconds: 30 }

const accountOf = (total: bigint): StreamAccount.StreamAccount => ({
  terms,
  measure: "events",
  began: 0,
  total,
  events: 0n,
  bytes: 0n,
  seen: 0
})

/** Streams with what their own vouchers allow, and shares by which their shop charges them out of the whole. */
const streams = fc.array(
  fc.record({ windows: fc.bigInt({ min: 1n, max: 20n }), share: fc.bigInt({ min: 0n, max: 100n }) }),
  { minLength: 1, maxLength: 8 }
)

describe("streams that share a channel", () => {
  it("change its charges by exactly what was signed for them and not charged, in whatever order they end", () => {
    fc.assert(
      fc.property(streams, (all) => {
        const pool = StreamAccount.emptyPool()
        const accounts = all.map(({ windows }) => accountOf(windows * terms.window))
        for (const account of accounts) StreamAccount.join(pool, account)
        const signed = accounts.reduce((sum, { total }) => sum + total, 0n)
        let charged = 0n
        let change = 0n
        for (const [index, account] of accounts.entries()) {
          const most = StreamAccount.mostCharged(pool, account)
          // A shop that is honest charges no more in all than was signed for.
          const wish = (most * (all[index]?.share ?? 0n)) / 100n
          const left = signed - charged
          const sum = wish < left ? wish : left
          charged += sum
          change += StreamAccount.leave(pool, account, sum)
          assert.isTrue(change <= 0n, "the charges never pass what is signed")
        }
        assert.isEmpty(pool.accounts)
        assert.deepInclude(pool, { isShared: false, taken: 0n, spare: 0n })
        assert.strictEqual(change, charged - signed)
      })
    )
  })

  it("allow one alone no more than its own vouchers", () => {
    const pool = StreamAccount.emptyPool()
    const account = accountOf(100n)
    StreamAccount.join(pool, account)
    assert.strictEqual(StreamAccount.mostCharged(pool, account), 100n)
    StreamAccount.join(pool, accountOf(300n))
    assert.strictEqual(StreamAccount.mostCharged(pool, account), 400n)
  })

  it("get a further window only for what has come, whichever of them got it", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 30n }), fc.bigInt({ min: 0n, max: 30n }), (one, other) => {
        const pool = StreamAccount.emptyPool()
        const accounts = [accountOf(100n), accountOf(100n)] as const
        for (const account of accounts) StreamAccount.join(pool, account)
        accounts[0].events = one
        accounts[1].events = other
        pool.arrivals = Number(one + other)
        const allowed = StreamAccount.allowance(pool, accounts[0], 0)
        const ahead = 200n - (one + other) * terms.tick
        assert.isTrue(ahead + allowed <= terms.window + terms.window / 8n || allowed === 0n || ahead < terms.tick)
        if (pool.arrivals === 0) assert.strictEqual(allowed, 0n)
      })
    )
  })
})
