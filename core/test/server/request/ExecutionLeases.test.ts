import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import { FacilitatorUnavailable } from "../../../src/protocol/ProtocolError.ts"
import * as ExecutionLeases from "../../../src/server/request/ExecutionLeases.ts"
import * as FakeFacilitator from "../FakeFacilitator.ts"

const claimOf = (id: string) => ({ claim: { id, resource: "a report" }, paymentId: `pay_${id}` })
const request = {} as ExecutionLeases.GrantedClaim["request"]
const silent = new FacilitatorUnavailable({ message: "nobody answers" })

describe("claims whose asking got no response", () => {
  it.effect("are given back a thousand at a time, however many strangers leave open at a silent facilitator", () =>
    Effect.gen(function* () {
      const asked = new Set<string>()
      let isSilent = true
      const { service } = FakeFacilitator.make()
      const finish: (typeof service)["finish"] = (paymentId, claimId, outcome) =>
        Effect.suspend(() => {
          asked.add(claimId)
          return isSilent ? Effect.fail(silent) : service.finish(paymentId, claimId, outcome)
        })
      const executions = yield* ExecutionLeases.make({ ...service, finish })
      for (let index = 0; index < 3_000; index++)
        yield* ExecutionLeases.giveBack(executions, claimOf(`stranger${index}`))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(asked.size, 1_000)
      isSilent = false
      yield* TestClock.adjust("5 seconds")
      yield* ExecutionLeases.giveBack(executions, claimOf("later"))
      yield* TestClock.adjust("1 second")
      assert.isTrue(asked.has("later"))
    })
  )
})

const drawOf = (id: string) => ({ ...claimOf(id), request, paymentId: "draw-0xchannel-10", isDraw: true })
const voucher = (id: string) => ({ ...drawOf(id), amount: "10" })

describe("a served draw whose end is not reported yet", () => {
  it.effect("is known although a further window of its stream, which has the same id, is reported before", () =>
    Effect.gen(function* () {
      let isSilent = true
      const { service } = FakeFacilitator.make()
      const finish: (typeof service)["finish"] = (paymentId, claimId, outcome) =>
        Effect.suspend(() =>
          claimId === "first" && isSilent ? Effect.fail(silent) : service.finish(paymentId, claimId, outcome)
        )
      const executions = yield* ExecutionLeases.make({ ...service, finish })
      const first = yield* ExecutionLeases.start(executions, voucher("first"))
      const window = yield* ExecutionLeases.start(executions, drawOf("window"))
      yield* first.end("served", 7n)
      assert.isTrue(yield* window.finish("served", 3n))
      assert.deepStrictEqual(ExecutionLeases.servedBefore(executions, voucher("again")), { charge: 7n })
      assert.isUndefined(ExecutionLeases.servedBefore(executions, { ...voucher("dearer"), amount: "11" }))
      isSilent = false
      yield* TestClock.adjust("1 second")
      assert.isUndefined(ExecutionLeases.servedBefore(executions, voucher("later")))
    })
  )
})
