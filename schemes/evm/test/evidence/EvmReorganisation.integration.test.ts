/** Blocks that are reorganised. `included` is the end in this version: a reported result stands, and nothing is paid twice. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { EvmTestChain } from "../../src/testing/index.ts"
import * as Payment from "../EvmTestPayment.ts"

const chain = EvmTestChain.EvmTestChain

describe("a reorganisation", () => {
  layer(EvmTestChain.layer({ payers: 2 }), { excludeTestServices: true })((it) => {
    it.effect("that takes back a transfer: it is pending again, and the same bytes pay it, once", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, reorg } = yield* chain
        const schemeFacilitator = yield* Payment.scheme(yield* chain)
        const before = yield* balanceOf(accounts.payee.address)
        const signed = yield* Payment.signedPayment()
        const payment = yield* Payment.read(schemeFacilitator, signed.request)
        const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
        const settled = yield* Payment.sendAlone(schemeFacilitator, payment, prepared)
        assert.strictEqual(settled._tag, "Settled")
        yield* reorg(1)
        assert.strictEqual(yield* balanceOf(accounts.payee.address), before)
        assert.deepStrictEqual(yield* Payment.observeAlone(schemeFacilitator, payment, prepared), {
          inclusion: undefined,
          observation: { _tag: "Pending" }
        })
        const again = yield* Payment.sendAlone(schemeFacilitator, payment, prepared)
        assert.strictEqual(again._tag === "Settled" && again.transaction, prepared.transaction)
        assert.deepStrictEqual(yield* schemeFacilitator.submit(prepared), { _tag: "SlotUsed" })
        assert.strictEqual(yield* balanceOf(accounts.payee.address), before + 10_000n)
        assert.strictEqual(yield* Payment.timesUsed(signed.authorization), 1)
      })
    )

    it.effect("that takes back a reported transfer: the record stands, and a new request sends nothing", () =>
      Effect.gen(function* () {
        const { reorg } = yield* chain
        const asked: Array<string> = []
        const facilitator = yield* Payment.facilitator({ onRequest: (method) => void asked.push(method) })
        const { authorization, request } = yield* Payment.signedPayment(Payment.bound())
        const id = yield* Payment.idOf(request)
        const settle = (claim: string) => Payment.settled(facilitator.settle(request, Payment.claim(claim)))
        const first = yield* settle("one")
        assert.isObject(first)
        yield* facilitator.finish(id, Payment.claim("one").id, "failed")
        yield* reorg(1)
        asked.length = 0
        assert.deepStrictEqual(yield* settle("two"), first)
        assert.deepStrictEqual(asked, [])
        assert.strictEqual((yield* facilitator.payment(id))?.status, "included")
        assert.strictEqual(yield* Payment.timesUsed(authorization), 0)
      })
    )
  })
})
