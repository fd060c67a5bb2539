import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import * as FacilitatorByUrl from "../../../src/facilitator/x402/FacilitatorByUrl.ts"
import * as ServerSchemeRegistry from "../../../src/scheme/ServerSchemeRegistry.ts"
import * as TestLedger from "../../../src/testing/ledger/TestLedger.ts"
import * as TestScheme from "../../../src/testing/ledger/TestScheme.ts"
import * as FacilitatorStub from "../FacilitatorStub.ts"
import { claim, pay, start } from "../LedgerShop.ts"
import * as X402FacilitatorStub from "../X402FacilitatorStub.ts"

const schemes = ServerSchemeRegistry.layer([TestScheme.server(TestLedger.make())])
const ours = { protocolVersion: 2, scheme: "exact", network: "ledger:test" } as const
const settlement = {
  success: true,
  paymentId: "pay_0123456789abcdefghijkl",
  status: "included",
  execution: "granted",
  transaction: "tx-1",
  network: "ledger:test",
  payer: "acct-alice",
  payTo: "acct-shop",
  asset: "acct-dollar",
  amount: "10000"
}

const opened = Effect.fnUntraced(function* (supported: unknown, status = 200) {
  yield* TestClock.setTime(start)
  const stub = yield* FacilitatorStub.make((request, response) =>
    FacilitatorStub.json(
      ...(request.url === "/supported" ? ([supported, status] as const) : ([settlement, 200] as const))
    )(request, response)
  )
  return { stub, facilitator: yield* FacilitatorByUrl.make({ url: stub.url }).pipe(Effect.provide(schemes)) }
})

describe("a facilitator known by its address", () => {
  const both = [
    { ...ours, x402Version: 2 },
    { x402Version: 1, scheme: "exact", network: "base" }
  ]
  for (const [name, kinds] of Object.entries({ ours: [ours], "ours beside others": both })) {
    it.effect(`is spoken to in our words when its kinds are ${name}`, () =>
      Effect.gen(function* () {
        const { facilitator, stub } = yield* opened({ kinds, signers: {} })
        const request = yield* pay()
        assert.strictEqual((yield* facilitator.settle(request, claim("one"))).execution, "granted")
        yield* facilitator.settle(request, claim("one"))
        assert.deepStrictEqual(
          stub.seen.map(({ url }) => url),
          ["/supported", "/settle", "/settle"]
        )
        assert.deepStrictEqual(JSON.parse(stub.seen[1]?.body ?? "").claim, claim("one"))
        assert.deepStrictEqual(
          (yield* facilitator.supported).kinds.map(({ network }) => network),
          ["ledger:test"]
        )
      })
    )
  }

  it.effect("is spoken to in its own words when its kinds are of another protocol", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const stub = yield* X402FacilitatorStub.make()
      const facilitator = yield* FacilitatorByUrl.make({ url: stub.url }).pipe(Effect.provide(schemes))
      assert.deepStrictEqual((yield* facilitator.supported).kinds, [ours])
      const request = yield* pay()
      const { execution, paymentId } = yield* facilitator.settle(request, claim("one"))
      assert.strictEqual(execution, "granted")
      assert.strictEqual((yield* facilitator.claim(request, claim("two"))).execution, "held")
      yield* facilitator.finish(paymentId, claim("one").id, "served")
      assert.deepInclude(yield* facilitator.payment(paymentId), { execution: "served" })
      assert.deepStrictEqual(yield* facilitator.verify(yield* pay()), { payer: "acct-alice" })
      assert.deepStrictEqual(
        stub.seen.map(({ url }) => url),
        ["/supported", "/verify", "/settle", "/verify"]
      )
    })
  )

  for (const kinds of [[], [ours]]) {
    it.effect(`stays what it was found to be, with its claims, when it says ${JSON.stringify(kinds)} later`, () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(start)
        let said: ReadonlyArray<unknown> = [X402FacilitatorStub.kind]
        const stub = yield* FacilitatorStub.make((request, response) => {
          const settled = { success: true, transaction: "tx-1", network: "ledger:test" }
          const verdict = request.url === "/verify" ? { isValid: true } : settled
          FacilitatorStub.json(request.url === "/supported" ? { kinds: said, signers: {} } : verdict)(request, response)
        })
        const facilitator = yield* FacilitatorByUrl.make({ url: stub.url }).pipe(Effect.provide(schemes))
        const request = yield* pay()
        const { paymentId } = yield* facilitator.settle(request, claim("one"))
        said = kinds
        assert.strictEqual((yield* Effect.flip(facilitator.supported))._tag, "FacilitatorUnavailable")
        assert.strictEqual((yield* facilitator.settle(request, claim("two"))).execution, "held")
        yield* facilitator.finish(paymentId, claim("one").id, "served")
        assert.strictEqual((yield* facilitator.settle(request, claim("three"))).execution, "spent")
        assert.strictEqual((yield* facilitator.settle(yield* pay(), claim("four"))).execution, "granted")
      })
    )
  }

  const unclear: ReadonlyArray<readonly [unknown, number]> = [
    [{ kinds: [ours], signers: {} }, 503],
    [{ kinds: [X402FacilitatorStub.kind] }, 500],
    [{ kinds: [{ scheme: "exact" }] }, 200],
    [{ error: "starting" }, 200],
    [[], 200],
    [{ kinds: [], signers: {} }, 200],
    [{ kinds: [], extensions: [], signers: {} }, 200],
    [{ kinds: [{ ...ours, protocolVersion: 3 }], signers: {} }, 200],
    [{ kinds: [{ ...X402FacilitatorStub.kind, x402Version: 7 }] }, 200],
    [{ kinds: [null, "exact", 2], signers: {} }, 200]
  ]
  for (const [supported, status] of unclear) {
    it.effect(`is not asked for anything while it answers ${status} ${JSON.stringify(supported)}`, () =>
      Effect.gen(function* () {
        const { facilitator, stub } = yield* opened(supported, status)
        const failure = yield* Effect.result(facilitator.settle(yield* pay(), claim("one")))
        assert.deepInclude(Result.getOrThrow(Result.flip(failure)), { _tag: "FacilitatorUnavailable" })
        assert.isTrue(Result.isFailure(yield* Effect.result(facilitator.supported)))
        assert.strictEqual(stub.seen.filter(({ url }) => url !== "/supported").length, 0)
      })
    )
  }

  for (const [first, then] of [
    [ours, X402FacilitatorStub.kind],
    [X402FacilitatorStub.kind, ours]
  ] as const) {
    it.effect(`is known by what it names first, after it has named nothing: ${JSON.stringify(first)}`, () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(start)
        let said: ReadonlyArray<unknown> = []
        const stub = yield* FacilitatorStub.make((request, response) =>
          FacilitatorStub.json({ kinds: said, signers: {} })(request, response)
        )
        const facilitator = yield* FacilitatorByUrl.make({ url: stub.url }).pipe(Effect.provide(schemes))
        assert.include((yield* Effect.flip(facilitator.supported)).message, "names no known kind of payments")
        said = [first]
        assert.strictEqual((yield* facilitator.supported).kinds.length, 1)
        said = [then]
        assert.include(
          (yield* Effect.flip(facilitator.supported)).message,
          "names kinds of another protocol than before"
        )
        said = [first]
        assert.strictEqual((yield* facilitator.supported).kinds.length, 1)
      })
    )
  }

  it.effect("has to have an address", () =>
    Effect.gen(function* () {
      const made = yield* Effect.result(FacilitatorByUrl.make({ url: "facilitator" }).pipe(Effect.provide(schemes)))
      assert.deepInclude(Result.getOrThrow(Result.flip(made)), { _tag: "Misconfigured" })
    })
  )
})
