/** Payers whose transactions enter no block, and other payers beside them. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import { TronTestAccounts, TronTestChain } from "../../src/testing/index.ts"
import * as TronTransaction from "../../src/transfer/TronTransaction.ts"
import * as Payment from "../TronTestPayment.ts"

/** Runs an effect while blocks are made by `mine` only. */
const manually = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.flatMap(TronTestChain.TronTestChain, (chain) =>
    Effect.acquireUseRelease(
      chain.setMining("manual"),
      () => body,
      () => Effect.andThen(chain.mine(), chain.setMining("instant"))
    )
  )

/** A payer with tokens and the given sun. */
const payerWith = Effect.fnUntraced(function* (name: string, sun: bigint) {
  const chain = yield* TronTestChain.TronTestChain
  const payer = TronTestAccounts.named(name)
  yield* chain.mint(payer.address, 10_000_000n)
  yield* chain.fund(payer.address, sun)
  return payer
})

/** Waits until this many transactions are pending. */
const waiting = (expected: number) =>
  Effect.flatMap(TronTestChain.TronTestChain, (chain) =>
    Effect.repeat(Effect.andThen(Effect.yieldNow, chain.waiting), { until: ({ length }) => length === expected })
  )

const poison = Effect.fnUntraced(function* (transfer: TronTransaction.TokenTransfer) {
  const node = yield* Payment.rpc
  const { txID } = TronTransaction.unsignedTransfer(transfer)
  const forged = TronTransaction.signed(Payment.hexOf(transfer), `${"12".repeat(64)}1b`)
  assert.strictEqual((yield* node.broadcast(txID, forged)).code, "SIGERROR")
})

describe("a payer whose means cover some of its payments", () => {
  layer(TronTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("has that many pending, and the node holds none that would enter no block", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.schemeFacilitator()
        const payer = yield* payerWith("a few TRX", 8_500_000n)
        const ones = yield* Effect.forEach(Array.from({ length: 12 }), () =>
          Effect.flatMap(Payment.payment({ payer }), (request) => Payment.read(scheme, request))
        )
        // Each of them is valid by itself while none is pending.
        yield* Effect.forEach(ones, (one) => scheme.verify(one))
        const chainHead = yield* scheme.chainHead
        const prepared = yield* Effect.forEach(ones, (one) =>
          Effect.map(Effect.result(scheme.prepare([one], undefined, chainHead)), (result) =>
            result._tag === "Success" ? [{ one, prepared: result.success.prepared }] : result.failure._tag
          )
        )
        const sent = prepared.flatMap((each) => (typeof each === "string" ? [] : each))
        assert.isAtLeast(sent.length, 2)
        assert.isAtMost(sent.length, 4)
        assert.deepStrictEqual(
          new Set(prepared.filter((each) => typeof each === "string")),
          new Set(["FacilitatorUnavailable"])
        )
        const refused = ones.find((one) => sent.every((each) => each.one !== one))
        assert.isDefined(refused)
        assert.strictEqual(yield* Payment.outcome(scheme.verify(refused)), "FacilitatorUnavailable")
        yield* manually(
          Effect.gen(function* () {
            for (const each of sent) yield* scheme.submit(each.prepared)
            yield* chain.mine()
            for (const each of sent)
              assert.strictEqual((yield* Payment.end(scheme, each.one, each.prepared)).seen, "Settled")
          })
        )
        // They have ended, and the next one is judged by the remaining means.
        assert.notStrictEqual(yield* Payment.outcome(scheme.verify(refused)), "FacilitatorUnavailable")
      })
    )
  })
})

describe("payments that enter no block", () => {
  layer(TronTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("because their ids are poisoned do not keep others from the next block", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        yield* chain.setIdCache(true)
        const { settle } = yield* Payment.facilitator({
          settleTimeoutMillis: 120_000,
          maxPendingPerPayer: 3
        })
        const [honest, ...others] = chain.accounts.payers
        const poisoned = yield* Effect.forEach(
          others.slice(0, 2).flatMap((payer) => Array.from({ length: 8 }, () => payer)),
          (payer) =>
            Effect.gen(function* () {
              const transfer = yield* Payment.transfer({ payer })
              yield* poison(transfer)
              return yield* Payment.payment({ payer, transfer })
            })
        )
        yield* manually(
          Effect.gen(function* () {
            yield* Effect.forEach(poisoned, (request) => Effect.forkChild(Payment.settled(settle(request))))
            const request = yield* Payment.payment({ payer: honest })
            const settling = yield* Effect.forkChild(Payment.settled(settle(request)))
            yield* waiting(1)
            yield* chain.mine()
            assert.strictEqual(yield* Fiber.join(settling), "included")
          })
        )
        yield* chain.setIdCache(false)
      })
    )
  })
})
