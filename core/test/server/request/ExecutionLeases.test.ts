import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import { FacilitatorUnavailable } from "../../../src/protocol/ProtocolError.ts"
import * as ExecutionLeases from "../../../src/server/request/ExecutionLeases.ts"
import * as FakeFacilitator from "../FakeFacilitator.ts"

const claimOf = (id: string) => ({ claim: { id, resource: "a report" }, paymentId: `pay_${id}` })
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
