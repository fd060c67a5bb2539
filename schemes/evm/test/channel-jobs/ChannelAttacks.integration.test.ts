/**
 * Payers and shops that want the facilitator to lose gas, or others to lose claims: each overtakes the facilitator's transaction in the
 * very block that includes it.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Facilitator, type PaymentFailure } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { encodeFunctionData, erc20Abi, type Hex, numberToHex } from "viem"

import { EvmTestChain } from "../../src/testing/index.ts"
import * as ChannelCall from "../../src/voucher/ChannelCall.ts"
import type * as ChannelConfig from "../../src/voucher/ChannelConfig.ts"
import * as ChannelContract from "../../src/voucher/ChannelContract.ts"
import * as TestChannel from "../voucher/TestChannel.ts"
import * as TestEscrow from "../voucher/TestEscrow.ts"
import * as ChannelDesk from "./ChannelDesk.ts"

const { configOf, depositCall, payerOf, rowOf, send, standing } = TestEscrow
const { claimOf, depositOf, lentConfig, opened, refundOf, requestOf } = ChannelDesk

type Chain = EvmTestChain.Shape
type Config = ChannelConfig.ChannelConfig

const attackLayer = ChannelDesk.layer({ finalityDepth: 2 }, { settleTimeoutMillis: 3_000, drainMillis: 0 }).pipe(
  Layer.provideMerge(EvmTestChain.layer({ payers: 10 }))
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

/** The count of the facilitator's transactions as of a block. */
const sentBy = (chain: Chain, blockTag: "latest" | "pending") =>
  Effect.promise(() => chain.client.getTransactionCount({ address: chain.accounts.signers[1].address, blockTag }))

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
  attack: Effect.Effect<void>
) {
  const before = yield* sentBy(chain, "latest")
  yield* chain.setAutomine(false)
  const settling = yield* Effect.forkChild(settled(chain, config, payload))
  while ((yield* sentBy(chain, "pending")) === before) yield* Effect.yieldNow
  yield* attack
  yield* chain.setAutomine(true)
  yield* chain.mine()
  return settling
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
          overtaking(chain, config.payer, chain.token.address, call)
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
        assert.strictEqual(yield* settled(chain, config, payload), "included")
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
        assert.strictEqual(yield* settled(chain, sound, claim), "included")
        assert.deepStrictEqual(yield* standing(chain, sound), [50_000n, 20_000n])
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
        assert.strictEqual(yield* settled(chain, config, unsigned), "included")
        const refund = { ...(yield* refundOf(chain, payer, config, { amount: 30_000n, nonce: 0n })), job }
        assert.strictEqual(yield* settled(chain, config, refund), "included")
        assert.deepStrictEqual(yield* standing(chain, config), [20_000n, 20_000n])
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
        const outcomes = yield* Effect.forEach(
          Array.from({ length: 16 }, (_, index) => BigInt(index + 1) * 1_000n),
          (maximum) =>
            Effect.flatMap(depositOf(chain, payer, config, 50_000n, maximum), (payload) =>
              settled(chain, config, payload)
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
