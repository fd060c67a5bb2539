/** Observation of payments under misleading nodes and reorganisations: only blocks prove an outcome, never a node's response. */
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { layerEach } from "../../../../core/test/LayerEach.ts"
import { TronTestChain } from "../../src/testing/index.ts"
import * as TronTransaction from "../../src/transfer/TronTransaction.ts"
import * as Payment from "../TronTestPayment.ts"

describe.concurrent("TronObservation, with a misleading node or chain,", () => {
  layerEach(TronTestChain.layer())((it) => {
    it.effect("settles though the node calls an accepted transaction a duplicate", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const { settle } = yield* Payment.facilitator()
        yield* chain.plant(
          { _tag: "Refuse", code: "DUP_TRANSACTION_ERROR", isTaken: true },
          { path: "broadcasthex", times: 1 }
        )
        const [taken, gained] = yield* Payment.gain(
          Effect.flatMap(Payment.payment(), (request) => Payment.settled(settle(request)))
        )
        assert.deepStrictEqual([taken, gained], ["included", 10_000n])
      })
    )

    it.effect(
      "waits while a payer has poisoned the node with a bad signature, and settles once the node forgets it",
      () =>
        Effect.gen(function* () {
          const chain = yield* TronTestChain.TronTestChain
          const { settle } = yield* Payment.facilitator({ settleTimeoutMillis: 500 })
          const terms = yield* Payment.transfer()
          const request = yield* Payment.payment({ transfer: terms })
          yield* chain.setIdCache(true)
          const { txID } = TronTransaction.unsignedTransfer(terms)
          const forged = TronTransaction.signed(Payment.hexOf(terms), `${"12".repeat(64)}1b`)
          const node = yield* Payment.rpc
          assert.strictEqual((yield* node.broadcast(txID, forged)).code, "SIGERROR")
          const [outcome, gained] = yield* Payment.gain(Payment.outcome(settle(request)))
          assert.deepStrictEqual([outcome, gained], ["SettlementPending", 0n])
          assert.strictEqual((yield* node.broadcast(txID, forged)).code, "DUP_TRANSACTION_ERROR")
          yield* chain.setIdCache(false)
          const insisting = Effect.retry(settle(request), { while: ({ _tag }) => _tag === "SettlementPending" })
          const [settled, more] = yield* Payment.gain(Payment.settled(insisting))
          assert.deepStrictEqual([settled, more], ["included", 10_000n])
        })
    )

    for (const code of ["SIGERROR", "TAPOS_ERROR", "CONTRACT_VALIDATE_ERROR", "SERVER_BUSY", "OTHER_ERROR"] as const) {
      it.effect(`submits a payment again after a node's rejection with ${code}, and settles it`, () =>
        Effect.gen(function* () {
          const chain = yield* TronTestChain.TronTestChain
          const { settle } = yield* Payment.facilitator()
          yield* chain.plant({ _tag: "Refuse", code }, { path: "broadcasthex", times: 1 })
          const [settled, gained] = yield* Payment.gain(
            Effect.flatMap(Payment.payment(), (request) => Payment.settled(settle(request)))
          )
          assert.deepStrictEqual([settled, gained], ["included", 10_000n])
        })
      )
    }

    it.effect("settles once if the response to its bytes is lost", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const { settle } = yield* Payment.facilitator()
        yield* chain.plant({ _tag: "Disconnect", isDone: true }, { path: "broadcasthex", times: 1 })
        const [settled, gained] = yield* Payment.gain(
          Effect.flatMap(Payment.payment(), (request) => Payment.settled(settle(request)))
        )
        assert.deepStrictEqual([settled, gained], ["included", 10_000n])
      })
    )

    for (const result of ["REVERT", "OUT_OF_ENERGY", "SUCCESS"]) {
      it.effect(`settles though the node reports once that it ended with ${result} without the transfer`, () =>
        Effect.gen(function* () {
          const chain = yield* TronTestChain.TronTestChain
          const { settle } = yield* Payment.facilitator()
          const terms = yield* Payment.transfer()
          const request = yield* Payment.payment({ transfer: terms })
          const { txID: id } = TronTransaction.unsignedTransfer(terms)
          const { number } = yield* (yield* Payment.rpc).head
          const body = JSON.stringify({ id, blockNumber: Number(number), receipt: { result }, log: [] })
          yield* chain.plant({ _tag: "Text", body }, { path: "gettransactioninfobyid", times: 1 })
          const [settled, gained] = yield* Payment.gain(Payment.settled(settle(request)))
          assert.deepStrictEqual([settled, gained], ["included", 10_000n])
        })
      )
    }

    it.effect("reports nothing while the node reports another failure each time", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.schemeFacilitator()
        const one = yield* Payment.read(scheme, yield* Payment.payment())
        const prepared = yield* Payment.prepare(scheme, one)
        yield* scheme.submit(prepared)
        const { number } = yield* (yield* Payment.rpc).head
        for (const result of ["REVERT", "OUT_OF_ENERGY", "REVERT"]) {
          const body = JSON.stringify({ id: prepared.transaction, blockNumber: Number(number), receipt: { result } })
          yield* chain.plant({ _tag: "Text", body }, { path: "gettransactioninfobyid", times: 1 })
          assert.strictEqual((yield* Payment.observe(scheme, one, prepared)).seen, "Pending")
          yield* chain.mine()
        }
        const { inclusion, seen } = yield* Payment.end(scheme, one, prepared)
        assert.deepStrictEqual([seen, inclusion?.transaction], ["Settled", prepared.transaction])
      })
    )

    it.effect("counts no transfer that was included before it was prepared", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.schemeFacilitator()
        const one = yield* Payment.read(scheme, yield* Payment.payment())
        const prepared = yield* Payment.prepare(scheme, one)
        yield* scheme.submit(prepared)
        const late = { ...prepared, head: prepared.head + 1n }
        assert.strictEqual((yield* Payment.observe(scheme, one, prepared)).seen, "Settled")
        assert.strictEqual((yield* Payment.observe(scheme, one, late)).seen, "Pending")
        yield* chain.mine(Payment.solidified)
        assert.strictEqual((yield* Payment.end(scheme, one, late)).seen, "already_used on_chain")
      })
    )

    it.effect("waits for the solidified block with that finality", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.schemeFacilitator({ finality: "solidified" })
        const one = yield* Payment.read(scheme, yield* Payment.payment())
        yield* scheme.verify(one)
        const prepared = yield* Payment.prepare(scheme, one)
        yield* scheme.submit(prepared)
        const observedPayment = { payment: one, since: prepared.head }
        assert.deepStrictEqual(yield* Payment.observe(scheme, one, prepared), {
          inclusion: undefined,
          seen: "Pending",
          word: ""
        })
        assert.strictEqual((yield* scheme.conclude(observedPayment))._tag, "Pending")
        yield* chain.mine(Payment.solidified)
        const { inclusion, seen } = yield* Payment.end(scheme, one, prepared)
        assert.strictEqual(seen, "Settled")
        assert.isTrue((inclusion?.block.number ?? 0n) <= (yield* scheme.chainHead).final)
        assert.strictEqual((yield* scheme.conclude(observedPayment))._tag, "Settled")
      })
    )

    it.effect("notices that a reorganisation dropped a block, and settles the same bytes again", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.schemeFacilitator()
        const one = yield* Payment.read(scheme, yield* Payment.payment())
        const prepared = yield* Payment.prepare(scheme, one)
        const lands = Effect.andThen(scheme.submit(prepared), Payment.end(scheme, one, prepared))
        const first = yield* lands
        assert.strictEqual(first.seen, "Settled")
        const block = first.inclusion?.block ?? { number: 0n, hash: "" }
        yield* chain.reorganise(1)
        assert.isFalse(yield* scheme.isCanonical(block))
        assert.strictEqual((yield* Payment.observe(scheme, one, prepared)).seen, "Pending")
        const [again, gained] = yield* Payment.gain(lands)
        assert.deepStrictEqual([again.seen, gained], ["Settled", 10_000n])
        assert.notDeepEqual(again.inclusion?.block, block)
      })
    )

    it.effect("reports no failure in a block that is dropped: the same bytes pay, once", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const payer = yield* Payment.payerAt(4)
        const scheme = yield* Payment.schemeFacilitator()
        const one = yield* Payment.read(scheme, yield* Payment.payment({ payer }))
        yield* scheme.verify(one)
        const prepared = yield* Payment.prepare(scheme, one)
        yield* chain.call({ signature: "addBlackList(address)", parameters: [payer.address] })
        yield* scheme.submit(prepared)
        for (let block = 0; block < 5; block++) {
          assert.strictEqual((yield* Payment.observe(scheme, one, prepared)).seen, "Pending")
          yield* chain.mine()
        }
        yield* chain.reorganise(6)
        yield* chain.call({ signature: "removeBlackList(address)", parameters: [payer.address] })
        const [again, gained] = yield* Payment.gain(
          Effect.andThen(scheme.submit(prepared), Payment.end(scheme, one, prepared))
        )
        assert.deepStrictEqual([again.seen, gained], ["Settled", 10_000n])
      })
    )

    it.effect(
      "reports no failure until a solidified receipt shows it, whatever block another node has solidified",
      () =>
        Effect.gen(function* () {
          const chain = yield* TronTestChain.TronTestChain
          const payer = yield* Payment.payerAt(5)
          const scheme = yield* Payment.schemeFacilitator()
          const one = yield* Payment.read(scheme, yield* Payment.payment({ payer }))
          const prepared = yield* Payment.prepare(scheme, one)
          yield* chain.call({ signature: "addBlackList(address)", parameters: [payer.address] })
          yield* scheme.submit(prepared)
          yield* Payment.observe(scheme, one, prepared)
          yield* chain.mine(Payment.solidified)
          const path = "walletsolidity/gettransactioninfobyid"
          yield* chain.plant({ _tag: "Text", body: "{}" }, { path, times: 3 })
          // A look needs a block that the last one has not seen.
          const look = Effect.andThen(chain.mine(), Payment.observe(scheme, one, prepared))
          const { seen } = yield* Effect.repeat(look, { until: ({ seen }) => seen !== "Pending" })
          assert.deepStrictEqual([seen, (yield* chain.requests).get(`/${path}`)], ["INSUFFICIENT_BALANCE reverted", 4])
        })
    )

    it.effect(
      "is not unused by one look at a node that shows no receipt, past the expiration of a payment that was made",
      () =>
        Effect.gen(function* () {
          const chain = yield* TronTestChain.TronTestChain
          const scheme = yield* Payment.schemeFacilitator()
          const { expiration } = yield* Payment.transfer()
          const one = yield* Payment.read(scheme, yield* Payment.payment({ transfer: { expiration } }))
          const prepared = yield* Payment.prepare(scheme, one)
          yield* scheme.submit(prepared)
          yield* Payment.end(scheme, one, prepared)
          yield* chain.setTime(Number(expiration))
          yield* chain.mine(Payment.solidified)
          const conclusion = Effect.map(scheme.conclude({ payment: one, since: prepared.head }), ({ _tag }) => _tag)
          const hidden = chain.plant({ _tag: "Text", body: "{}" }, { path: "gettransactioninfobyid" })
          yield* hidden
          assert.strictEqual(yield* conclusion, "Pending")
          assert.strictEqual(yield* conclusion, "Pending", "as of the same solidified block")
          yield* chain.heal
          yield* chain.mine()
          assert.strictEqual(yield* conclusion, "Settled")
          yield* hidden
          yield* chain.mine()
          assert.strictEqual(yield* conclusion, "Pending", "once it was shown again")
        })
    )

    it.effect("concludes unused only once two solidified blocks are past the expiration", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.schemeFacilitator()
        const { expiration } = yield* Payment.transfer()
        const one = yield* Payment.read(scheme, yield* Payment.payment({ transfer: { expiration } }))
        const observedPayment = { payment: one, since: (yield* scheme.chainHead).head.number }
        yield* chain.setTime(Number(expiration) - 1_000)
        yield* chain.mine(Payment.solidified)
        assert.strictEqual((yield* scheme.conclude(observedPayment))._tag, "Pending")
        yield* chain.setTime(Number(expiration))
        yield* chain.mine(Payment.solidified - 1)
        assert.strictEqual((yield* scheme.conclude(observedPayment))._tag, "Pending")
        yield* chain.mine()
        assert.strictEqual((yield* scheme.conclude(observedPayment))._tag, "Pending")
        yield* chain.mine()
        const concluded = yield* scheme.conclude(observedPayment)
        assert.strictEqual(concluded._tag, "Unused")
        const { submit } = scheme
        const prepared = yield* Payment.prepare(scheme, one)
        const submission = yield* submit(prepared)
        assert.deepStrictEqual(
          [submission._tag, "message" in submission && submission.message.startsWith("TRANSACTION_EXPIRATION_ERROR")],
          ["Outdated", true]
        )
      })
    )
  })
})
