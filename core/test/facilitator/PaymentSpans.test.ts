import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"

import * as FacilitatorClient from "../../src/facilitator/remote/FacilitatorClient.ts"
import * as FacilitatorStub from "./FacilitatorStub.ts"
import * as LedgerShop from "./LedgerShop.ts"

const claim = LedgerShop.claim("run")

/** The names of a call's spans. */
const spansOf = Effect.fnUntraced(function* (call: Effect.Effect<unknown, unknown>) {
  const names: Array<string> = []
  const tracer = Tracer.make({
    span: (options) => {
      names.push(options.name)
      return new Tracer.NativeSpan(options)
    }
  })
  yield* Effect.ignore(Effect.withTracer(call, tracer))
  return names
})

describe("the steps of a payment can be traced", () => {
  it.effect("at the facilitator", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      assert.include(yield* spansOf(facilitator.claim(request, claim)), "Facilitator.claim")
      assert.include(yield* spansOf(facilitator.settle(request, { ...claim, onlyKnown: true })), "Facilitator.settle")
    })
  )

  it.effect("at who asks one over HTTP", () =>
    Effect.gen(function* () {
      const { url } = yield* FacilitatorStub.make(FacilitatorStub.json({}))
      const client = yield* FacilitatorClient.make({ url })
      const request = yield* LedgerShop.pay()
      const seen = [
        yield* spansOf(client.verify(request)),
        yield* spansOf(client.settle(request, claim)),
        yield* spansOf(client.claim(request, claim)),
        yield* spansOf(client.finish("pay_0123456789abcdefghijkl", claim.id, "served"))
      ]
      const names = ["verify", "settle", "claim", "finish"].map((name) => [`FacilitatorClient.${name}`])
      assert.deepStrictEqual(seen, names)
    })
  )
})
