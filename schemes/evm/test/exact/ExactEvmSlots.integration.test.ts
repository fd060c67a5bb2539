/** Slots and the transactions in them, by the scheme facilitator alone: counting, replacing, filling, and blocks taken back. */
import { assert, describe, layer } from "@effect/vitest"
import type { Payment as HeldPayment, PreparedTransaction, SchemeFacilitator } from "@pontage/core"
import * as Effect from "effect/Effect"

import { bridgeEvm } from "../../src/index.ts"
import * as Eip1559 from "../../src/primitives/Eip1559.ts"
import { EvmTestChain } from "../../src/testing/index.ts"
import * as Batch from "../EvmTestBatch.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as RpcProxy from "../RpcProxy.ts"

const chain = EvmTestChain.EvmTestChain

const facilitatorAndPayments = Effect.fnUntraced(function* (from: number, to: number) {
  const schemeFacilitator = yield* Batch.scheme()
  return { schemeFacilitator, list: (yield* Batch.payments(schemeFacilitator, from, to)).map(({ payment }) => payment) }
})

const pending = { _tag: "Pending" } as const

const laneOf = <Payload>(schemeFacilitator: SchemeFacilitator<Payload>) =>
  schemeFacilitator.lanes[0] ?? assert.fail("there is a lane")

/** The next slot by both counts. */
const counts = Effect.fnUntraced(function* <Payload>(schemeFacilitator: SchemeFacilitator<Payload>) {
  const lane = laneOf(schemeFacilitator)
  return [yield* schemeFacilitator.nextSlot(lane, "included"), yield* schemeFacilitator.nextSlot(lane, "known")]
})

const numberOf = (prepared: PreparedTransaction): bigint => prepared.slot?.number ?? assert.fail("it has a slot")

/** Runs while no block is made but by hand; the batch settler is there before. */
const byHand = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { setAutomine } = yield* chain
    yield* Batch.settler
    return yield* Effect.ensuring(Effect.andThen(setAutomine(false), body), setAutomine(true))
  })

/** Signs the same payments again in the same slot, at a percentage of the chain's fees. */
const again = <Payload>(
  schemeFacilitator: SchemeFacilitator<Payload>,
  list: ReadonlyArray<HeldPayment<Payload>>,
  earlier: PreparedTransaction,
  percent: bigint
) =>
  Effect.map(Batch.prepare(schemeFacilitator, list, { number: numberOf(earlier), percent }), ({ count, prepared }) => {
    assert.strictEqual(count, list.length)
    return prepared
  })

describe("a slot", () => {
  layer(EvmTestChain.layer({ payers: 30 }), { excludeTestServices: true })((it) => {
    it.effect("is counted by the blocks alone, and with the pool", () =>
      byHand(
        Effect.gen(function* () {
          const { mine } = yield* chain
          const { schemeFacilitator, list } = yield* facilitatorAndPayments(0, 3)
          const [included = 0n, known] = yield* counts(schemeFacilitator)
          assert.strictEqual(known, included)
          const { prepared } = yield* Batch.prepare(schemeFacilitator, list)
          yield* schemeFacilitator.submit(prepared)
          assert.deepStrictEqual(yield* counts(schemeFacilitator), [included, included + 1n])
          yield* mine()
          yield* Batch.included(schemeFacilitator, list, prepared)
          assert.deepStrictEqual(yield* counts(schemeFacilitator), [included + 1n, included + 1n])
        })
      )
    )

    it.effect("takes dearer bytes instead of those that wait in it, and shows which of them is included", () =>
      byHand(
        Effect.gen(function* () {
          const { mine } = yield* chain
          const { schemeFacilitator, list } = yield* facilitatorAndPayments(3, 6)
          const { prepared: first } = yield* Batch.prepare(schemeFacilitator, list)
          assert.deepStrictEqual(yield* schemeFacilitator.submit(first), { _tag: "Accepted" })
          assert.deepStrictEqual(yield* schemeFacilitator.submit(first), { _tag: "Accepted" })
          const cheaper = yield* again(schemeFacilitator, list, first, 90n)
          assert.strictEqual((yield* schemeFacilitator.submit(cheaper))._tag, "Outdated")
          const second = yield* again(schemeFacilitator, list, first, 113n)
          const third = yield* again(schemeFacilitator, list, first, 130n)
          assert.deepStrictEqual(yield* schemeFacilitator.submit(second), { _tag: "Accepted" })
          assert.deepStrictEqual(yield* schemeFacilitator.submit(third), { _tag: "Accepted" })
          assert.strictEqual((yield* schemeFacilitator.submit(second))._tag, "Outdated")
          yield* mine()
          const attempts = [first, cheaper, second, third] as const
          const { inclusion, observations } = yield* Batch.included(schemeFacilitator, list, ...attempts)
          assert.strictEqual(inclusion.transaction, third.transaction)
          assert.deepStrictEqual(
            observations.map((one) => one._tag === "Settled" && !one.external && one.transaction),
            Array(3).fill(third.transaction)
          )
          for (const attempt of attempts)
            assert.deepStrictEqual(yield* schemeFacilitator.submit(attempt), { _tag: "SlotUsed" })
        })
      )
    )

    it.effect(
      "is given up to the same payments again, whatever batches and budgets its signer's facilitator has now",
      () =>
        byHand(
          Effect.gen(function* () {
            const { mine } = yield* chain
            const { schemeFacilitator, list } = yield* facilitatorAndPayments(20, 28)
            const { prepared: first } = yield* Batch.prepare(schemeFacilitator, list)
            yield* schemeFacilitator.submit(first)
            const smaller = yield* Batch.scheme({ maximum: 2, lossBudget: 1n })
            const single = yield* Payment.scheme(yield* chain)
            const replacing = (next: typeof schemeFacilitator, replaced: PreparedTransaction, percent: bigint) =>
              Effect.map(
                Batch.prepare(next, list, { number: numberOf(first), percent, replaced }),
                ({ count, prepared }) => {
                  assert.strictEqual(count, list.length)
                  assert.deepStrictEqual(Eip1559.callIn(prepared.bytes), Eip1559.callIn(first.bytes))
                  return prepared
                }
              )
            const second = yield* replacing(smaller, first, 120n)
            const third = yield* replacing(single, second, 150n)
            assert.deepStrictEqual(yield* schemeFacilitator.submit(second), { _tag: "Accepted" })
            assert.deepStrictEqual(yield* schemeFacilitator.submit(third), { _tag: "Accepted" })
            yield* mine()
            const { inclusion, observations } = yield* Batch.included(single, list, first, second, third)
            assert.strictEqual(inclusion.transaction, third.transaction)
            assert.isTrue(observations.every(({ _tag }) => _tag === "Settled"))
          })
        )
    )

    it.effect("shows an older attempt that is included", () =>
      Effect.gen(function* () {
        const { schemeFacilitator, list } = yield* facilitatorAndPayments(6, 8)
        const { prepared: first } = yield* Batch.prepare(schemeFacilitator, list)
        const second = yield* again(schemeFacilitator, list, first, 113n)
        yield* schemeFacilitator.submit(first)
        const { inclusion, observations } = yield* Batch.included(schemeFacilitator, list, first, second)
        assert.strictEqual(inclusion.transaction, first.transaction)
        assert.isTrue(observations.every((one) => one._tag === "Settled" && one.transaction === first.transaction))
      })
    )

    it.effect("does not take bytes that offer less than the chain costs, and takes them when it is cheap again", () =>
      Effect.gen(function* () {
        const { mine, setNextBlockBaseFee } = yield* chain
        const { schemeFacilitator, list } = yield* facilitatorAndPayments(8, 10)
        const { prepared } = yield* Batch.prepare(schemeFacilitator, list)
        yield* setNextBlockBaseFee(400_000_000_000n)
        yield* mine()
        const submission = yield* schemeFacilitator.submit(prepared)
        assert.strictEqual(submission._tag, "Outdated")
        assert.isTrue(submission._tag === "Outdated" && submission.message !== "")
        const { fees } = yield* schemeFacilitator.chainHead
        assert.isTrue(fees !== undefined && fees.maximum <= fees.ceiling && fees.maximum > 400_000_000_000n)
        yield* setNextBlockBaseFee(600_000_000_000n)
        yield* mine()
        const dear = (yield* schemeFacilitator.chainHead).fees
        assert.isTrue(dear !== undefined && dear.maximum > dear.ceiling)
        yield* setNextBlockBaseFee(1_000_000_000n)
        yield* mine()
        assert.deepStrictEqual(yield* schemeFacilitator.submit(prepared), { _tag: "Accepted" })
        const { observations } = yield* Batch.included(schemeFacilitator, list, prepared)
        assert.isTrue(observations.every(({ _tag }) => _tag === "Settled"))
      })
    )

    it.effect(
      "tells too little for a place, a used slot, known bytes and trouble apart, in the words of many nodes",
      () =>
        Effect.gen(function* () {
          const proxy = yield* RpcProxy.make
          const schemeFacilitator = yield* Batch.scheme({ rpcUrl: proxy.url })
          const [payment] = yield* Batch.payments(schemeFacilitator, 10, 11)
          if (payment === undefined) return assert.fail("a payment was read")
          const { prepared } = yield* Batch.prepare(schemeFacilitator, [payment.payment])
          for (const [code, message, expected] of [
            [-32_000, "already known", "Accepted"],
            [-32_000, "known transaction: 0x12", "Accepted"],
            [-32_010, "Transaction with the same hash was already imported.", "Accepted"],
            [-32_000, "nonce too low: next nonce 7, tx nonce 6", "SlotUsed"],
            [-32_010, "OldNonce, Current nonce: 5, nonce of rejected tx: 4", "SlotUsed"],
            [-32_000, "transaction underpriced: gas tip cap 1, minimum needed 1000000", "Outdated"],
            [-32_000, "replacement transaction underpriced", "Outdated"],
            [-32_003, "max fee per gas less than block base fee: address 0x1, maxFeePerGas: 1 baseFee: 7", "Outdated"],
            [-32_010, "FeeTooLow, MaxFeePerGas too low", "Outdated"],
            [-32_000, "insufficient funds for gas * price + value", "Refused"],
            [-32_000, "exceeds block gas limit", "Refused"],
            [-32_005, "rate limit exceeded", "ChainUnavailable"],
            [-32_603, "internal error", "ChainUnavailable"]
          ] as const) {
            proxy.spoil("eth_sendRawTransaction", RpcProxy.refusal(code, message))
            const word = yield* Effect.match(schemeFacilitator.submit(prepared), {
              onSuccess: ({ _tag }) => _tag,
              onFailure: ({ _tag }) => _tag
            })
            assert.strictEqual(word, expected, message)
          }
        })
    )

    it.effect("is used up by a noop, which has a cost and no payments", () =>
      Effect.gen(function* () {
        const schemeFacilitator = yield* Batch.scheme()
        const lane = laneOf(schemeFacilitator)
        const number = yield* schemeFacilitator.nextSlot(lane, "known")
        const { noop } = schemeFacilitator
        const cancel = yield* noop({ lane, number }, yield* schemeFacilitator.chainHead)
        assert.deepStrictEqual(yield* schemeFacilitator.observe([], [cancel]), {
          inclusion: undefined,
          observations: []
        })
        assert.deepStrictEqual(yield* schemeFacilitator.submit(cancel), { _tag: "Accepted" })
        const { inclusion, observations } = yield* Batch.included(schemeFacilitator, [], cancel)
        const receipt = yield* Batch.receiptOf(cancel.transaction)
        assert.deepStrictEqual(observations, [])
        assert.deepStrictEqual(inclusion, {
          transaction: cancel.transaction,
          block: { number: receipt.blockNumber, hash: receipt.blockHash },
          cost: 21_000n * receipt.effectiveGasPrice
        })
        assert.strictEqual(yield* schemeFacilitator.nextSlot(lane, "included"), number + 1n)
      })
    )

    it.effect("is used up by a noop with the gas that the chain demands, where 21 000 does not do", () =>
      Effect.gen(function* () {
        const { accounts, network } = yield* chain
        const proxy = yield* RpcProxy.make
        // A rollup that takes the price of a transaction's data out of its gas.
        proxy.spoil("eth_estimateGas", RpcProxy.result("0x5dc0"))
        proxy.spoil("eth_sendRawTransaction", async (response, request, pass) => {
          const isLow = Eip1559.callIn(String(request.params[0]))?.gas === 21_000n
          if (isLow) return RpcProxy.refusal(-32_000, "intrinsic gas too low")(response, request, pass)
          response.end(await pass())
        })
        const [signer] = accounts.signers
        const rpcUrl = proxy.url
        const deliveries = yield* bridgeEvm.deliveries({ network, rpcUrl, signer })
        for (const { chainHead, nextSlot, noop, submit } of [yield* Batch.scheme({ rpcUrl }), deliveries]) {
          const lane = signer.address
          const number = yield* nextSlot(lane, "known")
          const head = yield* chainHead
          const cancel = yield* noop({ lane, number }, head)
          assert.deepStrictEqual(yield* submit(cancel), { _tag: "Accepted" })
          assert.strictEqual(cancel.cost, 30_000n * (head.fees?.maximum ?? 0n))
          assert.strictEqual(yield* nextSlot(lane, "included"), number + 1n)
        }
        const schemeFacilitator = yield* Batch.scheme({ rpcUrl })
        const slot = { lane: signer.address, number: 0n }
        for (const fault of [RpcProxy.httpError, RpcProxy.refusal(3, "execution reverted"), RpcProxy.result("0x1")]) {
          proxy.spoil("eth_estimateGas", fault)
          const { bytes } = yield* schemeFacilitator.noop(slot, yield* schemeFacilitator.chainHead)
          assert.strictEqual(Eip1559.callIn(bytes)?.gas, 21_000n)
        }
        proxy.spoil("eth_estimateGas", RpcProxy.result("0x77359400"))
        const { bytes } = yield* schemeFacilitator.noop(slot, yield* schemeFacilitator.chainHead)
        assert.strictEqual(Eip1559.callIn(bytes)?.gas, Eip1559.mostGas)
      })
    )

    it.effect("that a stranger with the same key has used shows nothing of its payments", () =>
      Effect.gen(function* () {
        const { accounts, send } = yield* chain
        const { schemeFacilitator, list } = yield* facilitatorAndPayments(11, 13)
        const { prepared } = yield* Batch.prepare(schemeFacilitator, list)
        yield* send({ from: accounts.signers[0].address, to: accounts.stranger.address, value: 1n })
        assert.deepStrictEqual(yield* schemeFacilitator.submit(prepared), { _tag: "SlotUsed" })
        assert.deepStrictEqual(yield* Batch.observe(schemeFacilitator, list, prepared), {
          inclusion: undefined,
          observations: [pending, pending]
        })
      })
    )

    for (const depth of [1, 2, 3]) {
      it.effect(`is open again when ${depth} blocks are taken back, and the same bytes settle in it, once`, () =>
        Effect.gen(function* () {
          const { accounts, balanceOf, mine, reorg } = yield* chain
          const first = 13 + 4 * (depth - 1)
          const { schemeFacilitator, list } = yield* facilitatorAndPayments(first, first + 4)
          const before = yield* balanceOf(accounts.payee.address)
          const { prepared } = yield* Batch.prepare(schemeFacilitator, list)
          yield* schemeFacilitator.submit(prepared)
          const { inclusion } = yield* Batch.included(schemeFacilitator, list, prepared)
          yield* mine(depth - 1)
          assert.isTrue(yield* schemeFacilitator.isCanonical(inclusion.block))
          yield* reorg(depth)
          assert.isFalse(yield* schemeFacilitator.isCanonical(inclusion.block))
          assert.strictEqual(yield* balanceOf(accounts.payee.address), before)
          assert.deepStrictEqual(yield* Batch.observe(schemeFacilitator, list, prepared), {
            inclusion: undefined,
            observations: [pending, pending, pending, pending]
          })
          assert.deepStrictEqual(yield* schemeFacilitator.submit(prepared), { _tag: "Accepted" })
          const again = yield* Batch.included(schemeFacilitator, list, prepared)
          assert.notDeepEqual(again.inclusion.block, inclusion.block)
          assert.isTrue(yield* schemeFacilitator.isCanonical(again.inclusion.block))
          assert.isTrue(again.observations.every(({ _tag }) => _tag === "Settled"))
          assert.strictEqual(yield* balanceOf(accounts.payee.address), before + 40_000n)
        })
      )
    }

    it.effect("lies in a block that a node which has fallen behind cannot deny", () =>
      Effect.gen(function* () {
        const proxy = yield* RpcProxy.make
        const schemeFacilitator = yield* Payment.scheme(yield* chain, { rpcUrl: proxy.url })
        const { head } = yield* schemeFacilitator.chainHead
        assert.isTrue(yield* schemeFacilitator.isCanonical(head))
        assert.isFalse(yield* schemeFacilitator.isCanonical({ ...head, hash: `0x${"1".repeat(64)}` }))
        proxy.spoil("eth_getBlockByNumber", RpcProxy.result(null))
        assert.strictEqual((yield* Effect.flip(schemeFacilitator.isCanonical(head)))._tag, "ChainUnavailable")
      })
    )
  })
})
