/** The option `after`, as Next's function of that name works: it takes work in the scope of a request alone, and a body leaves outside of it. */
import { AsyncLocalStorage } from "node:async_hooks"

import { Facilitator, type Seller } from "@pontage/core"
import { HostLaws, TestScheme } from "@pontage/core/testing"
import { wrapFetch } from "@pontage/fetch"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { assert, describe, it } from "vitest"

import { paymentRoutes } from "../src/index.ts"

const scope = new AsyncLocalStorage<Array<Promise<unknown>>>()

const after = (work: Promise<unknown>): void => {
  const works = scope.getStore()
  if (works === undefined) throw new Error("`after` was called outside a request scope")
  works.push(work)
}

const isLayer = (given: Seller.SellerOptions["facilitator"]): given is Seller.FacilitatorLayer => Layer.isLayer(given)

/** A shop whose facilitator takes the report of an end once it is let to. */
const open = () => {
  const shop = HostLaws.shopForTrial()
  if (!isLayer(shop.facilitator)) return assert.fail("the facilitator of a trial is in its process")
  const ends: Array<string> = []
  const isLet = Deferred.makeUnsafe<void>()
  const told = Deferred.makeUnsafe<string>()
  const held = Effect.map(Facilitator, (real) =>
    Facilitator.of({
      ...real,
      finish: (paymentId, claimId, outcome, charge) =>
        Deferred.succeed(told, outcome).pipe(
          Effect.andThen(Deferred.await(isLet)),
          Effect.andThen(real.finish(paymentId, claimId, outcome, charge)),
          Effect.tap(() => Effect.sync(() => ends.push(outcome)))
        )
    })
  )
  const facilitator = Layer.provide(Layer.effect(Facilitator, held), shop.facilitator)
  return {
    payment: paymentRoutes({ ...shop, facilitator, after }),
    ends,
    end: () => Effect.runPromise(Deferred.await(told)),
    letReport: () => Effect.runPromise(Deferred.succeed(isLet, undefined))
  }
}

const parts = (): ReadableStream<Uint8Array> => {
  let part = 0
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        part++
        if (part > 3) controller.close()
        else controller.enqueue(new TextEncoder().encode(`part ${part}, `))
      }
    },
    { highWaterMark: 0 }
  )
}

/** Buys a response. Its body is still to be read, outside of the scope of its request. */
const buy = async (
  { payment }: ReturnType<typeof open>,
  settle: "before-handler" | "after-handler",
  { make, signal }: { readonly make: () => Response; readonly signal?: AbortSignal }
) => {
  const GET = payment.paid("GET /report", { ...HostLaws.terms, settle }, make)
  await payment.ready()
  const works: Array<Promise<unknown>> = []
  const context = { params: Promise.resolve({}) }
  const serve = (input: string | URL | Request, init?: RequestInit) =>
    scope.run(works, () => GET(new Request(input, { ...init, signal: signal ?? null }), context))
  const paying = wrapFetch(serve, { schemes: [TestScheme.client("acct-buyer")], limits: { perRequest: "$0.05" } })
  return { response: await paying("https://shop.example/report"), works }
}

/** Resolves once everything that was to run at once has run. */
const turn = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve)
  })

const bodies = [
  ["JSON", () => Response.json({ weather: "rain" }), '{"weather":"rain"}'],
  ["a stream", () => new Response(parts()), "part 1, part 2, part 3, "]
] as const

describe.each(["before-handler", "after-handler"] as const)("the option `after` (%s)", (settle) => {
  it.each(bodies)("is given work that lasts until the end of %s is reported", async (_, make, text) => {
    const trial = open()
    const { response, works } = await buy(trial, settle, { make })
    assert.strictEqual(await response.text(), text)
    assert.strictEqual(works.length, 1)
    let isOver = false
    const wait = async () => {
      await works[0]
      isOver = true
    }
    const over = wait()
    assert.strictEqual(await trial.end(), "served")
    await turn()
    assert.isFalse(isOver)
    await trial.letReport()
    await over
    assert.deepStrictEqual(trial.ends, ["served"])
    await trial.payment.close()
  })
})

describe("the option `after`", () => {
  it("is given work that lasts until the end of a response is reported whose client has left", async () => {
    const trial = open()
    const client = new AbortController()
    const { signal } = client
    const { response, works } = await buy(trial, "before-handler", { make: () => new Response(parts()), signal })
    const reader = response.body?.getReader()
    await reader?.read()
    assert.strictEqual(works.length, 1)
    client.abort()
    assert.strictEqual(await trial.end(), "failed")
    await trial.letReport()
    await Promise.all(works)
    assert.deepStrictEqual(trial.ends, ["failed"])
    await trial.payment.close()
  })

  it("that throws cuts off no paid response", async () => {
    const trial = open()
    assert.isUndefined(scope.getStore())
    const GET = trial.payment.paid("GET /report", HostLaws.terms, () => new Response("It will rain."))
    await trial.payment.ready()
    const serve = (input: string | URL | Request, init?: RequestInit) =>
      GET(new Request(input, init), { params: Promise.resolve({}) })
    const paying = wrapFetch(serve, { schemes: [TestScheme.client("acct-buyer")], limits: { perRequest: "$0.05" } })
    const response = await paying("https://shop.example/report")
    assert.strictEqual(await response.text(), "It will rain.")
    await trial.letReport()
    assert.strictEqual(await trial.end(), "served")
    await trial.payment.close()
  })
})
