/** The least price of a network in its channels: no transaction moves less, but for a bounded number that would be stuck otherwise. */
import { assert, describe, layer } from "@effect/vitest"
import { Facilitator, type PaymentFailure } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { EvmTestChain } from "../../src/testing/index.ts"
import * as ChannelCall from "../../src/voucher/ChannelCall.ts"
import * as ChannelConfig from "../../src/voucher/ChannelConfig.ts"
import * as TestChannel from "../voucher/TestChannel.ts"
import * as TestEscrow from "../voucher/TestEscrow.ts"
import * as ChannelDesk from "./ChannelDesk.ts"

const { configOf, payerOf, rowOf, send, standing } = TestEscrow
const { claimOf, depositOf, lentConfig, opened, payoutOf, refundOf, requestOf } = ChannelDesk

/** 20 000 units of the chain's token. */
const facilitatorLayer = ChannelDesk.layer({ minimumPrice: "$0.02" }).pipe(
  Layer.provideMerge(EvmTestChain.layer({ payers: 10 }))
)

const nameOf = (failure: PaymentFailure): string =>
  "detail" in failure ? failure.detail.replace("batch_settlement_", "") : failure._tag

/** Requests about a payer's channel to a receiver of its own, and the number of transactions that the facilitator has sent. */
const deskOf = Effect.fnUntraced(function* (index: number) {
  const chain = yield* EvmTestChain.EvmTestChain
  const facilitator = yield* Facilitator
  const payer = payerOf(chain, index)
  const config = configOf(chain, payer, { receiver: TestChannel.address(`0x${`${index + 1}`.repeat(40)}`) })
  const ask = (payload: unknown, of = config) =>
    Effect.match(facilitator.settle(requestOf(chain, of, payload)), {
      onSuccess: ({ status }) => status,
      onFailure: nameOf
    })
  const owner = chain.accounts.signers[0]
  return {
    chain,
    payer,
    config,
    ask,
    claim: (total: bigint) =>
      Effect.gen(function* () {
        return yield* ask(yield* claimOf(chain, [yield* rowOf(chain, payer, config, total, total)], owner))
      }),
    payout: ask(payoutOf(chain, config)),
    refund: (amount: bigint, nonce: bigint, total: bigint) =>
      Effect.gen(function* () {
        const rows = [yield* rowOf(chain, payer, config, total, total)]
        const claims = yield* claimOf(chain, rows, owner)
        const refund = yield* refundOf(chain, payer, config, { amount, nonce }, rows, owner)
        return yield* ask({ ...refund, claimAuthorizerSignature: claims.claimAuthorizerSignature })
      }),
    sent: Effect.promise(() => chain.client.getTransactionCount({ address: chain.accounts.signers[1].address }))
  }
})

layer(facilitatorLayer, { excludeTestServices: true })("the least price in channels", (it) => {
  describe("refuses", () => {
    it.effect("a deposit below it, by /verify too", () =>
      Effect.gen(function* () {
        const { ask, chain, config, payer } = yield* deskOf(0)
        const facilitator = yield* Facilitator
        const low = yield* depositOf(chain, payer, config, 19_999n, 1_000n)
        assert.strictEqual(yield* ask(low), "deposit_below_min_deposit")
        const refusal = yield* Effect.flip(facilitator.verify(requestOf(chain, config, low)))
        assert.strictEqual(nameOf(refusal), "deposit_below_min_deposit")
        assert.match(refusal.message, /of 19999, at least 20000 of the smallest unit is taken \(minimumPrice \$0\.02\)/)
        assert.strictEqual(yield* ask(yield* depositOf(chain, payer, config, 20_000n, 1_000n)), "included")
      })
    )

    it.effect("claims, payouts and refunds unit by unit, and sends nothing for them", () =>
      Effect.gen(function* () {
        const { chain, claim, config, payer, payout, refund, sent } = yield* deskOf(1)
        yield* opened(chain, payer, config, 100_000n)
        const before = yield* sent
        for (const total of [1n, 2n, 19_999n]) assert.strictEqual(yield* claim(total), "claim_below_minimum")
        assert.strictEqual(yield* refund(9_999n, 0n, 10_000n), "refund_below_minimum")
        assert.strictEqual(yield* sent, before)
        assert.strictEqual(yield* claim(20_000n), "included")
        assert.strictEqual(yield* payout, "included")
        assert.strictEqual(yield* claim(39_999n), "claim_below_minimum")
        assert.strictEqual(yield* refund(10_000n, 0n, 30_000n), "included")
        assert.strictEqual(yield* sent, before + 3)
        assert.deepStrictEqual(yield* standing(chain, config), [90_000n, 30_000n])
        // One small payout a day: the next waits for a least amount.
        assert.strictEqual(yield* payout, "included")
        assert.strictEqual(yield* refund(15_000n, 1n, 35_000n), "included")
        assert.strictEqual(yield* payout, "settle_below_minimum")
        assert.strictEqual(yield* claim(55_000n), "included")
        assert.strictEqual(yield* payout, "included")
        assert.strictEqual(yield* sent, before + 7)
      })
    )
  })

  describe("lets through", () => {
    it.effect("the claim that leaves nothing in a channel", () =>
      Effect.gen(function* () {
        const { chain, claim, config, payer } = yield* deskOf(2)
        yield* opened(chain, payer, config, 30_000n)
        assert.strictEqual(yield* claim(20_000n), "included")
        assert.strictEqual(yield* claim(29_999n), "claim_below_minimum")
        assert.strictEqual(yield* claim(30_000n), "included")
        assert.deepStrictEqual(yield* standing(chain, config), [30_000n, 30_000n])
      })
    )

    it.effect("the refund that closes a channel, with its small claim", () =>
      Effect.gen(function* () {
        const { chain, config, payer, payout, refund } = yield* deskOf(3)
        yield* opened(chain, payer, config, 20_000n)
        assert.strictEqual(yield* refund(19_000n, 0n, 5n), "refund_below_minimum")
        assert.strictEqual(yield* refund(19_995n, 0n, 5n), "included")
        assert.strictEqual(yield* payout, "included")
        assert.strictEqual(yield* chain.balanceOf(config.receiver), 5n)
      })
    )

    it.effect("one sum in a withdrawal, whatever the channel's payer has a claim refused for", () =>
      Effect.gen(function* () {
        const { ask, chain, claim, config, payer } = yield* deskOf(4)
        yield* opened(chain, payer, config, 50_000n)
        yield* send(chain, payer.address, ChannelCall.initiateWithdraw(config, 40_000n))
        // Without the shop's signature it uses nothing up.
        const row = yield* rowOf(chain, payer, config, 1n, 1n)
        assert.strictEqual(yield* ask(yield* claimOf(chain, [row], payer)), "authorizer_address_mismatch")
        assert.strictEqual(yield* claim(2n), "included")
        assert.strictEqual(yield* claim(3n), "claim_below_minimum")
        assert.strictEqual(yield* claim(2n), "included")
        assert.strictEqual(yield* claim(20_002n), "included")
        assert.deepStrictEqual(yield* standing(chain, config), [50_000n, 20_002n])
      })
    )

    it.effect("the rows of withdrawals without the small ones beside them, where the facilitator signs", () =>
      Effect.gen(function* () {
        const { chain } = yield* deskOf(5)
        const facilitator = yield* Facilitator
        const [one, two] = [payerOf(chain, 6), payerOf(chain, 7)]
        const [first, second] = [lentConfig(chain, one), lentConfig(chain, two)]
        for (const [payer, config] of [
          [one, first],
          [two, second]
        ] as const) {
          yield* opened(chain, payer, config, 50_000n)
        }
        const rows = [yield* rowOf(chain, one, first, 7n, 7n), yield* rowOf(chain, two, second, 8n, 8n)]
        const request = requestOf(chain, first, yield* claimOf(chain, rows))
        assert.strictEqual(nameOf(yield* Effect.flip(facilitator.settle(request))), "claim_below_minimum")
        yield* send(chain, two.address, ChannelCall.initiateWithdraw(second, 40_000n))
        const { extra } = yield* facilitator.settle(request)
        const held = (extra?.["held"] ?? []) as ReadonlyArray<{ readonly channelId: string }>
        assert.deepStrictEqual(
          held.map(({ channelId }) => channelId),
          [ChannelConfig.id(chain.chainId, first)]
        )
        assert.deepStrictEqual(yield* standing(chain, first), [50_000n, 0n])
        assert.deepStrictEqual(yield* standing(chain, second), [50_000n, 8n])
      })
    )
  })
})
