/**
 * The ends of runs, told to the service over HTTP while answers are lost, beside the same ends told one by one.
 */
import { assert, describe, it } from "@effect/vitest"
import { Facilitator, FacilitatorClient, LocalFacilitator, PaymentStore } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as fc from "fast-check"

import * as FacilitatorServer from "../src/api/FacilitatorServer.ts"
import * as TestFacilitator from "./TestFacilitator.ts"

const count = 6
const idOf = (index: number) => `pay_${`${index}`.padStart(22, "0")}`
const claimOf = (index: number) => ({ ...TestFacilitator.claim, id: `claim${index}`.padEnd(22, "x") })

/** A facilitator with a number of executions under way, each of another payer. */
const Runs = Effect.gen(function* () {
  const context = yield* Layer.build(
    LocalFacilitator.layerMemory({ schemes: [Effect.succeed(TestFacilitator.schemeWith(Effect.succeed([])))] }).pipe(
      Layer.provideMerge(Layer.succeed(Metric.MetricRegistry, new Map())),
      Layer.provideMerge(Logger.layer([]))
    )
  )
  const store = Context.get(context, PaymentStore.PaymentStore)
  for (let index = 0; index < count; index++) {
    const { authorization, caller, notify, payload, requirements } = TestFacilitator.stored
    const payer = `0x${`${index}`.padStart(40, "0")}`
    const payment = { paymentId: idOf(index), authorization: { ...authorization, payer }, requirements }
    yield* store.claim({ ...payment, caller, notify, payload }, claimOf(index))
  }
  return { context, facilitator: Context.get(context, Facilitator) }
})

interface Told {
  /** One of the executions, or beyond them of an unknown payment. */
  readonly run: number
  readonly isHolder: boolean
}

/** Every run ends in one way, whoever tells it however often. */
const outcomes = ["served", "failed", "notRun"] as const
const tell = (facilitator: Facilitator["Service"], { isHolder, run }: Told) =>
  facilitator.finish(idOf(run), claimOf(isHolder ? run : run + 1).id, outcomes[run % 3] ?? "served")

const standings = (facilitator: Facilitator["Service"]) =>
  Effect.forEach([...Array(count).keys()], (index) =>
    Effect.map(facilitator.payment(idOf(index)), (record) => [record?.execution, record?.runs])
  )

const known = (answer: Result.Result<{ readonly paymentId: string }, { readonly _tag: string }>) =>
  Result.match(answer, { onSuccess: ({ paymentId }) => paymentId, onFailure: ({ _tag }) => _tag })

describe("the ends of runs over HTTP", () => {
  const tellings = fc.array(fc.record({ run: fc.nat({ max: count }), isHolder: fc.boolean() }), { maxLength: 30 })
  const losses = fc.infiniteStream(fc.nat({ max: 3 }))

  it("are kept as if each had been told once and alone, whatever answers are lost", { timeout: 900_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(tellings, losses, (told, lost) =>
        Effect.runPromise(
          Effect.scoped(
            Effect.gen(function* () {
              const alone = yield* Runs
              const expected = yield* Effect.forEach(told, (one) => Effect.result(tell(alone.facilitator, one)))

              const served = yield* Runs
              const { url } = yield* Effect.provide(FacilitatorServer.serve({ port: 0 }), served.context)
              const client = yield* FacilitatorClient.make({ url, fetch: losing(lost) })
              const answers = yield* Effect.forEach(
                told,
                (one) => Effect.result(Effect.retry(tell(client, one), retrying)),
                { concurrency: "unbounded" }
              )
              assert.deepStrictEqual(answers.map(known), expected.map(known))
              assert.deepStrictEqual(yield* standings(served.facilitator), yield* standings(alone.facilitator))
            })
          )
        )
      ),
      { numRuns: 40 }
    )
  })
})

const retrying = {
  schedule: Schedule.spaced("1 millis"),
  while: ({ _tag }: { readonly _tag: string }) => _tag === "FacilitatorUnavailable"
}

/** One in four calls is answered, but its response is lost. */
const losing =
  (lost: Iterator<number>): typeof globalThis.fetch =>
  async (input, init) => {
    const answer = await fetch(input, init)
    if (lost.next().value !== 0) return answer
    await answer.arrayBuffer()
    throw new TypeError("the connection was reset")
  }
