/** A service whose clock is not its chain's, and one whose node is of another branch: it says so, judges nothing, and goes on when it is mended. */
import { assert, describe, it } from "@effect/vitest"
import { FacilitatorClient, IntakeGate, LocalFacilitator } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Result from "effect/Result"

import * as FacilitatorServer from "../src/api/FacilitatorServer.ts"
import * as SwitchedNode from "./SwitchedNode.ts"
import * as TestPayment from "./TestPayment.ts"

const finalityDepth = 2

const open = Effect.gen(function* () {
  const chain = yield* EvmTestChain.make({ payers: 3 })
  const node = yield* SwitchedNode.make(chain.rpcUrl)
  const logged: Array<string> = []
  const intake = IntakeGate.make()
  const scheme = exactEvm.facilitator({
    signer: chain.accounts.signers[0],
    rpcUrl: node.url,
    assets: [{ ...chain.token, network: chain.network }],
    finalityDepth
  })
  const local = LocalFacilitator.layerMemory({ schemes: [scheme], intake, settleTimeoutMillis: 20_000, drainMillis: 0 })
  const log = Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))])
  const inside = Layer.mergeAll(local, Layer.succeed(Metric.MetricRegistry, new Map()), log)
  const context = yield* Layer.build(inside)
  const running = yield* Effect.provide(FacilitatorServer.serve({ port: 0, intake }), context)
  const client = yield* FacilitatorClient.make({ url: running.url })
  const ready = Effect.promise(async () => {
    const answer = await fetch(`${running.url}/ready`)
    return { status: answer.status, text: await answer.text() }
  })
  /** Readiness looks again two seconds after its last look: it is asked until it has. */
  const until = (status: number) =>
    Effect.repeat(Effect.andThen(Effect.sleep("50 millis"), ready), { until: (answer) => answer.status === status })
  const pay = Effect.fnUntraced(function* (payer: number) {
    const { paymentPayload, paymentRequirements } = yield* TestPayment.sign(chain, payer)
    const end = yield* Effect.result(client.settle({ paymentPayload, paymentRequirements }, undefined))
    return Result.isSuccess(end) ? end.success : end.failure
  })
  return { chain, client, logged, node, pay, ready, until }
})

describe("a service", () => {
  for (const [name, seconds] of [
    ["behind", 300],
    ["ahead of", -300]
  ] as const) {
    it.live(
      `whose clock is 300 seconds ${name} its chain's says so with both times, and takes nothing until it is right`,
      () =>
        Effect.gen(function* () {
          const { logged, node, pay, until } = yield* open
          yield* until(200)
          node.shiftBy(seconds)
          const { text } = yield* until(503)
          const words = new RegExp(
            `this machine's clock \\(20\\S+Z\\) is (29\\d|30\\d) seconds ${name} the time of eip155:31337`
          )
          assert.match(text, words)
          const refused = yield* pay(0)
          assert.notProperty(refused, "status")
          assert.include(["FacilitatorUnavailable", "ChainUnavailable"], "_tag" in refused ? refused._tag : "")
          assert.isTrue(logged.some((line) => words.test(line)))
          node.shiftBy(0)
          yield* until(200)
          assert.deepInclude(yield* pay(0), { status: "included" })
        })
    )
  }

  it.live("whose node follows another branch than its last final payment is not ready, and takes no new ones", () =>
    Effect.gen(function* () {
      const { chain, client, node, pay, until } = yield* open
      const other = yield* EvmTestChain.make({ payers: 3 })
      yield* other.mine(20)
      const paid = yield* pay(0)
      assert.deepInclude(paid, { status: "included" })
      yield* chain.mine(finalityDepth + 1)
      const id = "paymentId" in paid ? (paid.paymentId ?? "") : ""
      yield* Effect.repeat(Effect.andThen(Effect.sleep("50 millis"), client.payment(id)), {
        until: (record) => record?.status === "final"
      })
      yield* until(200)
      node.switchTo(other.rpcUrl)
      const { text } = yield* until(503)
      assert.include(text, "follows another branch, or another chain")
      const refused = yield* pay(1)
      assert.deepInclude(refused, { _tag: "FacilitatorUnavailable" })
      node.switchTo(chain.rpcUrl)
      yield* until(200)
      assert.deepInclude(yield* pay(1), { status: "included" })
    })
  )
})
