import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import * as Network from "../../../src/protocol/Network.ts"
import type { SchemeServer } from "../../../src/scheme/SchemeServer.ts"
import { altered, claim, pay, payer, requirements } from "../LedgerShop.ts"
import { failureOf, schemeServer, open, settled } from "../X402FacilitatorShop.ts"
import * as X402FacilitatorStub from "../X402FacilitatorStub.ts"

describe("settle", () => {
  it.effect(
    "has a payment settled by one call once it is called good, in the words of version 2, without the payer's salt",
    () =>
      Effect.gen(function* () {
        const { facilitator, stub } = yield* open({ headers: { authorization: "Bearer key" } })
        const request = yield* pay()
        const answer = yield* facilitator.settle(request, claim("one"))
        assert.deepInclude(answer, { ...settled, transaction: "tx-1" })
        assert.deepStrictEqual(
          stub.seen.map(({ url }) => url),
          ["/supported", "/verify", "/settle"]
        )
        const [, , seen] = stub.seen
        assert.strictEqual(seen?.headers.authorization, "Bearer key")
        const body = JSON.parse(seen?.body ?? "")
        const accepted = {
          scheme: "exact",
          network: "ledger:test",
          amount: "10000",
          asset: requirements.asset,
          payTo: requirements.payTo,
          maxTimeoutSeconds: 60,
          extra: {}
        }
        assert.deepStrictEqual(body.paymentRequirements, accepted)
        assert.deepStrictEqual(body.paymentPayload.accepted, accepted)
        assert.strictEqual(body.paymentPayload.resource.url, requirements.resource)
        assert.strictEqual(body.x402Version, 2)
        assert.strictEqual(body.paymentPayload.x402Version, 2)
        assert.strictEqual(body.paymentPayload.payload.payer, payer)
        assert.notInclude(seen?.body, "salt")
      })
  )

  it.effect("grants one of sixteen copies at once, with one call", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const answers = yield* Effect.all(
        Array.from({ length: 16 }, (_, index) => facilitator.settle(request, claim(`copy-${index}`))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(answers.filter(({ execution }) => execution === "granted").length, 1)
      assert.strictEqual(answers.filter(({ execution }) => execution === "held").length, 15)
      assert.strictEqual(X402FacilitatorStub.count(stub, "/settle"), 1)
    })
  )

  it.effect("lets the same claim wait for the call that is under way", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const gate = Deferred.makeUnsafe<void>()
      stub.settles.push(X402FacilitatorStub.waits(gate))
      const fibers = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(facilitator.settle(request, claim("one"))))
      yield* Effect.yieldNow
      Deferred.doneUnsafe(gate, Effect.void)
      const answers = yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(
        answers.map(({ execution }) => execution),
        ["granted", "granted", "granted"]
      )
      assert.strictEqual(X402FacilitatorStub.count(stub, "/settle"), 1)
    })
  )

  it.effect("answers the same from its record, also after the authorization has expired", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const { paymentId } = yield* facilitator.settle(request, claim("one"))
      yield* facilitator.finish(paymentId, claim("one").id, "failed")
      yield* TestClock.adjust("5 minutes")
      yield* facilitator.settle(yield* pay(), claim("another"))
      assert.deepInclude(yield* facilitator.settle(request, claim("two")), { ...settled, transaction: "tx-1" })
      assert.strictEqual(X402FacilitatorStub.count(stub, "/settle"), 2)
      assert.strictEqual((yield* facilitator.settle(request, claim("three"))).execution, "held")
      assert.strictEqual((yield* facilitator.settle(request, claim("other", "elsewhere"))).execution, "conflict")
      yield* facilitator.finish(paymentId, claim("two").id, "served")
      assert.strictEqual((yield* facilitator.settle(request, claim("four"))).execution, "spent")
      assert.deepInclude(yield* facilitator.payment(paymentId), { status: "included", execution: "served", runs: 2 })
    })
  )

  it.effect("runs a paid payment again five times at most, for ten minutes, and never without its salt", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* open()
      const request = yield* pay()
      const bare = yield* pay({ bound: false })
      const run = Effect.fnUntraced(function* (one: typeof request, name: string) {
        const { execution, paymentId } = yield* facilitator.settle(one, claim(name))
        yield* Effect.ignore(facilitator.finish(paymentId, claim(name).id, "failed"))
        return execution
      })
      assert.deepStrictEqual(yield* Effect.forEach(["a", "b"], (name) => run(bare, name)), ["granted", "spent"])
      const runs = yield* Effect.forEach(["a", "b", "c", "d", "e", "f"], (name) => run(request, name))
      assert.deepStrictEqual(runs, ["granted", "granted", "granted", "granted", "granted", "spent"])
      const late = yield* pay()
      assert.strictEqual(yield* run(late, "a"), "granted")
      yield* TestClock.adjust("11 minutes")
      assert.strictEqual(yield* run(late, "b"), "spent")
    })
  )

  it.effect("fences the end of a run by its claim, and lets a silent holder lapse", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* open()
      const request = yield* pay()
      const { paymentId } = yield* facilitator.settle(request, claim("one"))
      yield* facilitator.finish(paymentId, claim("stranger").id, "failed")
      assert.strictEqual((yield* facilitator.settle(request, claim("two"))).execution, "held")
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual((yield* facilitator.settle(request, claim("two"))).execution, "granted")
      yield* facilitator.finish(paymentId, claim("one").id, "served")
      assert.deepInclude(yield* facilitator.payment(paymentId), { execution: "running" })
      const unknown = yield* failureOf(facilitator.finish(`pay_${"x".repeat(22)}`, "y".repeat(22), "served"))
      assert.deepInclude(unknown, { _tag: "ValidationError", detail: "unknown_payment" })
      assert.isUndefined(yield* facilitator.payment(`pay_${"x".repeat(22)}`))
    })
  )

  it.effect("refuses what is only for payments on record, when it is on none", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const onlyKnown = { ...claim("one"), onlyKnown: true } as const
      assert.deepInclude(yield* failureOf(facilitator.settle(request, onlyKnown)), { reason: "binding_mismatch" })
      assert.lengthOf(stub.seen, 0)
      const { paymentId } = yield* facilitator.settle(request, claim("one"))
      yield* facilitator.finish(paymentId, claim("one").id, "failed")
      assert.strictEqual((yield* facilitator.settle(request, { ...onlyKnown, ...claim("two") })).execution, "granted")
    })
  )

  it.effect("compares with the offer before anybody is asked", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const offer = request.paymentRequirements
      const cases = [
        [{ ...request, paymentRequirements: { ...offer, payTo: "acct-mallory" } }, "other_recipient"],
        [{ ...request, paymentRequirements: { ...offer, maxAmountRequired: "10001" } }, "other_amount"],
        [{ ...request, paymentRequirements: { ...offer, asset: "acct-tin" } }, "other_asset"],
        [yield* pay({ validFor: 5 }), "expired"],
        [yield* pay({ validFor: 500 }), "valid_too_long"]
      ] as const
      for (const [one, detail] of cases) {
        for (const asking of [facilitator.settle(one, claim("one")), facilitator.claim(one, claim("one"))]) {
          assert.deepInclude(yield* failureOf(asking), { detail })
        }
      }
      assert.lengthOf(stub.seen, 0)
    })
  )

  it.effect("refuses another payment under the same nonce, and one that its payer has not brought", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* open()
      const request = yield* pay()
      yield* facilitator.settle(request, claim("one"))
      const dearer = yield* altered(request, { validAfter: 1 })
      const unsalted = yield* altered(request, { binding: undefined })
      for (const other of [dearer, unsalted]) {
        const failure = yield* failureOf(facilitator.settle(other, claim("two")))
        assert.deepInclude(failure, { reason: "already_used", detail: "tx-1" })
      }
    })
  )

  it.effect("answers a caller without a claim once", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      stub.settles.push(X402FacilitatorStub.drops)
      assert.strictEqual((yield* failureOf(facilitator.settle(request)))._tag, "FacilitatorUnavailable")
      const answer = yield* facilitator.settle(request)
      assert.deepInclude(answer, { status: "included", execution: undefined })
      assert.deepInclude(yield* failureOf(facilitator.settle(request)), { reason: "already_used" })
    })
  )

  it.effect("gives an answer that is owed to one of those who wait for it", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      stub.settles.push(X402FacilitatorStub.drops)
      yield* failureOf(facilitator.settle(request))
      const answers = yield* Effect.all(
        [1, 2, 3].map(() => Effect.result(facilitator.settle(request))),
        {
          concurrency: "unbounded"
        }
      )
      assert.lengthOf(answers.filter(Result.isSuccess), 1)
      assert.strictEqual(X402FacilitatorStub.count(stub, "/settle"), 2)
    })
  )

  it.effect("knows a payment for a day, so that nobody pays anew for what was settled", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* open()
      const request = yield* pay()
      yield* facilitator.settle(request, claim("one"))
      yield* TestClock.adjust("23 hours")
      for (const id of ["two", "three", "four"]) yield* facilitator.settle(yield* pay(), claim(id))
      assert.strictEqual((yield* facilitator.settle(request, claim("again"))).execution, "spent")
      yield* TestClock.adjust("2 hours")
      for (const id of ["five", "six", "seven"]) yield* facilitator.settle(yield* pay(), claim(id))
      assert.strictEqual((yield* failureOf(facilitator.settle(request, claim("late"))))._tag, "PaymentError")
    })
  )

  it.effect("turns new payments away when there is no place, and takes them when old ones are over", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* open({ capacity: 2 })
      yield* facilitator.settle(yield* pay(), claim("one"))
      yield* facilitator.settle(yield* pay(), claim("two"))
      const failure = yield* failureOf(facilitator.settle(yield* pay(), claim("three")))
      assert.strictEqual(failure._tag, "FacilitatorUnavailable")
      assert.include(failure.message, "capacity")
      yield* TestClock.adjust("12 minutes")
      assert.strictEqual((yield* facilitator.settle(yield* pay(), claim("three"))).execution, "granted")
    })
  )
})

describe("a clear refusal", () => {
  const cases: ReadonlyArray<readonly [string, Record<string, unknown>]> = [
    ["insufficient_funds", { _tag: "PaymentError", code: "INSUFFICIENT_BALANCE" }],
    ["invalid_exact_evm_insufficient_balance", { _tag: "PaymentError", code: "INSUFFICIENT_BALANCE" }],
    ["invalid_exact_evm_signature", { _tag: "PaymentError", code: "INVALID_SIGNATURE" }],
    ["invalid_exact_evm_payload_authorization_valid_before", { _tag: "PaymentError", code: "EXPIRED_PAYMENT" }],
    ["invalid_exact_evm_recipient_mismatch", { _tag: "PaymentError", code: "INVALID_RECIPIENT" }],
    ["invalid_payload", { _tag: "ValidationError", reason: "malformed" }],
    ["invalid_exact_evm_token_name_mismatch", { _tag: "ValidationError", reason: "unsupported_authorization" }],
    ["invalid_exact_evm_nonce_already_used", { _tag: "ValidationError", reason: "already_used" }]
  ]
  for (const [word, expected] of cases) {
    for (const status of [200, 400, 422]) {
      it.effect(`${word}, with status ${status}, is one, and leaves nothing behind`, () =>
        Effect.gen(function* () {
          const { facilitator, stub } = yield* open()
          stub.settles.push(X402FacilitatorStub.says(X402FacilitatorStub.refuses(word), status))
          const request = yield* pay()
          assert.deepInclude(yield* failureOf(facilitator.settle(request, claim("one"))), expected)
          assert.deepInclude(yield* facilitator.settle(request, claim("two", "elsewhere")), settled)
        })
      )
    }
  }
})

describe("claim", () => {
  it.effect("verifies and claims, and the settlement follows", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const taken = yield* facilitator.claim(request, claim("one"))
      assert.deepInclude(taken, { status: "accepted", execution: "granted", transaction: "" })
      assert.strictEqual((yield* facilitator.claim(request, claim("two"))).execution, "held")
      assert.strictEqual((yield* facilitator.claim(request, claim("one"))).execution, "granted")
      assert.deepInclude(yield* facilitator.settle(request, claim("one")), { ...settled, transaction: "tx-1" })
      assert.deepStrictEqual(
        stub.seen.map(({ url }) => url),
        ["/supported", "/verify", "/settle"]
      )
    })
  )

  it.effect("holds the copies that arrive while the first is verified, and has no record of one that is refused", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const gate = Deferred.makeUnsafe<void>()
      const asked = Deferred.makeUnsafe<void>()
      stub.verifies.push((response) => {
        Deferred.doneUnsafe(asked, Effect.void)
        const refusal = { isValid: false, invalidReason: "invalid_exact_evm_signature" }
        X402FacilitatorStub.waits(gate)(response, () => refusal)
      })
      const first = yield* Effect.forkChild(Effect.result(facilitator.claim(request, claim("one"))))
      yield* Deferred.await(asked)
      const same = yield* Effect.forkChild(facilitator.claim(request, claim("one")))
      const held = yield* facilitator.claim(request, claim("two"))
      assert.deepInclude(held, { execution: "held", status: "accepted" })
      Deferred.doneUnsafe(gate, Effect.void)
      const refused = yield* Fiber.join(first)
      assert.deepInclude(Result.getOrThrow(Result.flip(refused)), { code: "INVALID_SIGNATURE" })
      assert.strictEqual((yield* Fiber.join(same)).execution, "granted")
      assert.strictEqual(X402FacilitatorStub.count(stub, "/verify"), 2)
    })
  )

  it.effect("runs nothing again for a payment whose settlement is in doubt, until that is settled", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const { paymentId } = yield* facilitator.claim(request, claim("one"))
      stub.settles.push(X402FacilitatorStub.dropsUndone, X402FacilitatorStub.dropsUndone)
      yield* failureOf(facilitator.settle(request, claim("one")))
      yield* facilitator.finish(paymentId, claim("one").id, "notRun")
      const doubt = yield* failureOf(facilitator.claim(request, claim("two")))
      assert.include(["SettlementPending", "FacilitatorUnavailable"], doubt._tag)
      assert.deepInclude(yield* facilitator.claim(request, claim("three")), {
        execution: "granted",
        status: "included"
      })
      assert.strictEqual(X402FacilitatorStub.count(stub, "/settle"), 3)
    })
  )

  it.effect("verifies again what was given back, and gives the run back when that fails", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const { paymentId } = yield* facilitator.claim(request, claim("one"))
      yield* facilitator.finish(paymentId, claim("one").id, "failed")
      stub.verifies.push(X402FacilitatorStub.says({ isValid: false, invalidReason: "insufficient_funds" }))
      assert.deepInclude(yield* failureOf(facilitator.claim(request, claim("two"))), { code: "INSUFFICIENT_BALANCE" })
      assert.strictEqual((yield* facilitator.claim(request, claim("three"))).execution, "granted")
    })
  )

  it.effect("keeps the record of a payment whose settlement is refused later", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const { paymentId } = yield* facilitator.claim(request, claim("one"))
      stub.settles.push(X402FacilitatorStub.says(X402FacilitatorStub.refuses("insufficient_funds")))
      const failure = yield* failureOf(facilitator.settle(request, claim("one")))
      assert.deepInclude(failure, { code: "INSUFFICIENT_BALANCE" })
      assert.deepInclude(yield* facilitator.finish(paymentId, claim("one").id, "notRun"), { execution: "free" })
    })
  )

  it.effect("does not ask for the settlement of what has expired meanwhile", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      yield* facilitator.claim(request, claim("one"))
      yield* TestClock.adjust("55 seconds")
      const failure = yield* failureOf(facilitator.settle(request, claim("one")))
      assert.deepInclude(failure, { code: "EXPIRED_PAYMENT" })
      assert.strictEqual(X402FacilitatorStub.count(stub, "/settle"), 0)
    })
  )

  const open503: Readonly<Record<string, X402FacilitatorStub.Deed>> = {
    "a dropped connection": X402FacilitatorStub.dropsUndone,
    "status 500": X402FacilitatorStub.says({ isValid: true }, 500),
    "a validity with status 400": X402FacilitatorStub.says({ isValid: true }, 400),
    "a validity with a reason": X402FacilitatorStub.says({ isValid: true, invalidReason: "insufficient_funds" }),
    "a validity of another payer": X402FacilitatorStub.says({ isValid: true, payer: "acct-mallory" }),
    "a refusal without a reason": X402FacilitatorStub.says({ isValid: false }),
    "an exception": X402FacilitatorStub.says({ isValid: false, invalidReason: "unexpected_verify_error" }),
    "another shape": X402FacilitatorStub.says({ valid: true })
  }
  for (const [name, deed] of Object.entries(open503)) {
    it.effect(`${name} is no verdict`, () =>
      Effect.gen(function* () {
        const { facilitator, stub } = yield* open()
        stub.verifies.push(deed, deed)
        const request = yield* pay()
        const failure = yield* failureOf(facilitator.claim(request, claim("one")))
        assert.strictEqual(failure._tag, "FacilitatorUnavailable")
        assert.strictEqual((yield* failureOf(facilitator.verify(request)))._tag, "FacilitatorUnavailable")
        assert.strictEqual((yield* facilitator.claim(request, claim("two"))).execution, "granted")
      })
    )
  }
})

describe("verify", () => {
  it.effect("changes nothing, and knows what was settled here", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      assert.deepStrictEqual(yield* facilitator.verify(request), { payer })
      const { paymentId } = yield* facilitator.settle(request, claim("one"))
      assert.deepInclude(yield* failureOf(facilitator.verify(request)), { reason: "already_used" })
      assert.strictEqual(X402FacilitatorStub.count(stub, "/verify"), 2)
      assert.deepInclude(yield* facilitator.payment(paymentId), { status: "included", transaction: "tx-1" })
    })
  )

  it.effect("refuses by a word that nobody knows", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      stub.verifies.push(X402FacilitatorStub.says({ isValid: false, invalidReason: "payer_on_list" }, 400))
      const failure = yield* failureOf(facilitator.verify(yield* pay()))
      assert.deepInclude(failure, { reason: "unsupported_authorization", detail: "payer_on_list" })
    })
  )
})

describe("the version that is spoken", () => {
  const sepolia = Network.make("eip155:84532")
  const evm: SchemeServer = {
    ...schemeServer,
    network: sepolia,
    scheme: { ...schemeServer.scheme, family: "eip155", network: (text) => (text === sepolia ? sepolia : undefined) }
  }
  const v1 = { x402Version: 1, scheme: "exact", network: "base-sepolia" }
  const v2 = { x402Version: 2, scheme: "exact", network: sepolia }
  const spoken = Effect.fnUntraced(function* (...kinds: ReadonlyArray<unknown>) {
    const { facilitator, stub } = yield* open({ schemes: [evm] })
    stub.supported = { kinds }
    const { paymentPayload, paymentRequirements } = yield* pay()
    const answer = yield* facilitator.settle(
      {
        paymentPayload: { ...paymentPayload, network: sepolia },
        paymentRequirements: { ...paymentRequirements, network: sepolia }
      },
      claim("one")
    )
    assert.deepInclude(answer, { ...settled, network: sepolia, transaction: "tx-1" })
    return JSON.parse(stub.seen.at(-1)?.body ?? "")
  })

  it.effect("is 1, with its names of networks, where there is nothing else", () =>
    Effect.gen(function* () {
      const body = yield* spoken(v1)
      const { payload, ...payment } = body.paymentPayload
      assert.strictEqual(body.x402Version, 1)
      assert.deepStrictEqual(payment, { x402Version: 1, scheme: "exact", network: "base-sepolia" })
      assert.strictEqual(payload.payer, payer)
      assert.deepInclude(body.paymentRequirements, {
        network: "base-sepolia",
        maxAmountRequired: "10000",
        resource: requirements.resource,
        description: "",
        mimeType: ""
      })
    })
  )

  it.effect("is 2 where it can be", () =>
    Effect.gen(function* () {
      for (const kinds of [[v1, v2], [v2, v1], [v2]]) {
        const body = yield* spoken(...kinds)
        assert.strictEqual(body.x402Version, 2)
        assert.strictEqual(body.paymentRequirements.network, sepolia)
      }
    })
  )
})

const either = (text: string) => (text === "eip155:1" || text === "eip155:2" ? Network.make(text) : undefined)

describe("a shop on two networks of one family", () => {
  it.effect("has each payment read by the scheme server of its network", () =>
    Effect.gen(function* () {
      const scheme = { ...schemeServer.scheme, network: either }
      const one = {
        ...schemeServer,
        scheme,
        network: Network.make("eip155:1"),
        read: () => Effect.die("of another network")
      }
      const two = { ...schemeServer, scheme, network: Network.make("eip155:2") }
      const { facilitator, stub } = yield* open({ schemes: [one, two] })
      stub.supported = { kinds: [{ ...X402FacilitatorStub.kind, network: "eip155:2" }] }
      const { paymentPayload, paymentRequirements } = yield* pay()
      const request = {
        paymentPayload: { ...paymentPayload, network: "eip155:2" },
        paymentRequirements: { ...paymentRequirements, network: two.network }
      }
      assert.deepInclude(yield* facilitator.settle(request, claim("one")), { ...settled, network: "eip155:2" })
    })
  )
})

describe("supported", () => {
  it.effect("tells the kinds in our words, and what cannot be sold from here", () =>
    Effect.gen(function* () {
      const { read: _, ...unread } = schemeServer
      const { facilitator, stub } = yield* open({ schemes: [unread] })
      stub.supported = {
        kinds: [
          X402FacilitatorStub.kind,
          { ...X402FacilitatorStub.kind, network: "eip155:1", extra: { feePayer: "x" } },
          { x402Version: 3 }
        ],
        extensions: ["bazaar"],
        signers: { "eip155:*": ["0x1"] }
      }
      const { kinds, signers } = yield* facilitator.supported
      assert.deepStrictEqual(signers, { "eip155:*": ["0x1"] })
      assert.deepStrictEqual(kinds[1], {
        protocolVersion: 2,
        scheme: "exact",
        network: "eip155:1",
        extra: { feePayer: "x" }
      })
      assert.lengthOf(kinds, 2)
      assert.include(kinds[0]?.obstacle, "ledger:test")
      const failure = yield* failureOf(facilitator.settle(yield* pay(), claim("one")))
      assert.deepInclude(failure, { code: "NETWORK_MISMATCH" })
    })
  )

  it.effect("is asked before the first call, until it answers", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      stub.supported = { error: "starting" }
      const request = yield* pay()
      assert.strictEqual((yield* failureOf(facilitator.settle(request, claim("one"))))._tag, "FacilitatorUnavailable")
      assert.strictEqual(X402FacilitatorStub.count(stub, "/settle"), 0)
      stub.supported = { kinds: [] }
      assert.include((yield* failureOf(facilitator.settle(request, claim("one")))).message, "does not settle")
      assert.strictEqual(X402FacilitatorStub.count(stub, "/settle"), 0)
    })
  )
})
