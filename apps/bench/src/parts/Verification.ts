/**
 * The cost of `verify` and `settle` for the facilitator without HTTP: CPU time, and requests to the RPC.
 */
import { Facilitator, LocalFacilitator, type PaymentRequest } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import type { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as BenchPayment from "../BenchPayment.ts"
import type { Row } from "../Row.ts"

const warmUp = 100
const count = 300
const concurrency = 16

/** Both figures, over distinct payments. */
export const measure = Effect.fnUntraced(function* (chain: EvmTestChain.Shape) {
  let questions = 0
  const schemes = [
    exactEvm.facilitator({ signer: chain.accounts.signers[2], rpcUrl: chain.rpcUrl, onRequest: () => void questions++ })
  ]
  const context = yield* Layer.build(Layer.provide(LocalFacilitator.layerMemory({ schemes }), BestCrypto.layer))
  return yield* Effect.provide(
    Effect.gen(function* () {
      const facilitator = yield* Facilitator
      const payments = yield* Effect.forEach(Array.from({ length: warmUp + count }), (_, index) =>
        BenchPayment.sign(chain, index)
      )
      const over = Effect.fnUntraced(function* (use: (request: PaymentRequest) => Effect.Effect<unknown, unknown>) {
        yield* Effect.forEach(payments.slice(0, warmUp), use, { concurrency, discard: true })
        const asked = questions
        const start = process.cpuUsage()
        yield* Effect.forEach(payments.slice(warmUp), use, { concurrency, discard: true })
        const { system, user } = process.cpuUsage(start)
        return { millis: (user + system) / 1000 / count, calls: (questions - asked) / count }
      })
      const verify = yield* over(facilitator.verify)
      const settle = yield* over((request) => facilitator.settle(request))
      return [
        { name: "facilitator verify", value: verify.millis, unit: "ms CPU", note: "target at most 3" },
        {
          name: "facilitator verify: questions to the RPC",
          value: verify.calls,
          unit: "calls",
          note: "target at most 1"
        },
        { name: "facilitator settle", value: settle.millis, unit: "ms CPU", note: "verification included" },
        { name: "facilitator settle: questions to the RPC", value: settle.calls, unit: "calls" }
      ] satisfies ReadonlyArray<Row>
    }),
    context
  )
})
