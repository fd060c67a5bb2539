/**
 * Payers and shops that want the facilitator to lose gas, or others to lose claims: each overtakes the facilitator's transaction in the
 * very block that includes it.
 */
import { assert, describe, layer } from "@effect/vitest"
import { CurrentCaller, Facilitator, type PaymentFailure } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { encodeFunctionData, erc20Abi, type Hex, keccak256, numberToHex, pad } from "viem"

import { EvmTestChain } from "../../src/testing/index.ts"
import * as ChannelCall from "../../src/voucher/ChannelCall.ts"
import * as ChannelConfig from "../../src/voucher/ChannelConfig.ts"
import * as ChannelContract from "../../src/voucher/ChannelContract.ts"
import * as ChannelRefund from "../../src/voucher/ChannelRefund.ts"
import * as TestChannel from "../voucher/TestChannel.ts"
import * as TestEscrow from "../voucher/TestEscrow.ts"
import * as ChannelDesk from "./ChannelDesk.ts"

const { configOf, depositCall, payerOf, rowOf, send, standing } = TestEscrow
const { claimOf, depositOf, lentConfig, opened, refundOf, requestOf } = ChannelDesk

type Chain = EvmTestChain.Shape
type Config = ChannelConfig.ChannelConfig

const attackLayer = ChannelDesk.layer({ finalityDepth: 2 }, { settleTimeoutMillis: 3_000, drainMillis: 0 }).pipe(
  Layer.provideMerge(EvmTestChain.layer({ payers: 20 }))
)

const nameOf = (failure: PaymentFailure): string =>
  "detail" in failure ? failure.detail.replace("batch_settlement_", "") : failure._tag

const settled = Effect.fnUntraced(function* (chain: Chain, config: Config, payload: unknown) {
  const facilitator = yield* Facilitator
  return yield* Effect.match(facilitator.settle(requestOf(chain, config, payload)), {
    onSuccess: ({ status }): string => status,
    onFailure: nameOf
  })
})

/** Settles until the outcome is known: a slow machine may need longer than one call waits. */
const ended = Effect.fnUntraced(function* (chain: Chain, config: Config, payload: unknown) {
  let outcome = "SettlementPending"
  while (outcome === "SettlementPending") outcome = yield* settled(chain, config, payload)
  return outcome
})

/** The count of the facilitator's transactions as of a block. */
const sentBy = (chain: Chain, blockTag: "latest" | "pending") =>
  Effect.promise(() => chain.client.getTransactionCount({ address: chain.accounts.signers[1].address, blockTag }))

/** Waits until the facilitator has sent a transaction; red where it never does. */
const untilSent = Effect.fnUntraced(function* (chain: Chain, before: number) {
  const pause = Schedule.spaced("10 millis")
  const sent = yield* Effect.repeat(sentBy(chain, "pending"), {
    until: (count) => count !== before,
    schedule: pause,
    times: 6_000
  })
  assert.notStrictEqual(sent, before, "nothing was sent")
})

/** A call at a price that puts it before the facilitator's transaction. */
const overtaking = Effect.fnUntraced(function* (chain: Chain, from: Hex, to: Hex, data: Hex) {
  yield* chain.request("anvil_impersonateAccount", [from])
  yield* chain.setBalance(from, 10n ** 18n)
  const price = numberToHex(400n * 10n ** 9n)
  const fees = { maxFeePerGas: price, maxPriorityFeePerGas: price }
  yield* chain.request("eth_sendTransaction", [{ from, to, data, gas: numberToHex(500_000n), ...fees }])
})

/** Settles; another call overtakes the transaction in its block. */
const overtaken = Effect.fnUntraced(function* (
  chain: Chain,
  config: Config,
  payload: unknown,
  attack: Effect.Effect<void>,
  settle: typeof settled = ended
) {
  const before = yield* sentBy(chain, "latest")
  yield* chain.setAutomine(false)
  const settling = yield* Effect.forkChild(settle(chain, config, payload))
  yield* untilSent(chain, before)
  yield* attack
  yield* chain.setAutomine(true)
  yield* chain.mine()
  return settling
})

/** The place of a channel's pending withdrawal in the contract's storage: the mapping `pendingWithdrawals` is its second variable. */
const withdrawalSlot = (chain: Chain, config: Config): Hex =>
  keccak256(`0x${ChannelConfig.id(chain.chainId, config).slice(2)}${pad("0x1").slice(2)}`)

/** Begins a withdrawal whose delay is over: the chain's clock stays where the facilitator's is. */
const withdrawable = Effect.fnUntraced(function* (chain: Chain, config: Config, amount: bigint) {
  yield* send(chain, config.payer, ChannelCall.initiateWithdraw(config, amount))
  const { timestamp } = yield* Effect.promise(() => chain.client.getBlock())
  const state = ((timestamp - BigInt(config.withdrawDelay) - 10n) << 128n) | amount
  const word = pad(numberToHex(state))
  yield* chain.request("anvil_setStorageAt", [ChannelContract.address, withdrawalSlot(chain, config), word])
})

/** A refund by a stranger, with the authorizer's signature. */
const refundCall = (chain: Chain, config: Config, amount: bigint, nonce: bigint) =>
  Effect.promise(async () => {
    const channelId = ChannelConfig.id(chain.chainId, config)
    const typed = ChannelRefund.typedData(chain.chainId, { channelId, nonce, amount })
    const signature = await chain.accounts.signers[2].signTypedData(typed)
    return ChannelCall.refundWithSignature(config, amount, nonce, signature)
  })

layer(attackLayer, { excludeTestServices: true })("an attacker who is first in the block", (it) => {
  describe("a deposit", () => {
    it.effect("whose payer empties its account is never made, and the payer is banned", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const payer = payerOf(chain, 0)
        const config = configOf(chain, payer)
        const payload = yield* depositOf(chain, payer, config, 50_000n, 1_000n)
        const all = yield* chain.balanceOf(payer.address)
        const call = encodeFunctionData({
          abi: erc20Abi,
          functionName: "transfer",
          args: [chain.accounts.stranger.address, all]
        })
        const settling = yield* overtaken(
          chain,
          config,
          payload,
          overtaking(chain, config.payer, chain.token.address, call),
          settled
        )
        assert.strictEqual(yield* Fiber.join(settling), "SettlementPending")
        assert.deepStrictEqual(yield* standing(chain, config), [0n, 0n])
        yield* chain.mint(payer.address, 100_000n)
        const sent = yield* sentBy(chain, "latest")
        const again = yield* depositOf(chain, payer, config, 50_000n, 1_000n, 2)
        assert.strictEqual(yield* settled(chain, config, again), "account_banned")
        assert.strictEqual(yield* sentBy(chain, "latest"), sent)
      })
    )

    it.effect("that a stranger has sent first is answered as made, once", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const payer = payerOf(chain, 1)
        const config = configOf(chain, payer)
        const payload = yield* depositOf(chain, payer, config, 50_000n, 1_000n)
        const { erc3009Authorization: signed } = payload.deposit.authorization
        const data = ChannelCall.deposit(
          config,
          50_000n,
          ChannelContract.erc3009Collector,
          ChannelCall.erc3009Data({
            validAfter: 0n,
            validBefore: BigInt(signed.validBefore),
            salt: signed.salt,
            signature: signed.signature as Hex
          })
        )
        const settling = yield* overtaken(
          chain,
          config,
          payload,
          overtaking(chain, chain.accounts.stranger.address, ChannelContract.address, data)
        )
        assert.strictEqual(yield* Fiber.join(settling), "included")
        assert.strictEqual(yield* ended(chain, config, payload), "included")
        assert.deepStrictEqual(yield* standing(chain, config), [50_000n, 0n])
      })
    )
  })

  describe("a claim", () => {
    it.effect("whose money is taken out first is refused; the other rows and the shop's next claims go on", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const [thief, honest] = [payerOf(chain, 2), payerOf(chain, 3)]
        const stolen = lentConfig(chain, thief)
        const sound = lentConfig(chain, honest)
        for (const [payer, config] of [
          [thief, stolen],
          [honest, sound]
        ] as const) {
          yield* opened(chain, payer, config, 50_000n)
        }
        const rows = [
          yield* rowOf(chain, thief, stolen, 20_000n, 20_000n),
          yield* rowOf(chain, honest, sound, 20_000n, 20_000n)
        ]
        const claim = yield* claimOf(chain, rows)
        const settling = yield* overtaken(
          chain,
          sound,
          claim,
          overtaking(chain, stolen.receiver, ChannelContract.address, ChannelCall.refund(stolen, 50_000n))
        )
        assert.strictEqual(yield* Fiber.join(settling), "claim_transaction_failed")
        assert.deepStrictEqual(yield* standing(chain, stolen), [0n, 0n])
        assert.strictEqual(yield* ended(chain, sound, claim), "included")
        assert.deepStrictEqual(yield* standing(chain, sound), [50_000n, 20_000n])
      })
    )

    it.effect("whose payer can withdraw has a transaction of its own, which fails no other row", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const facilitator = yield* Facilitator
        const payers = [6, 7, 8].map((index) => payerOf(chain, index))
        const rows = []
        for (const payer of payers) {
          const config = lentConfig(chain, payer)
          yield* opened(chain, payer, config, 50_000n)
          rows.push(yield* rowOf(chain, payer, config, 20_000n, 20_000n))
        }
        const [thief, slow, sound] = payers.map((payer) => lentConfig(chain, payer))
        if (!thief || !slow || !sound) return yield* Effect.die("no channels")
        yield* withdrawable(chain, thief, 50_000n)
        yield* withdrawable(chain, slow, 50_000n)
        const before = yield* sentBy(chain, "latest")
        yield* chain.setAutomine(false)
        const claim = requestOf(chain, sound, yield* claimOf(chain, rows))
        const settling = yield* Effect.forkChild(facilitator.settle(claim))
        yield* untilSent(chain, before)
        // The other two follow; one that is late finds the money gone, and fails alone too.
        for (let request = 0; request < 20; request++) yield* sentBy(chain, "pending")
        const theft = ChannelCall.finalizeWithdraw(thief)
        yield* overtaking(chain, thief.payer, ChannelContract.address, theft)
        yield* chain.setAutomine(true)
        yield* chain.mine()
        const { extra, status } = yield* Fiber.join(settling)
        assert.strictEqual(status, "included")
        const held = (extra?.["held"] ?? []) as ReadonlyArray<{ readonly channelId: string }>
        assert.deepStrictEqual(
          held.map(({ channelId }) => channelId),
          [ChannelConfig.id(chain.chainId, thief)]
        )
        assert.deepStrictEqual(yield* standing(chain, thief), [0n, 0n])
        assert.deepStrictEqual(yield* standing(chain, slow), [50_000n, 20_000n])
        assert.deepStrictEqual(yield* standing(chain, sound), [50_000n, 20_000n])
        return undefined
      })
    )

    it.effect("and a refund with a job of the shop's own making are planned anew", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const payer = payerOf(chain, 4)
        const config = lentConfig(chain, payer)
        yield* opened(chain, payer, config, 50_000n)
        const job = { id: TestChannel.word(9), until: 1, held: [] }
        const row = yield* rowOf(chain, payer, config, 20_000n, 20_000n)
        const claim = { ...(yield* claimOf(chain, [row])), claimAuthorizerSignature: "0x1234", job }
        assert.strictEqual(yield* settled(chain, config, claim), "authorizer_address_mismatch")
        const { claimAuthorizerSignature: _, ...unsigned } = claim
        assert.strictEqual(yield* ended(chain, config, unsigned), "included")
        const refund = { ...(yield* refundOf(chain, payer, config, { amount: 30_000n, nonce: 0n })), job }
        assert.strictEqual(yield* ended(chain, config, refund), "included")
        assert.deepStrictEqual(yield* standing(chain, config), [20_000n, 20_000n])
      })
    )
  })

  describe("a refund", () => {
    it.effect("that a stranger sends first is done, once, and its report is of the stranger's transaction", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const facilitator = yield* Facilitator
        const payer = payerOf(chain, 9)
        const config = lentConfig(chain, payer)
        yield* opened(chain, payer, config, 50_000n)
        const payload = yield* refundOf(chain, payer, config, { amount: 10_000n, nonce: 0n })
        const data = yield* refundCall(chain, config, 10_000n, 0n)
        const { address } = chain.accounts.stranger
        const settling = yield* overtaken(
          chain,
          config,
          payload,
          overtaking(chain, address, ChannelContract.address, data)
        )
        assert.strictEqual(yield* Fiber.join(settling), "included")
        const { amount, transaction } = yield* facilitator.settle(requestOf(chain, config, payload))
        assert.strictEqual(amount, "10000")
        const { from } = yield* Effect.promise(() => chain.client.getTransaction({ hash: transaction as Hex }))
        assert.strictEqual(from.toLowerCase(), address.toLowerCase())
        yield* send(chain, address, yield* refundCall(chain, config, 5_000n, 1n))
        const sent = yield* sentBy(chain, "latest")
        const second = yield* refundOf(chain, payer, config, { amount: 5_000n, nonce: 1n })
        assert.strictEqual((yield* facilitator.settle(requestOf(chain, config, second))).amount, "5000")
        const less = yield* refundOf(chain, payer, config, { amount: 4_999n, nonce: 1n })
        assert.strictEqual(yield* settled(chain, config, less), "refund_simulation_failed")
        assert.strictEqual(yield* sentBy(chain, "latest"), sent)
        assert.deepStrictEqual(yield* standing(chain, config), [35_000n, 0n])
      })
    )

    it.effect("that has failed is tried again at once, and is made once", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const payer = payerOf(chain, 10)
        const config = lentConfig(chain, payer)
        yield* opened(chain, payer, config, 50_000n)
        yield* withdrawable(chain, config, 50_000n)
        const row = yield* rowOf(chain, payer, config, 20_000n, 20_000n)
        const payload = yield* refundOf(chain, payer, config, { amount: 30_000n, nonce: 0n }, [row])
        const theft = ChannelCall.finalizeWithdraw(config)
        const settling = yield* overtaken(
          chain,
          config,
          payload,
          overtaking(chain, config.payer, ChannelContract.address, theft),
          settled
        )
        assert.strictEqual(yield* Fiber.join(settling), "SettlementPending")
        // The refund has no end before a final block, and a claim of the same shop does not wait for that.
        const other = lentConfig(chain, payerOf(chain, 13))
        yield* opened(chain, payerOf(chain, 13), other, 50_000n)
        const claim = yield* claimOf(chain, [yield* rowOf(chain, payerOf(chain, 13), other, 20_000n, 20_000n)])
        assert.strictEqual(yield* ended(chain, other, claim), "included")
        const outcome = yield* ended(chain, config, payload)
        // A request that came after the end is a new try, and finds nothing to refund.
        assert.include(["refund_transaction_failed", "refund_no_balance"], outcome)
        assert.deepStrictEqual(yield* standing(chain, config), [0n, 0n])
        yield* chain.mint(payer.address, 50_000n)
        yield* send(chain, chain.accounts.deployer.address, yield* depositCall(chain, payer, config, 50_000n, 7))
        const again = yield* Effect.all(
          Array.from({ length: 4 }, () => ended(chain, config, payload)),
          {
            concurrency: "unbounded"
          }
        )
        assert.deepStrictEqual([...new Set(again)], ["included"])
        assert.deepStrictEqual(yield* standing(chain, config), [20_000n, 20_000n])
      })
    )

    it.effect("behind claims is of the rest at most, so that it cannot be sent alone at the claims' cost", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const payer = payerOf(chain, 11)
        const config = lentConfig(chain, payer)
        yield* opened(chain, payer, config, 50_000n)
        const row = yield* rowOf(chain, payer, config, 20_000n, 20_000n)
        const greedy = yield* refundOf(chain, payer, config, { amount: 30_001n, nonce: 0n }, [row])
        assert.strictEqual(yield* settled(chain, config, greedy), "refund_amount_invalid")
        const whole = yield* refundOf(chain, payer, config, { amount: 30_000n, nonce: 0n }, [row])
        const [claim, refund] = yield* Effect.all(
          [ended(chain, config, yield* claimOf(chain, [row])), ended(chain, config, whole)],
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual([claim, refund], ["included", "included"])
        assert.deepStrictEqual(yield* standing(chain, config), [20_000n, 20_000n])
      })
    )

    it.effect("waits for the claims of its receiver that are under way", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const payer = payerOf(chain, 12)
        const config = lentConfig(chain, payer)
        yield* opened(chain, payer, config, 50_000n)
        const row = yield* rowOf(chain, payer, config, 20_000n, 20_000n)
        const before = yield* sentBy(chain, "latest")
        yield* chain.setAutomine(false)
        const claiming = yield* Effect.forkChild(ended(chain, config, yield* claimOf(chain, [row])))
        yield* untilSent(chain, before)
        const refund = yield* refundOf(chain, payer, config, { amount: 50_000n, nonce: 0n })
        const refunding = yield* Effect.forkChild(ended(chain, config, refund))
        // One that does not wait is sent within a few requests.
        for (let request = 0; request < 20; request++) yield* sentBy(chain, "pending")
        const sent = yield* sentBy(chain, "pending")
        yield* chain.setAutomine(true)
        yield* chain.mine()
        assert.strictEqual(yield* Fiber.join(claiming), "included")
        assert.strictEqual(yield* Fiber.join(refunding), "included")
        assert.strictEqual(sent, before + 1)
        assert.deepStrictEqual(yield* standing(chain, config), [20_000n, 20_000n])
      })
    )
  })

  describe("the facilitator's own claim", () => {
    it.effect("waits for no refund of another channel that is under way", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const [leaver, other] = [payerOf(chain, 17), payerOf(chain, 18)]
        const [left, owing] = [lentConfig(chain, leaver), lentConfig(chain, other)]
        yield* opened(chain, leaver, left, 50_000n)
        yield* opened(chain, other, owing, 50_000n)
        const row = yield* rowOf(chain, other, owing, 20_000n, 20_000n)
        const refund = yield* refundOf(chain, leaver, left, { amount: 50_000n, nonce: 0n })
        const before = yield* sentBy(chain, "latest")
        yield* chain.setAutomine(false)
        const refunding = yield* Effect.forkChild(ended(chain, left, refund))
        yield* untilSent(chain, before)
        const claim = Effect.provideService(ended(chain, owing, yield* claimOf(chain, [row])), CurrentCaller, {
          name: "claims of payment channels",
          notify: false
        })
        const claiming = yield* Effect.forkChild(claim)
        yield* untilSent(chain, before + 1)
        yield* chain.setAutomine(true)
        yield* chain.mine()
        assert.strictEqual(yield* Fiber.join(claiming), "included")
        assert.strictEqual(yield* Fiber.join(refunding), "included")
        assert.deepStrictEqual(yield* standing(chain, owing), [50_000n, 20_000n])
        assert.deepStrictEqual(yield* standing(chain, left), [0n, 0n])
      })
    )
  })

  describe("a deposit's money", () => {
    it.effect("is not sent twice for sixteen vouchers beside it", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const payer = payerOf(chain, 5)
        const config = configOf(chain, payer)
        const sent = yield* sentBy(chain, "latest")
        // One deposit: signed in another second, it would be valid until another one.
        const deposit = yield* depositOf(chain, payer, config, 50_000n, 1_000n)
        const outcomes = yield* Effect.forEach(
          Array.from({ length: 16 }, (_, index) => BigInt(index + 1) * 1_000n),
          (maximum) =>
            Effect.flatMap(ChannelDesk.voucherOf(chain, payer, config, maximum), (voucher) =>
              ended(chain, config, { ...deposit, voucher })
            ),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual([...new Set(outcomes)], ["included"])
        assert.strictEqual(yield* sentBy(chain, "latest"), sent + 1)
        yield* send(chain, chain.accounts.deployer.address, yield* depositCall(chain, payer, config, 10_000n, 7))
        assert.deepStrictEqual(yield* standing(chain, config), [60_000n, 0n])
      })
    )
  })
})
