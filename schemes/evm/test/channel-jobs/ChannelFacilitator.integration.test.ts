import { assert, describe, layer } from "@effect/vitest"
import { Facilitator, type PaymentFailure } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Hex, parseEventLogs } from "viem"

import { ChannelSettlement, EvmTestChain } from "../../src/testing/index.ts"
import * as ChannelCall from "../../src/voucher/ChannelCall.ts"
import * as ChannelConfig from "../../src/voucher/ChannelConfig.ts"
import * as ChannelContract from "../../src/voucher/ChannelContract.ts"
import * as TestChannel from "../voucher/TestChannel.ts"
import * as TestEscrow from "../voucher/TestEscrow.ts"
import * as ChannelDesk from "./ChannelDesk.ts"

const { configOf, payerOf, rowOf, send, standing } = TestEscrow
const { claimOf, depositOf, lentConfig, opened, payoutOf, refundOf, requestOf, voucherOf } = ChannelDesk

const chainLayer = EvmTestChain.layer({ payers: 40 })
const facilitatorLayer = ChannelDesk.layer().pipe(Layer.provideMerge(chainLayer))
const pendingLayer = ChannelDesk.layer({}, { settleTimeoutMillis: 300 }).pipe(Layer.provideMerge(chainLayer))
const strictLayer = ChannelDesk.layer({ authorizer: undefined }).pipe(Layer.provideMerge(chainLayer))

/** The name of a refusal, without its prefix; the tag of another failure. */
const nameOf = (failure: PaymentFailure): string =>
  "detail" in failure ? failure.detail.replace("batch_settlement_", "") : failure._tag

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The malleated twin of a signature. */
const highS = (signature: string): string => {
  const twin = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, "0")
  return `0x${signature.slice(2, 66)}${twin}${signature.endsWith("1b") ? "1c" : "1b"}`
}

const eventsOf = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, config: ChannelConfig.ChannelConfig) {
  const logs = yield* Effect.promise(() =>
    chain.client.getLogs({ address: ChannelContract.address, fromBlock: 0n, toBlock: "latest" })
  )
  const id = ChannelConfig.id(chain.chainId, config)
  return parseEventLogs({ abi: ChannelSettlement.abi, logs })
    .filter(({ args }) => "channelId" in args && args.channelId === id)
    .map(({ eventName }) => eventName)
})

const verdictOf = Effect.fnUntraced(function* (
  chain: EvmTestChain.Shape,
  config: ChannelConfig.ChannelConfig,
  payload: unknown
) {
  const facilitator = yield* Facilitator
  return yield* Effect.match(facilitator.verify(requestOf(chain, config, payload)), {
    onSuccess: () => "valid",
    onFailure: nameOf
  })
})

const outcomeOf = Effect.fnUntraced(function* (
  chain: EvmTestChain.Shape,
  config: ChannelConfig.ChannelConfig,
  payload: unknown
) {
  const facilitator = yield* Facilitator
  return yield* Effect.match(facilitator.settle(requestOf(chain, config, payload)), {
    onSuccess: ({ status }) => status,
    onFailure: nameOf
  })
})

layer(facilitatorLayer, { excludeTestServices: true })("channels through the facilitator", (it) => {
  describe("a deposit", () => {
    it.effect("is verified with the state before it, made once, and answered again from its record", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const facilitator = yield* Facilitator
        const payer = payerOf(chain, 0)
        const config = configOf(chain, payer)
        const request = requestOf(chain, config, yield* depositOf(chain, payer, config, 100_000n, 1_000n))
        const verified = yield* facilitator.verify(request)
        assert.deepStrictEqual(verified, {
          payer: payer.address,
          extra: {
            channelId: ChannelConfig.id(chain.chainId, config),
            balance: "0",
            totalClaimed: "0",
            withdrawRequestedAt: 0,
            refundNonce: "0"
          }
        })
        const answers = yield* Effect.all(
          Array.from({ length: 8 }, () => facilitator.settle(request)),
          { concurrency: "unbounded" }
        )
        const again = yield* facilitator.settle(request)
        for (const { amount, extra, transaction } of [...answers, again]) {
          assert.strictEqual(transaction, answers[0]?.transaction)
          assert.strictEqual(amount, "100000")
          const channelId = ChannelConfig.id(chain.chainId, config)
          assert.deepStrictEqual(extra, {
            channelState: { channelId, balance: "100000", totalClaimed: "0", withdrawRequestedAt: 0, refundNonce: "0" }
          })
        }
        assert.deepStrictEqual(yield* standing(chain, config), [100_000n, 0n])
        assert.deepStrictEqual(yield* eventsOf(chain, config), ["ChannelCreated", "Deposited"])
        assert.strictEqual((yield* facilitator.verify(request)).payer, payer.address)
      })
    )

    it.effect("is refused by name where the chain or the offer would not take it, and nothing is sent", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const payer = payerOf(chain, 1)
        const config = configOf(chain, payer)
        const sent = yield* Effect.promise(() =>
          chain.client.getTransactionCount({ address: chain.accounts.signers[1].address })
        )
        const good = yield* depositOf(chain, payer, config, 100_000n, 1_000n)
        const { erc3009Authorization: signed } = good.deposit.authorization
        const withSignature = (signature: string) => ({
          ...good,
          deposit: { ...good.deposit, authorization: { erc3009Authorization: { ...signed, signature } } }
        })
        const table: ReadonlyArray<readonly [string, unknown]> = [
          ["receive_authorization_signature", withSignature(highS(signed.signature))],
          ["receive_authorization_signature", { ...good, deposit: { ...good.deposit, amount: "100001" } }],
          ["deposit_below_min_deposit", yield* depositOf(chain, payer, config, 9_999n, 1_000n)],
          ["cumulative_exceeds_balance", yield* depositOf(chain, payer, config, 100_000n, 100_001n)],
          ["insufficient_balance", yield* depositOf(chain, payer, config, 10n ** 15n, 1_000n)],
          ["deposit_payload", { ...good, deposit: { ...good.deposit, amount: " 100000" } }],
          ["channel_id_mismatch", { ...good, voucher: { ...good.voucher, channelId: TestChannel.word(7) } }],
          ["receiver_authorizer_mismatch", yield* depositOf(chain, payer, lentConfig(chain, payer), 100_000n, 1_000n)]
        ]
        for (const [expected, payload] of table) {
          assert.strictEqual(yield* verdictOf(chain, config, payload), expected)
          if (expected !== "cumulative_exceeds_balance") {
            assert.strictEqual(yield* outcomeOf(chain, config, payload), expected)
          }
        }
        const after = yield* Effect.promise(() =>
          chain.client.getTransactionCount({ address: chain.accounts.signers[1].address })
        )
        assert.strictEqual(after, sent)
        assert.deepStrictEqual(yield* standing(chain, config), [0n, 0n])
      })
    )
  })

  describe("a voucher", () => {
    it.effect("is taken between what is claimed and what the channel holds", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const payer = payerOf(chain, 2)
        const config = configOf(chain, payer)
        yield* opened(chain, payer, config, 50_000n)
        const row = yield* rowOf(chain, payer, config, 20_000n, 20_000n)
        assert.strictEqual(
          yield* outcomeOf(chain, config, yield* claimOf(chain, [row], chain.accounts.signers[0])),
          "included"
        )
        const table = [
          [19_999n, "cumulative_below_claimed", "cumulative_below_claimed"],
          [20_000n, "cumulative_below_claimed", "valid"],
          [20_001n, "valid", "valid"],
          [50_000n, "valid", "valid"],
          [50_001n, "cumulative_exceeds_balance", "cumulative_exceeds_balance"]
        ] as const
        for (const [maximum, drawn, refunded] of table) {
          const message = {
            channelConfig: ChannelConfig.onWire(config),
            voucher: yield* voucherOf(chain, payer, config, maximum)
          }
          assert.strictEqual(yield* verdictOf(chain, config, { type: "voucher", ...message }), drawn)
          assert.strictEqual(yield* verdictOf(chain, config, { type: "refund", ...message }), refunded)
        }
      })
    )

    it.effect("is refused where the contract would refuse its claim", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const payer = payerOf(chain, 3)
        const config = configOf(chain, payer)
        yield* opened(chain, payer, config, 50_000n)
        const channelConfig = ChannelConfig.onWire(config)
        const good = yield* voucherOf(chain, payer, config, 5_000n)
        const { signature } = good
        const other = configOf(chain, payer, { salt: TestChannel.word(9) })
        const bare = signature.slice(0, 130)
        const table: ReadonlyArray<readonly [string, Partial<typeof good>]> = [
          ["voucher_signature", { signature: highS(signature) }],
          ["voucher_signature", { signature: `${bare}${signature.endsWith("1b") ? "00" : "01"}` }],
          ["voucher_signature", { signature: `${bare}02` }],
          ["voucher_signature", { signature: bare }],
          ["voucher_signature", { signature: `${signature}00` }],
          ["voucher_signature", { signature: (yield* voucherOf(chain, payerOf(chain, 4), config, 5_000n)).signature }],
          ["voucher_signature", { signature: (yield* voucherOf(chain, payer, config, 5_000n, 1)).signature }],
          ["voucher_signature", { signature: (yield* voucherOf(chain, payer, other, 5_000n)).signature }],
          ["voucher_signature", { maxClaimableAmount: "6000" }],
          ["voucher_payload", { maxClaimableAmount: "0x1388" }],
          ["voucher_payload", { maxClaimableAmount: " 5000 " }],
          ["voucher_payload", { maxClaimableAmount: "+5000" }],
          ["voucher_payload", { maxClaimableAmount: "05000" }],
          ["voucher_payload", { maxClaimableAmount: `${2n ** 128n}` }],
          ["channel_id_mismatch", { channelId: ChannelConfig.id(chain.chainId, other) }],
          ["valid", { channelId: `0x${good.channelId.slice(2).toUpperCase()}` }]
        ]
        for (const [expected, change] of table) {
          const payload = { type: "voucher", channelConfig, voucher: { ...good, ...change } }
          assert.strictEqual(yield* verdictOf(chain, config, payload), expected)
        }
        const zero = configOf(chain, payer, { payerAuthorizer: TestChannel.address(`0x${"0".repeat(40)}`) })
        const voucher = yield* voucherOf(chain, payer, zero, 5_000n)
        const asked = { type: "voucher", channelConfig: ChannelConfig.onWire(zero), voucher }
        assert.strictEqual(yield* verdictOf(chain, zero, asked), "voucher_signature")
        assert.strictEqual(
          yield* outcomeOf(chain, config, { type: "voucher", channelConfig, voucher: good }),
          "payload_type"
        )
      })
    )

    it.effect("is refused while a withdrawal is pending", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const payer = payerOf(chain, 5)
        const config = configOf(chain, payer)
        yield* opened(chain, payer, config, 50_000n)
        const voucher = yield* voucherOf(chain, payer, config, 5_000n)
        const payload = { type: "voucher", channelConfig: ChannelConfig.onWire(config), voucher }
        assert.strictEqual(yield* verdictOf(chain, config, payload), "valid")
        yield* send(chain, payer.address, ChannelCall.initiateWithdraw(config, 10_000n))
        assert.strictEqual(yield* verdictOf(chain, config, payload), "cumulative_exceeds_balance")
        assert.strictEqual(yield* verdictOf(chain, config, { ...payload, type: "refund" }), "valid")
      })
    )
  })

  describe("claims and payouts", () => {
    it.effect("of 100 pairs at once are all answered, by one claim and one payout", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const facilitator = yield* Facilitator
        const payer = payerOf(chain, 6)
        const config = configOf(chain, payer, { receiver: TestChannel.address(chain.accounts.payee.address) })
        yield* opened(chain, payer, config, 50_000n)
        const row = yield* rowOf(chain, payer, config, 30_000n, 30_000n)
        const claim = requestOf(chain, config, yield* claimOf(chain, [row], chain.accounts.signers[0]))
        const payout = requestOf(chain, config, payoutOf(chain, config))
        const pairs = Array.from({ length: 100 }, () =>
          Effect.andThen(facilitator.settle(claim), facilitator.settle(payout))
        )
        const answers = yield* Effect.all(pairs, { concurrency: "unbounded" })
        assert.isTrue(answers.every(({ status }) => status === "included"))
        assert.strictEqual(
          answers.reduce((sum, { amount }) => sum + BigInt(amount), 0n),
          30_000n
        )
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), 30_000n)
        assert.deepStrictEqual(
          (yield* eventsOf(chain, config)).filter((name) => name === "Claimed"),
          ["Claimed"]
        )
      })
    )

    it.effect("leave out a channel whose money is gone, and one with a signature that the contract refuses", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const facilitator = yield* Facilitator
        const payers = [7, 8, 9].map((index) => payerOf(chain, index))
        const configs = payers.map((payer) => lentConfig(chain, payer))
        const rows = []
        for (const [index, payer] of payers.entries()) {
          const config = configs[index]
          if (config === undefined) continue
          yield* opened(chain, payer, config, 50_000n)
          rows.push(yield* rowOf(chain, payer, config, 20_000n, 20_000n))
        }
        const [first, second, third] = configs
        const [one, two, three] = rows
        if (!first || !second || !third || !one || !two || !three) return yield* Effect.die("no channels")
        yield* send(chain, second.receiver, ChannelCall.refund(second, 50_000n))
        const spoilt = { ...three, signature: highS(three.signature) as Hex }
        const { extra, status } = yield* facilitator.settle(
          requestOf(chain, first, yield* claimOf(chain, [one, two, spoilt]))
        )
        assert.strictEqual(status, "included")
        const held = (extra?.["held"] ?? []) as ReadonlyArray<{ readonly channelId: string }>
        assert.sameMembers(
          held.map(({ channelId }) => channelId),
          [second, third].map((config) => ChannelConfig.id(chain.chainId, config))
        )
        assert.deepStrictEqual(yield* standing(chain, first), [50_000n, 20_000n])
        assert.deepStrictEqual(yield* standing(chain, third), [50_000n, 0n])
        assert.strictEqual(
          yield* outcomeOf(chain, first, yield* claimOf(chain, [two, spoilt])),
          "claim_simulation_failed"
        )
        assert.strictEqual(yield* outcomeOf(chain, first, yield* claimOf(chain, [three])), "included")
      })
    )

    it.effect("need an authority over every channel, and the offer's own payee and token", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const payer = payerOf(chain, 10)
        const config = configOf(chain, payer)
        yield* opened(chain, payer, config, 50_000n)
        const row = yield* rowOf(chain, payer, config, 20_000n, 20_000n)
        const foreign = configOf(chain, payer, { receiver: TestChannel.address(chain.accounts.payee.address) })
        const theirs = yield* rowOf(chain, payer, foreign, 20_000n, 20_000n)
        const owner = chain.accounts.signers[0]
        const table: ReadonlyArray<readonly [string, unknown]> = [
          ["authorizer_address_mismatch", yield* claimOf(chain, [row])],
          ["authorizer_address_mismatch", yield* claimOf(chain, [row], chain.accounts.stranger)],
          ["receiver_mismatch", yield* claimOf(chain, [theirs], owner)],
          ["receiver_mismatch", yield* claimOf(chain, [row, theirs], owner)],
          ["claim_payload", yield* claimOf(chain, [row, row], owner)],
          ["receiver_mismatch", { ...payoutOf(chain, config), receiver: chain.accounts.payee.address }],
          ["payload_type", { type: "withdraw" }]
        ]
        for (const [expected, payload] of table) {
          assert.strictEqual(yield* outcomeOf(chain, config, payload), expected)
        }
        assert.deepStrictEqual(yield* standing(chain, config), [50_000n, 0n])
      })
    )
  })

  describe("a refund", () => {
    it.effect("claims first, gives back what is left of its amount, and is made once", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const facilitator = yield* Facilitator
        const payer = payerOf(chain, 11)
        const config = lentConfig(chain, payer)
        yield* opened(chain, payer, config, 50_000n)
        const before = yield* chain.balanceOf(payer.address)
        const row = yield* rowOf(chain, payer, config, 20_000n, 20_000n)
        const payload = yield* refundOf(chain, payer, config, { amount: 10_000n, nonce: 0n }, [row])
        const first = yield* facilitator.settle(requestOf(chain, config, payload))
        const again = yield* facilitator.settle(requestOf(chain, config, payload))
        assert.strictEqual(first.amount, "10000")
        assert.strictEqual(again.transaction, first.transaction)
        assert.deepStrictEqual(first.extra, {
          channelState: {
            channelId: ChannelConfig.id(chain.chainId, config),
            balance: "40000",
            totalClaimed: "20000",
            withdrawRequestedAt: 0,
            refundNonce: "1"
          }
        })
        assert.strictEqual(yield* chain.balanceOf(payer.address), before + 10_000n)
        const stale = yield* refundOf(chain, payer, config, { amount: 1n, nonce: 0n })
        assert.notStrictEqual(yield* outcomeOf(chain, config, stale), "included")
        const rest = yield* refundOf(chain, payer, config, { amount: 90_000n, nonce: 1n })
        assert.strictEqual((yield* facilitator.settle(requestOf(chain, config, rest))).amount, "20000")
        const empty = yield* refundOf(chain, payer, config, { amount: 1n, nonce: 2n })
        assert.strictEqual(yield* outcomeOf(chain, config, empty), "refund_no_balance")
      })
    )
  })
})

layer(pendingLayer, { excludeTestServices: true })("a chain that makes no block", (it) => {
  it.effect("has a deposit pending, which is not reported before it is in a block and not sent again", () =>
    Effect.gen(function* () {
      const chain = yield* EvmTestChain.EvmTestChain
      const payer = payerOf(chain, 12)
      const config = configOf(chain, payer)
      const payload = yield* depositOf(chain, payer, config, 50_000n, 1_000n)
      yield* chain.setAutomine(false)
      assert.strictEqual(yield* outcomeOf(chain, config, payload), "SettlementPending")
      yield* chain.setAutomine(true)
      yield* chain.mine()
      let outcome = yield* outcomeOf(chain, config, payload)
      while (outcome === "SettlementPending") outcome = yield* outcomeOf(chain, config, payload)
      assert.strictEqual(outcome, "included")
      assert.deepStrictEqual(yield* eventsOf(chain, config), ["ChannelCreated", "Deposited"])
    })
  )
})

layer(strictLayer, { excludeTestServices: true })("a facilitator that lends no key", (it) => {
  it.effect("claims and refunds nothing without the shop's own signature", () =>
    Effect.gen(function* () {
      const chain = yield* EvmTestChain.EvmTestChain
      const payer = payerOf(chain, 13)
      const config = lentConfig(chain, payer)
      yield* opened(chain, payer, config, 50_000n)
      const row = yield* rowOf(chain, payer, config, 20_000n, 20_000n)
      const refund = yield* refundOf(chain, payer, config, { amount: 1n, nonce: 0n })
      assert.strictEqual(yield* outcomeOf(chain, config, yield* claimOf(chain, [row])), "authorizer_not_configured")
      assert.strictEqual(yield* outcomeOf(chain, config, refund), "authorizer_not_configured")
      assert.deepStrictEqual(yield* standing(chain, config), [50_000n, 0n])
    })
  )
})
