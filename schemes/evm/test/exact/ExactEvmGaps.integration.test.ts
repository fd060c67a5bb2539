/** Numbers of a signer that a count has left out and the chain does not use: they are filled without an operator. */
import { assert, describe, layer } from "@effect/vitest"
import {
  FacilitatorSchemeRegistry,
  LaneLeases,
  LocalFacilitator,
  MemoryPaymentStore,
  PaymentStore
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import { EvmTestChain } from "../../src/testing/index.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as RpcProxy from "../RpcProxy.ts"

const chain = EvmTestChain.EvmTestChain

const settleOn = Effect.fnUntraced(function* (options: Payment.FacilitatorOptions) {
  const schemeFacilitator = yield* Payment.scheme(yield* chain, { finalityDepth: 1, ...options })
  const store = yield* MemoryPaymentStore.make
  const facilitator = yield* LocalFacilitator.make({}).pipe(
    Effect.provide(FacilitatorSchemeRegistry.layer([Effect.succeed(schemeFacilitator)])),
    Effect.provideService(PaymentStore.PaymentStore, store),
    Effect.provide(LaneLeases.layerSole)
  )
  return { facilitator, schemeFacilitator, store }
})

describe("a gap in a signer's numbers", () => {
  layer(EvmTestChain.layer({ payers: 4 }), { excludeTestServices: true })((it) => {
    it.effect("that a reorganisation makes is filled, and the payment behind it settles", () =>
      Effect.gen(function* () {
        const { accounts, mine, reorg, send, setAutomine } = yield* chain
        const [signer] = accounts.signers
        for (let count = 0; count < 3; count++) yield* send({ from: signer.address, to: signer.address, data: "0x" })
        const { facilitator, schemeFacilitator } = yield* settleOn({ finalityDepth: 16 })
        const [lane = ""] = schemeFacilitator.lanes
        const before = yield* schemeFacilitator.nextSlot(lane, "included")
        // The lane begins at the count that is taken back below.
        yield* facilitator.settle(yield* Payment.payment(), Payment.claim("first"))
        yield* setAutomine(false)
        yield* reorg(4)
        assert.isBelow(Number(yield* schemeFacilitator.nextSlot(lane, "included")), Number(before))
        const settling = yield* Effect.forkChild(
          facilitator.settle(
            yield* Payment.payment({
              from: accounts.payers[1]?.address ?? "",
              signer: accounts.payers[1] ?? accounts.payers[0]
            }),
            Payment.claim("behind")
          )
        )
        const blocks = Effect.andThen(mine(), Effect.sleep("100 millis"))
        yield* Effect.repeat(blocks, { until: () => settling.pollUnsafe() !== undefined })
        yield* setAutomine(true)
        assert.include(yield* Fiber.join(settling), { execution: "granted" })
        const statuses = yield* Payment.statusesOf(signer.address)
        assert.isTrue(statuses.every((status) => status === "success"))
      })
    )

    it.effect("is not made by a node that now serves another chain: its count is ignored", () =>
      Effect.gen(function* () {
        const proxy = yield* RpcProxy.make
        const { schemeFacilitator } = yield* settleOn({ rpcUrl: proxy.url })
        const [lane = ""] = schemeFacilitator.lanes
        const honest = yield* schemeFacilitator.nextSlot(lane, "included")
        proxy.spoil("eth_chainId", RpcProxy.result("0x1"))
        const error = yield* Effect.flip(schemeFacilitator.nextSlot(lane, "included"))
        assert.strictEqual(error._tag, "ChainUnavailable")
        assert.include(error.message, "now serves eip155:1")
        proxy.mend()
        assert.strictEqual(yield* schemeFacilitator.nextSlot(lane, "included"), honest)
        yield* (yield* chain).mine(2)
        assert.strictEqual(yield* schemeFacilitator.nextSlot(lane, "final"), honest)
      })
    )
  })
})
