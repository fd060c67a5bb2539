/** Settlement on the test chain. */
import { assert, describe, layer } from "@effect/vitest"
import { PaymentPayload } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import { exactTron, TronSigner } from "../../src/index.ts"
import { TronTestChain } from "../../src/testing/index.ts"
import * as TronAsset from "../../src/transfer/TronAsset.ts"
import * as TronTransaction from "../../src/transfer/TronTransaction.ts"
import { localSigner } from "../../src/wallet/LocalTronSigner.ts"
import * as Payment from "../TronTestPayment.ts"
import { tronWebOf } from "../TronTransfers.ts"

/** Waits until this many transactions are pending. */
const waiting = (expected: number) =>
  Effect.flatMap(TronTestChain.TronTestChain, (chain) =>
    Effect.repeat(Effect.andThen(Effect.yieldNow, chain.waiting), { until: ({ length }) => length === expected })
  )

/** Runs an effect while blocks are made by `mine` only. */
const manually = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.flatMap(TronTestChain.TronTestChain, (chain) =>
    Effect.acquireUseRelease(
      chain.setMining("manual"),
      () => body,
      () => Effect.andThen(chain.mine(), chain.setMining("instant"))
    )
  )

describe("exactTron.facilitator", () => {
  layer(TronTestChain.layer({ payers: 60 }), { excludeTestServices: true })((it) => {
    it.effect("knows the local chain's token", () =>
      Effect.gen(function* () {
        const { token } = yield* TronTestChain.TronTestChain
        const table = yield* Effect.fromResult(TronAsset.table([]))
        assert.strictEqual(table.find("tron:local", undefined)?.address, token.address)
      })
    )

    it.effect("settles payments that our client had signed by tronweb and by a key", () =>
      Effect.gen(function* () {
        const { accounts, network, rpcUrl } = yield* TronTestChain.TronTestChain
        const requirements = yield* Payment.requirements
        const scheme = yield* Payment.schemeFacilitator()
        const { privateKey } = accounts.payers[0]
        for (const signer of [TronSigner.fromTronWeb(tronWebOf(privateKey)), localSigner(privateKey)]) {
          const client = exactTron.client({ signer, network, rpcUrl })
          const asset = yield* Effect.fromNullishOr(client.asset(requirements))
          const now = Math.floor(Number((yield* (yield* Payment.rpc).head).time) / 1000)
          const { payload } = yield* client.sign({
            requirements,
            asset,
            validAfter: 0,
            validBefore: now + 60,
            binding: undefined
          })
          const one = yield* scheme.read(requirements, payload)
          yield* scheme.verify(one)
          const prepared = yield* Payment.prepare(scheme, one)
          const [{ inclusion, seen }, gained] = yield* Payment.gain(
            Effect.andThen(scheme.submit(prepared), Payment.observe(scheme, one, prepared))
          )
          assert.deepStrictEqual([seen, gained, inclusion?.cost], ["Settled", 10_000n, 0n])
        }
      })
    )

    it.effect("reads a recorded payment in a token that is no longer in the table, and concludes it", () =>
      Effect.gen(function* () {
        const { accounts } = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.schemeFacilitator()
        const request = yield* Payment.payment()
        const one = yield* Payment.read(scheme, request)
        const json = yield* Effect.fromResult(PaymentPayload.openPayload(request.paymentPayload))
        const recall = scheme.recall ?? assert.fail("payments can be recalled")
        const recalled = yield* recall(request.paymentRequirements, json)
        assert.deepStrictEqual(recalled.authorization, one.authorization)
        const prepared = yield* Payment.prepare(scheme, one)
        yield* scheme.submit(prepared)
        assert.strictEqual((yield* Payment.end(scheme, recalled, prepared)).seen, "Settled")
        const gone = { ...request.paymentRequirements, asset: accounts.deployer.address }
        const refused = yield* Payment.outcome(scheme.read(gone, json))
        assert.strictEqual(refused, "asset_mismatch asset_not_settled")
        assert.strictEqual((yield* recall(gone, json)).authorization.nonce, one.authorization.nonce)
      })
    )

    it.effect("settles fifty payers' payments at once, each once", () =>
      Effect.gen(function* () {
        const { settle } = yield* Payment.facilitator()
        const { accounts } = yield* TronTestChain.TronTestChain
        const requests = yield* Effect.forEach(accounts.payers.slice(10), (payer) => Payment.payment({ payer }))
        const settling = Effect.forEach(requests, (request) => Payment.settled(settle(request)), {
          concurrency: "unbounded"
        })
        const [states, gained] = yield* Payment.gain(settling)
        assert.strictEqual(states.length, 50)
        assert.deepStrictEqual(new Set(states), new Set(["included"]))
        assert.strictEqual(gained, 500_000n)
      })
    )

    it.effect("settles twenty copies of a payment once", () =>
      Effect.gen(function* () {
        const { settle } = yield* Payment.facilitator()
        const request = yield* Payment.payment()
        const copies = Array.from({ length: 20 }, (_, index) =>
          Payment.outcome(settle(request, Payment.claim(`${index}`)))
        )
        const [outcomes, gained] = yield* Payment.gain(Effect.all(copies, { concurrency: "unbounded" }))
        assert.deepStrictEqual(new Set(outcomes), new Set(["ok"]))
        assert.strictEqual(gained, 10_000n)
      })
    )

    it.effect("reports a transfer that ran out of energy after the node had accepted it", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const { settle } = yield* Payment.facilitator()
        const request = yield* Payment.payment({ payer: yield* Payment.payerAt(2) })
        const [outcome, gained] = yield* Payment.gain(
          manually(
            Effect.gen(function* () {
              const settling = yield* Effect.forkChild(Payment.outcome(settle(request)))
              yield* waiting(1)
              yield* chain.setEnergyFactor(chain.token.address, 1_000_000n)
              yield* chain.mine(Payment.solidified)
              yield* chain.setMining("instant")
              yield* chain.mine()
              return yield* Fiber.join(settling)
            })
          )
        )
        yield* chain.setEnergyFactor(chain.token.address, 0n)
        assert.deepStrictEqual([outcome, gained], ["INSUFFICIENT_BALANCE out_of_energy", 0n])
      })
    )

    it.effect("does not settle a transfer from which the token kept a fee", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.schemeFacilitator()
        const one = yield* Payment.read(scheme, yield* Payment.payment({ payer: yield* Payment.payerAt(3) }))
        yield* scheme.verify(one)
        const prepared = yield* Payment.prepare(scheme, one)
        const setFee = (points: bigint) =>
          chain.call({ signature: "setParams(uint256,uint256)", parameters: [points, 1_000_000n] })
        yield* setFee(10n)
        const [, gained] = yield* Payment.gain(scheme.submit(prepared))
        yield* setFee(0n)
        yield* Payment.observe(scheme, one, prepared)
        yield* chain.mine(Payment.solidified)
        const { inclusion, seen } = yield* Payment.end(scheme, one, prepared)
        assert.deepStrictEqual([seen, gained], ["INVALID_RECIPIENT transfer_effect", 9_990n])
        assert.strictEqual(inclusion?.transaction, prepared.transaction)
      })
    )

    it.effect("does not settle a transfer that reverts in its block", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const payer = yield* Payment.payerAt(1)
        const scheme = yield* Payment.schemeFacilitator()
        const one = yield* Payment.read(scheme, yield* Payment.payment({ payer }))
        yield* scheme.verify(one)
        const prepared = yield* Payment.prepare(scheme, one)
        yield* chain.call({ signature: "addBlackList(address)", parameters: [payer.address] })
        const [submission, gained] = yield* Payment.gain(scheme.submit(prepared))
        assert.deepStrictEqual([submission._tag, gained], ["Accepted", 0n])
        const isPending = Effect.gen(function* () {
          assert.deepInclude(yield* Payment.observe(scheme, one, prepared), { inclusion: undefined, seen: "Pending" })
        })
        yield* isPending
        yield* chain.mine(Payment.solidified - 2)
        yield* isPending
        yield* chain.mine()
        const { inclusion, seen, word } = yield* Payment.end(scheme, one, prepared)
        assert.strictEqual(seen, "INSUFFICIENT_BALANCE reverted")
        assert.match(word, /REVERT/)
        assert.strictEqual(inclusion?.transaction, prepared.transaction)
        const observedPayment = { payment: one, since: prepared.head }
        assert.strictEqual((yield* scheme.conclude(observedPayment))._tag, "Pending")
        yield* chain.advance(61_000)
        yield* chain.mine(Payment.solidified)
        assert.strictEqual((yield* scheme.conclude(observedPayment))._tag, "Pending")
        yield* chain.mine()
        assert.strictEqual((yield* scheme.conclude(observedPayment))._tag, "Unused")
      })
    )

    it.effect("prepares the payer's bytes unchanged, and nothing without a payment", () =>
      Effect.gen(function* () {
        const scheme = yield* Payment.schemeFacilitator()
        const request = yield* Payment.payment()
        const one = yield* Payment.read(scheme, request)
        const { bytes, cost, slot, transaction } = yield* Payment.prepare(scheme, one)
        assert.deepStrictEqual([cost, slot, transaction], [0n, undefined, one.authorization.nonce])
        assert.strictEqual(
          TronTransaction.id(TronTransaction.rawInside(bytes) ?? new Uint8Array(0)),
          one.authorization.nonce
        )
        const chainHead = yield* scheme.chainHead
        assert.strictEqual((yield* Effect.flip(scheme.prepare([], undefined, chainHead)))._tag, "Misconfigured")
        const { noop } = scheme
        const refused = yield* Effect.flip(noop({ lane: "", number: 0n }, chainHead))
        assert.strictEqual(refused._tag, "Misconfigured")
        assert.deepStrictEqual(yield* scheme.signers, [])
      })
    )
  })
})
