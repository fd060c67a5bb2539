/** A configuration that changes between restarts, on a chain: what was signed under the earlier one has its end under the later one. */
import { assert, describe, layer } from "@effect/vitest"
import {
  FacilitatorSchemeRegistry,
  LaneLeases,
  LocalFacilitator,
  MemoryPaymentStore,
  PaymentStore,
  type PaymentRequest
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { encodeFunctionData } from "viem"

import * as EvmHex from "../../src/primitives/EvmHex.ts"
import { DollarToken, EvmTestChain } from "../../src/testing/index.ts"
import * as Batch from "../EvmTestBatch.ts"
import * as Payment from "../EvmTestPayment.ts"

const chain = EvmTestChain.EvmTestChain

type Settings = Payment.FacilitatorOptions & { readonly maximum?: number }

/** Records that outlive the processes that work on them. */
const records = Effect.gen(function* () {
  const store = yield* MemoryPaymentStore.make
  const owner = yield* Effect.scope
  let life = yield* Scope.make()
  /** The process that works on the records ends, and another one begins with these settings. */
  const start = Effect.fnUntraced(function* (settings: Settings) {
    yield* Scope.close(life, Exit.void)
    life = yield* Scope.make()
    yield* Scope.addFinalizer(owner, Scope.close(life, Exit.void))
    const schemeFacilitator = yield* Batch.scheme({ finalityDepth: 1, ...settings })
    return yield* LocalFacilitator.make({}).pipe(
      Effect.provide(FacilitatorSchemeRegistry.layer([Effect.succeed(schemeFacilitator)])),
      Effect.provideService(PaymentStore.PaymentStore, store),
      Effect.provide(LaneLeases.layerSole),
      Scope.provide(life)
    )
  })
  return { store, start, end: Effect.suspend(() => Scope.close(life, Exit.void)) }
})

type Records = Effect.Success<typeof records>

const statuses = ({ store }: Records) => Effect.map(store.page(0n, 100), (all) => all.map(({ status }) => status))

/** Waits until every record is in this state, with a block for each look. */
const allAre = Effect.fnUntraced(function* (of: Records, status: string) {
  const { mine } = yield* chain
  const look = Effect.andThen(Effect.andThen(mine(), Effect.sleep("20 millis")), statuses(of))
  return yield* Effect.repeat(look, { until: (all) => all.length > 0 && all.every((one) => one === status) })
})

/** Payments are settled by a process that ends when their transactions are in the pool; then the pool loses them. */
const interrupted = Effect.fnUntraced(function* (
  of: Records,
  settings: Settings,
  requests: ReadonlyArray<PaymentRequest>,
  pooled: number
) {
  const { drop } = yield* chain
  const facilitator = yield* of.start(settings)
  const callers = yield* Effect.forEach(requests, (request, index) =>
    Effect.forkChild(Effect.result(facilitator.settle(request, Payment.claim(`claim${index}`))))
  )
  yield* Payment.pooled(pooled)
  yield* of.end
  for (const caller of callers) yield* Fiber.interrupt(caller)
  for (const { transaction } of yield* of.store.page(0n, 100)) yield* drop(EvmHex.fromTrusted(transaction))
})

const requestsOf = (places: ReadonlyArray<number>) =>
  Effect.forEach(places, (place) =>
    Effect.flatMap(Batch.payerAt(place), (payer) =>
      Effect.map(Batch.signedBy(payer, Payment.bound()), ({ request }) => request)
    )
  )

const withoutBlocks = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { setAutomine } = yield* chain
    yield* Batch.settler
    yield* setAutomine(false)
    return yield* Effect.ensuring(body, setAutomine(true))
  })

describe("a configuration that changes between restarts", () => {
  layer(EvmTestChain.layer({ payers: 12 }), { excludeTestServices: true })((it) => {
    it.effect("lacks a token: its signed bytes are sent again, its payments end, and their buyers are served", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, deploy, send, token } = yield* chain
        const other = yield* deploy(DollarToken, [token.name, token.symbol, token.version])
        const of = yield* records
        const signed = yield* Effect.forEach([0, 1, 2], (place) =>
          Effect.flatMap(Batch.payerAt(place), (payer) =>
            Batch.signedBy(payer, place === 0 ? Payment.bound() : { ...Payment.bound(), token: other })
          )
        )
        for (const place of [1, 2]) {
          const { address } = yield* Batch.payerAt(place)
          const args = [address, 1_000_000n] as const
          yield* send({ to: other, data: encodeFunctionData({ abi: DollarToken.abi, functionName: "mint", args }) })
        }
        const requests = signed.map(({ request }) => request)
        const facilitator = yield* withoutBlocks(
          Effect.gen(function* () {
            yield* interrupted(of, { tokens: [other] }, requests, 1)
            const next = yield* of.start({})
            yield* Payment.pooled(1)
            yield* allAre(of, "final")
            return next
          })
        )
        assert.strictEqual(yield* balanceOf(accounts.payee.address, other), 20_000n)
        for (const request of requests) {
          assert.include(yield* facilitator.settle(request, Payment.claim(`claim${requests.indexOf(request)}`)), {
            status: "final",
            execution: "granted"
          })
        }
        const fresh = yield* Batch.signedBy(yield* Batch.payerAt(1), { token: other })
        assert.strictEqual(
          yield* Payment.outcome(facilitator.settle(fresh.request, Payment.claim("fresh"))),
          "asset_mismatch asset_not_settled"
        )
      })
    )

    it.effect(
      "lacks a signer: its signed transactions are included and end, and its successor signs nothing for it",
      () =>
        Effect.gen(function* () {
          const { accounts, balanceOf, client } = yield* chain
          const [gone, successor] = accounts.signers
          const before = yield* balanceOf(accounts.payee.address)
          const of = yield* records
          const requests = yield* requestsOf([3, 4, 5])
          const sent = Effect.promise(() => client.getTransactionCount({ address: successor.address }))
          const earlier = yield* sent
          const facilitator = yield* withoutBlocks(
            Effect.gen(function* () {
              yield* interrupted(of, { signer: gone }, requests, 1)
              const next = yield* of.start({ signer: successor })
              yield* Payment.pooled(1)
              yield* allAre(of, "final")
              return next
            })
          )
          assert.strictEqual(yield* sent, earlier)
          assert.strictEqual((yield* balanceOf(accounts.payee.address)) - before, 30_000n)
          assert.deepStrictEqual(yield* of.store.lanesInUse, [])
          const [first] = requests
          assert.isDefined(first)
          const again = first && (yield* facilitator.settle(first, Payment.claim("claim0")))
          assert.include(again, { status: "final", execution: "granted" })
        })
    )

    it.effect("has a lower maximum of a batch: one on its way is replaced with all of its payments", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, setNextBlockBaseFee } = yield* chain
        const before = yield* balanceOf(accounts.payee.address)
        const of = yield* records
        const requests = yield* requestsOf([6, 7, 8, 9])
        yield* withoutBlocks(
          Effect.gen(function* () {
            yield* interrupted(of, {}, requests, 1)
            yield* setNextBlockBaseFee(20_000_000_000n)
            yield* (yield* chain).mine()
            yield* of.start({ maximum: 2 })
            yield* Payment.pooled(1)
            yield* allAre(of, "final")
          })
        )
        const [transaction] = yield* of.store.page(0n, 1)
        assert.strictEqual((yield* balanceOf(accounts.payee.address)) - before, 40_000n)
        const inclusion = (yield* of.store.page(0n, 10)).map(({ transaction }) => transaction)
        assert.deepStrictEqual(new Set(inclusion), new Set([transaction?.transaction]))
      })
    )
  })
})
