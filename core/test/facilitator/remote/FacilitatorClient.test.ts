import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import { Facilitator, type Claim, type PaymentRequest } from "../../../src/facilitator/Facilitator.ts"
import * as FacilitatorClient from "../../../src/facilitator/remote/FacilitatorClient.ts"
import * as Network from "../../../src/protocol/Network.ts"
import * as FacilitatorStub from "../FacilitatorStub.ts"

const paymentId = "pay_0123456789abcdefghijkl"
const claim: Claim = { id: "AAAAAAAAAAAAAAAAAAAAAA", resource: "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB" }
const request: PaymentRequest = {
  paymentPayload: { protocolVersion: 2, scheme: "exact", network: "eip155:8453", payload: "e30=" },
  paymentRequirements: {
    scheme: "exact",
    network: Network.make("eip155:8453"),
    maxAmountRequired: "10000",
    resource: "https://shop.example/report",
    payTo: "0x1111111111111111111111111111111111111111"
  }
}
const paid = {
  success: true,
  paymentId,
  status: "included",
  execution: "granted",
  transaction: "0xabc",
  network: "eip155:8453",
  payer: "0x2222222222222222222222222222222222222222",
  payTo: "0x1111111111111111111111111111111111111111",
  asset: "0x3333333333333333333333333333333333333333",
  amount: "10000"
} as const
const { success: _, ...paidValue } = paid
const refused = { success: false, paymentId: "", status: "rejected", transaction: "", network: "eip155:8453" }
const record = {
  paymentId,
  status: "included",
  network: "eip155:8453",
  asset: "0x3333333333333333333333333333333333333333",
  payer: "0x2222222222222222222222222222222222222222",
  payTo: "0x1111111111111111111111111111111111111111",
  amount: "10000",
  transaction: "0xabc",
  execution: "running",
  runs: 1,
  history: [{ status: "accepted", at: 1 }]
} as const

type Client = Facilitator["Service"]

const asking = Effect.fnUntraced(function* <A, E>(
  answer: FacilitatorStub.Answer,
  use: (client: Client) => Effect.Effect<A, E>,
  options: Partial<FacilitatorClient.Options> = {}
) {
  const stub = yield* FacilitatorStub.make(answer)
  const client = yield* FacilitatorClient.make({ url: stub.url, ...options })
  return { stub, result: yield* Effect.result(use(client)) }
}, Effect.scoped)

const settling = (answer: FacilitatorStub.Answer, options?: Partial<FacilitatorClient.Options>) =>
  asking(answer, (client) => client.settle(request, claim), options)

const failureOf = <A, E>(result: Result.Result<A, E>): E => {
  assert.isTrue(Result.isFailure(result), "it succeeded")
  return Result.getOrThrow(Result.flip(result))
}

describe("settle", () => {
  it.effect("asks with the payment and the claim, and hands over the settlement", () =>
    Effect.gen(function* () {
      const { result, stub } = yield* settling(FacilitatorStub.json(paid), { headers: { authorization: "Bearer key" } })
      assert.deepStrictEqual(Result.getOrThrow(result), paidValue)
      const [seen] = stub.seen
      assert.strictEqual(seen?.method, "POST")
      assert.strictEqual(seen?.url, "/settle")
      assert.strictEqual(seen?.headers["content-type"], "application/json")
      assert.strictEqual(seen?.headers.authorization, "Bearer key")
      assert.deepStrictEqual(JSON.parse(seen?.body ?? ""), { protocolVersion: 2, ...request, claim })
    })
  )

  it.effect("hands over what is left of a granted execution, and names the route in the claim", () =>
    Effect.gen(function* () {
      const entitlement = { runs: 4, until: 1_800_000_000_000 }
      const routed = { ...claim, route: "CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC" }
      const answer = FacilitatorStub.json({ ...paid, entitlement })
      const { result, stub } = yield* asking(answer, (client) => client.settle(request, routed))
      assert.deepStrictEqual(Result.getOrThrow(result), { ...paidValue, entitlement })
      assert.deepStrictEqual(JSON.parse(stub.seen[0]?.body ?? ""), { protocolVersion: 2, ...request, claim: routed })
    })
  )

  it.effect("takes a response without execution when nothing was claimed", () =>
    Effect.gen(function* () {
      const { execution: _, ...unclaimed } = paid
      const answer = FacilitatorStub.json(unclaimed)
      const { result, stub } = yield* asking(answer, (client) => client.settle(request))
      assert.deepStrictEqual(Result.getOrThrow(result), { ...paidValue, execution: undefined })
      assert.notInclude(stub.seen[0]?.body, "claim")
    })
  )

  it.effect.each(["held", "spent", "conflict"] as const)("hands over the execution %s", (execution) =>
    Effect.gen(function* () {
      for (const success of [true, false]) {
        const { result } = yield* settling(FacilitatorStub.json({ ...paid, success, execution }))
        assert.deepStrictEqual(Result.getOrThrow(result), { ...paidValue, execution })
      }
    })
  )

  it.effect.each([
    "INSUFFICIENT_BALANCE",
    "INVALID_SIGNATURE",
    "EXPIRED_PAYMENT",
    "NETWORK_MISMATCH",
    "INVALID_RECIPIENT"
  ] as const)("fails with the code %s", (code) =>
    Effect.gen(function* () {
      const { result } = yield* settling(FacilitatorStub.json({ ...refused, code, detail: "why", message: "because" }))
      const failure = failureOf(result)
      assert.strictEqual(failure._tag, "PaymentError")
      assert.deepInclude(failure, { code, detail: "why", message: "because" })
    })
  )

  it.effect("fails with the reason, whatever the status when it was used already", () =>
    Effect.gen(function* () {
      const first = yield* settling(FacilitatorStub.json({ ...refused, reason: "binding_mismatch" }))
      assert.deepInclude(failureOf(first.result), { _tag: "ValidationError", reason: "binding_mismatch" })
      const used = { ...refused, status: "included", reason: "already_used" }
      const second = yield* settling(FacilitatorStub.json(used))
      assert.deepInclude(failureOf(second.result), { _tag: "ValidationError", reason: "already_used" })
    })
  )

  it.effect.each(["accepted", "planned", "sent"] as const)("is pending while the payment is %s", (status) =>
    Effect.gen(function* () {
      const { result } = yield* settling(FacilitatorStub.json({ ...paid, success: false, status }))
      const failure = failureOf(result)
      assert.deepInclude(failure, { _tag: "SettlementPending", paymentId, status, transaction: "0xabc" })
    })
  )
})

const reset: FacilitatorStub.Answer = (_, response) => response.socket?.destroy()

/** Nothing of this is a response: not a success, not a verdict, not even "pending". */
const hostile: ReadonlyArray<readonly [name: string, answer: FacilitatorStub.Answer]> = [
  ["an empty object", FacilitatorStub.json({})],
  ["null", FacilitatorStub.json(null)],
  ["a list", FacilitatorStub.json([paid])],
  ["success as text", FacilitatorStub.json({ ...paid, success: "true" })],
  ["success as number", FacilitatorStub.json({ ...paid, success: 1 })],
  ["success missing", FacilitatorStub.json(paidValue)],
  ["success by prototype", FacilitatorStub.text('{"__proto__":{"success":true},"status":"included"}')],
  ["isValid instead", FacilitatorStub.json({ isValid: true, payer: paid.payer })],
  ["an unknown status", FacilitatorStub.json({ ...paid, status: "settled" })],
  ["an unknown execution", FacilitatorStub.json({ ...paid, execution: "maybe" })],
  ["an unknown code", FacilitatorStub.json({ ...refused, code: "NO_MOOD" })],
  ["a foreign paymentId", FacilitatorStub.json({ ...paid, paymentId: "42" })],
  ["a paymentId with a line break", FacilitatorStub.json({ ...paid, paymentId: `${paymentId}\n` })],
  ["no transaction", FacilitatorStub.json({ ...paid, transaction: "" })],
  ["another network", FacilitatorStub.json({ ...paid, network: "eip155:1" })],
  ["another amount", FacilitatorStub.json({ ...paid, amount: "1" })],
  ["no amount", FacilitatorStub.json({ ...paid, amount: undefined })],
  ["an amount with a sign", FacilitatorStub.json({ ...paid, execution: "spent", amount: "-1" })],
  ["no payer", FacilitatorStub.json({ ...paid, payer: undefined })],
  ["no word about the claim", FacilitatorStub.json({ ...paid, execution: undefined })],
  ["success while pending", FacilitatorStub.json({ ...paid, status: "sent" })],
  ["success of a dead payment", FacilitatorStub.json({ ...paid, status: "failed" })],
  ["success with a code", FacilitatorStub.json({ ...paid, code: "EXPIRED_PAYMENT" })],
  ["a code for a settled payment", FacilitatorStub.json({ ...refused, status: "final", code: "EXPIRED_PAYMENT" })],
  ["a code for a payment pending", FacilitatorStub.json({ ...refused, status: "sent", code: "EXPIRED_PAYMENT" })],
  ["a code and a reason", FacilitatorStub.json({ ...refused, code: "EXPIRED_PAYMENT", reason: "malformed" })],
  ["a code with a grant", FacilitatorStub.json({ ...refused, execution: "granted", code: "EXPIRED_PAYMENT" })],
  ["failure of a settled payment", FacilitatorStub.json({ ...paid, success: false })],
  ["pending without paymentId", FacilitatorStub.json({ ...refused, status: "sent" })],
  ["HTML", FacilitatorStub.text("<h1>It works!</h1>", 200, { "content-type": "text/html" })],
  ["truncated JSON", FacilitatorStub.text(JSON.stringify(paid).slice(0, -5))],
  ["no body", FacilitatorStub.text("")],
  ["bytes that are no UTF-8", (_, response) => response.end(Buffer.from([0x7b, 0xff, 0x7d]))],
  ["204", FacilitatorStub.text("", 204)],
  ["201 with a success", FacilitatorStub.json(paid, 201)],
  ["400 with a success", FacilitatorStub.json(paid, 400)],
  ["401", FacilitatorStub.json({ error: "unauthenticated", message: "no key" }, 401)],
  ["402 with a code", FacilitatorStub.json({ ...refused, code: "EXPIRED_PAYMENT" }, 402)],
  ["403", FacilitatorStub.json({ error: "forbidden", message: "not your payee" }, 403)],
  ["404", FacilitatorStub.text("not found", 404)],
  ["409 with a reason", FacilitatorStub.json({ error: "x", message: "x", reason: "already_used" }, 409)],
  ["429", FacilitatorStub.text("slow down", 429, { "retry-after": "1" })],
  ["500 with a success", FacilitatorStub.json(paid, 500)],
  ["502 HTML", FacilitatorStub.text("<html>bad gateway</html>", 502, { "content-type": "text/html" })],
  ["503", FacilitatorStub.json({ error: "chain_unavailable", message: "down" }, 503)],
  ["a redirect", FacilitatorStub.text("", 307, { location: "/elsewhere" })],
  ["a reset", reset],
  [
    "a reset after the headers",
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "4000" })
      response.write(JSON.stringify(paid), () => response.socket?.destroy())
    }
  ],
  ["too long", FacilitatorStub.json({ ...paid, message: "x".repeat(64 * 1024) })],
  [
    "endless",
    (_, response) => {
      const more = () => void (response.writable && response.write(" ".repeat(8192), more))
      more()
    }
  ]
]

const said = (answer: FacilitatorStub.Answer) => Effect.map(settling(answer), ({ result }) => failureOf(result).message)

const overFetch = { fetch: globalThis.fetch }

describe("a response that is none", () => {
  const ways = [
    ["over the platform's client", {}],
    ["over a fetch", overFetch]
  ] as const
  const cases = ways.flatMap(([way, options]) => hostile.map(([name, answer]) => [way, name, answer, options] as const))

  it.effect.each(cases)("settle %s: %s", ([, , answer, options]) =>
    Effect.gen(function* () {
      const { result, stub } = yield* settling(answer, options)
      const failure = failureOf(result)
      assert.strictEqual(failure._tag, "FacilitatorUnavailable")
      assert.include(failure.message, "POST /settle")
      assert.include(failure.message, "Whether the payment is settled is unknown")
      assert.strictEqual(stub.seen.length, 1)
    })
  )

  it.effect("says what to check", () =>
    Effect.gen(function* () {
      const fault = FacilitatorStub.json({ error: "forbidden", message: "payee unknown" }, 403)
      assert.include(yield* said(fault), 'responded with 403, "forbidden: payee unknown"; this caller may not')
      assert.include(yield* said(FacilitatorStub.text("", 401)), "check the API key")
      assert.include(yield* said(FacilitatorStub.text("", 404)), "the facilitator's base address")
      assert.include(yield* said(FacilitatorStub.text("", 301)), "redirects are not followed")
      assert.include(yield* said(FacilitatorStub.text("", 503)), "GET /ready")
      assert.include(yield* said(reset), "ECONNRESET")
      assert.include(failureOf((yield* settling(reset, overFetch)).result).message, "UND_ERR_SOCKET")
    })
  )

  it.effect("nobody listens", () =>
    Effect.gen(function* () {
      const { url } = yield* Effect.scoped(FacilitatorStub.make(FacilitatorStub.json(paid)))
      const client = yield* FacilitatorClient.make({ url })
      const failure = yield* Effect.flip(client.settle(request, claim))
      assert.strictEqual(failure._tag, "FacilitatorUnavailable")
      assert.include(failure.message, "ECONNREFUSED")
    })
  )

  it.effect("silence ends after 30 seconds, and the call is taken back", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const closed = yield* Deferred.make<void>()
      const stub = yield* FacilitatorStub.make((_, response) => {
        response.on("close", () => Deferred.doneUnsafe(closed, Effect.void))
        Deferred.doneUnsafe(asked, Effect.void)
      })
      const client = yield* FacilitatorClient.make({ url: stub.url })
      const fiber = yield* Effect.forkChild(Effect.flip(client.settle(request, claim)))
      yield* Deferred.await(asked)
      yield* TestClock.adjust("30 seconds")
      const failure = yield* Fiber.join(fiber)
      assert.strictEqual(failure._tag, "FacilitatorUnavailable")
      assert.include(failure.message, "did not respond within 30000 ms")
      assert.include(failure.message, "send the same payment again, never a new one")
      yield* Deferred.await(closed)
    })
  )

  it.effect("a body that stalls is silence too", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const stub = yield* FacilitatorStub.make((_, response) => {
        response.writeHead(200, { "content-type": "application/json" })
        response.write("{", () => Deferred.doneUnsafe(asked, Effect.void))
      })
      const client = yield* FacilitatorClient.make({ url: stub.url, timeoutMillis: 500 })
      const fiber = yield* Effect.forkChild(Effect.flip(client.settle(request, claim)))
      yield* Deferred.await(asked)
      yield* TestClock.adjust(500)
      assert.include((yield* Fiber.join(fiber)).message, "did not respond within 500 ms")
    })
  )
})

describe("claim", () => {
  it.effect("asks /claims, and a claim taken in needs no transfer", () =>
    Effect.gen(function* () {
      const taken = { ...paid, status: "accepted", transaction: "" }
      const { result, stub } = yield* asking(FacilitatorStub.json(taken), (client) => client.claim(request, claim))
      assert.deepStrictEqual(Result.getOrThrow(result), { ...paidValue, status: "accepted", transaction: "" })
      assert.strictEqual(stub.seen[0]?.url, "/claims")
    })
  )

  it.effect("does not believe a grant for a dead payment", () =>
    Effect.gen(function* () {
      const dead = FacilitatorStub.json({ ...paid, status: "expired" })
      const { result } = yield* asking(dead, (client) => client.claim(request, claim))
      assert.strictEqual(failureOf(result)._tag, "FacilitatorUnavailable")
    })
  )
})

const verifying = (answer: FacilitatorStub.Answer) => asking(answer, (client) => client.verify(request))

describe("verify", () => {
  it.effect("hands over the payer", () =>
    Effect.gen(function* () {
      const { result, stub } = yield* verifying(FacilitatorStub.json({ isValid: true, payer: paid.payer }))
      assert.deepStrictEqual(Result.getOrThrow(result), { payer: paid.payer })
      assert.strictEqual(stub.seen[0]?.url, "/verify")
    })
  )

  it.effect("fails with the code or the reason", () =>
    Effect.gen(function* () {
      const code = yield* verifying(FacilitatorStub.json({ isValid: false, code: "INVALID_SIGNATURE" }))
      assert.deepInclude(failureOf(code.result), { _tag: "PaymentError", code: "INVALID_SIGNATURE" })
      const reason = yield* verifying(FacilitatorStub.json({ isValid: false, reason: "malformed" }))
      assert.deepInclude(failureOf(reason.result), { _tag: "ValidationError", reason: "malformed" })
    })
  )

  it.effect.each([
    { isValid: false },
    { isValid: true },
    { isValid: true, payer: paid.payer, code: "EXPIRED_PAYMENT" },
    { isValid: "true", payer: paid.payer },
    { isValid: false, code: "EXPIRED_PAYMENT", reason: "malformed" },
    { payer: paid.payer },
    {}
  ])("does not believe %j", (body) =>
    Effect.gen(function* () {
      const { result } = yield* verifying(FacilitatorStub.json(body))
      const failure = failureOf(result)
      assert.strictEqual(failure._tag, "FacilitatorUnavailable")
      assert.notInclude(failure.message, "settled is unknown")
    })
  )
})

const idOf = (index: number) => `pay_${`${index}`.padStart(22, "0")}`
const recordOf = (index: number) => ({ ...record, paymentId: idOf(index) })

/** A facilitator that answers each by itself, and a group like this. */
const answering =
  (group: FacilitatorStub.Answer): FacilitatorStub.Answer =>
  (seen, response) => {
    if (seen.url === "/payments/finish") return group(seen, response)
    return FacilitatorStub.json({ ...record, paymentId: seen.url?.split("/")[2] })(seen, response)
  }

/** The ends of a number of executions, reported at once, and the place of the reports. */
const telling = (group: FacilitatorStub.Answer, runs = 4) =>
  Effect.gen(function* () {
    const { result, stub } = yield* asking(answering(group), (client) =>
      Effect.forEach(
        Array.from({ length: runs }, (_, index) => idOf(index)),
        (id) => Effect.result(client.finish(id, claim.id, "served")),
        { concurrency: "unbounded" }
      )
    )
    return { answers: Result.getOrThrow(result), stub, urls: stub.seen.map(({ url }) => url) }
  })

describe("finishes that are made at once", () => {
  const unknown = { error: "unknown_payment", message: "nobody knows it", reason: "malformed", detail: "unknown" }

  it.effect("are the first by itself and then all the others, each with its own response", () =>
    Effect.gen(function* () {
      const { answers, stub, urls } = yield* telling(
        FacilitatorStub.json({
          answers: [
            { status: 200, body: recordOf(1) },
            { status: 404, body: unknown },
            { status: 503, body: { error: "chain_unavailable", message: "not now" } }
          ]
        })
      )
      assert.deepStrictEqual(urls, [`/payments/${idOf(0)}/finish`, "/payments/finish"])
      const runs = [1, 2, 3].map((index) => ({ paymentId: idOf(index), claimId: claim.id, outcome: "served" }))
      assert.deepStrictEqual(JSON.parse(stub.seen[1]?.body ?? ""), { runs })
      const [first, second, third, fourth] = answers
      assert.deepStrictEqual([first, second], [Result.succeed(recordOf(0)), Result.succeed(recordOf(1))])
      assert.deepInclude(third && failureOf(third), { _tag: "ValidationError", detail: "unknown" })
      const { _tag, message } = failureOf(fourth ?? assert.fail())
      assert.strictEqual(_tag, "FacilitatorUnavailable")
      assert.include(message, "chain_unavailable: not now")
    })
  )

  it.effect("are several groups where they are many", () =>
    Effect.gen(function* () {
      const { answers, stub } = yield* telling(({ body }, response) => {
        const { runs }: { runs: ReadonlyArray<{ paymentId: string }> } = JSON.parse(body)
        const told = runs.map(({ paymentId: id }) => ({ status: 200, body: { ...record, paymentId: id } }))
        FacilitatorStub.json({ answers: told })({ body, headers: {}, method: "POST", url: "" }, response)
      }, 200)
      assert.deepStrictEqual(
        answers,
        [...answers.keys()].map((index) => Result.succeed(recordOf(index)))
      )
      assert.isAtMost(stub.seen.length, 12)
      for (const { body } of stub.seen) assert.isBelow(body.length, 16 * 1024)
    })
  )

  it.effect("are told each by itself where a group has no response of use", () =>
    Effect.gen(function* () {
      const useless = [
        FacilitatorStub.json({ error: "unknown_endpoint", message: "there is no such endpoint" }, 404),
        FacilitatorStub.text("<h1>Hello</h1>"),
        FacilitatorStub.text(" ".repeat(65 * 1024)),
        FacilitatorStub.json({ answers: [{ status: 200, body: recordOf(1) }] }),
        FacilitatorStub.json({ answers: recordOf(1) })
      ]
      for (const group of useless) {
        const { answers, urls } = yield* telling(group)
        assert.deepStrictEqual(
          answers,
          [0, 1, 2, 3].map((index) => Result.succeed(recordOf(index)))
        )
        const others = [1, 2, 3].map((index) => `/payments/${idOf(index)}/finish`)
        assert.deepStrictEqual(new Set(urls.slice(2)), new Set(others))
      }
    })
  )

  it.effect("fail together where the facilitator cannot be asked, and only then", () =>
    Effect.gen(function* () {
      const lost: ReadonlyArray<FacilitatorStub.Answer> = [
        FacilitatorStub.json({ error: "chain_unavailable", message: "not now" }, 503),
        FacilitatorStub.json({ error: "too_many_requests", message: "slowly" }, 429),
        (_, response) => void response.destroy()
      ]
      for (const group of lost) {
        const { answers, urls } = yield* telling(group)
        assert.deepStrictEqual(answers[0], Result.succeed(recordOf(0)))
        for (const answer of answers.slice(1)) assert.strictEqual(failureOf(answer)._tag, "FacilitatorUnavailable")
        assert.strictEqual(urls.length, 2)
      }
    })
  )

  it.effect("a record of another payment is believed by nobody", () =>
    Effect.gen(function* () {
      const told = [recordOf(2), recordOf(1), recordOf(3)].map((body) => ({ status: 200, body }))
      const { answers } = yield* telling(FacilitatorStub.json({ answers: told }))
      for (const answer of answers.slice(1, 3)) assert.strictEqual(failureOf(answer)._tag, "FacilitatorUnavailable")
      assert.deepStrictEqual(answers[3], Result.succeed(recordOf(3)))
    })
  )
})

describe("finish and payment", () => {
  it.effect("finish hands over the record", () =>
    Effect.gen(function* () {
      const answer = FacilitatorStub.json(record)
      const { result, stub } = yield* asking(answer, (client) => client.finish(paymentId, claim.id, "served"))
      assert.deepStrictEqual(Result.getOrThrow(result), record)
      assert.strictEqual(stub.seen[0]?.url, `/payments/${paymentId}/finish`)
      assert.deepStrictEqual(JSON.parse(stub.seen[0]?.body ?? ""), { claimId: claim.id, outcome: "served" })
    })
  )

  it.effect("a finish that is refused keeps its reason", () =>
    Effect.gen(function* () {
      const fault = { error: "unknown_payment", message: "nobody knows it", reason: "malformed", detail: "unknown" }
      const finishing = (status: number) =>
        asking(FacilitatorStub.json(fault, status), (client) => client.finish(paymentId, claim.id, "served"))
      for (const status of [404, 409]) {
        const failure = failureOf((yield* finishing(status)).result)
        assert.deepInclude(failure, { _tag: "ValidationError", reason: "malformed", detail: "unknown" })
      }
      assert.strictEqual(failureOf((yield* finishing(400)).result)._tag, "FacilitatorUnavailable")
    })
  )

  it.effect("payment hands over the record, or nothing when nobody knows it", () =>
    Effect.gen(function* () {
      const known = yield* asking(FacilitatorStub.json(record), (client) => client.payment(paymentId))
      assert.deepStrictEqual(Result.getOrThrow(known.result), record)
      assert.strictEqual(known.stub.seen[0]?.method, "GET")
      const fault = FacilitatorStub.json({ error: "unknown_payment", message: "nobody knows it" }, 404)
      const unknown = yield* asking(fault, (client) => client.payment(paymentId))
      assert.isUndefined(Result.getOrThrow(unknown.result))
    })
  )

  it.effect("a 404 that may come from a wrong address says nothing about the payment", () =>
    Effect.gen(function* () {
      const answer = FacilitatorStub.text("<h1>Not found</h1>", 404)
      const { result } = yield* asking(answer, (client) => client.payment(paymentId))
      assert.strictEqual(failureOf(result)._tag, "FacilitatorUnavailable")
    })
  )

  it.effect("a record of another payment is not believed", () =>
    Effect.gen(function* () {
      const other = FacilitatorStub.json({ ...record, paymentId: "pay_zzzzzzzzzzzzzzzzzzzzzz" })
      const { result } = yield* asking(other, (client) => client.payment(paymentId))
      assert.strictEqual(failureOf(result)._tag, "FacilitatorUnavailable")
    })
  )

  it.effect("a name that is none never becomes a path", () =>
    Effect.gen(function* () {
      const answer = FacilitatorStub.json(record)
      const read = yield* asking(answer, (client) => client.payment("../supported"))
      assert.isUndefined(Result.getOrThrow(read.result))
      const finish = yield* asking(answer, (client) => client.finish("pay_1/../..", claim.id, "served"))
      assert.deepInclude(failureOf(finish.result), { _tag: "ValidationError", reason: "malformed" })
      assert.deepStrictEqual([...read.stub.seen, ...finish.stub.seen], [])
    })
  )
})

describe("supported", () => {
  it.effect("is read from the service, under the address's path", () =>
    Effect.gen(function* () {
      const kinds = [{ protocolVersion: 2, scheme: "exact", network: "eip155:8453" }] as const
      const body = { kinds, signers: { "eip155:8453": [paid.payer] } } as const
      const stub = yield* FacilitatorStub.make(FacilitatorStub.json(body))
      const client = yield* FacilitatorClient.make({ url: new URL("/pay/", stub.url) })
      assert.deepStrictEqual(yield* client.supported, body)
      assert.strictEqual(stub.seen[0]?.url, "/pay/supported")
    })
  )
})

describe("options", () => {
  it.effect.each([
    ["not an address", "not an address"],
    ["ftp://facilitator.example", "begins with neither https:// nor http://"],
    ["http://facilitator.example", "is not https"],
    ["http://127.0.0.1.example", "is not https"],
    ["http://localhost.example", "is not https"],
    ["https://user:secret@facilitator.example", "credentials"],
    ["https://facilitator.example?key=secret", "query"],
    ["https://facilitator.example#x", "fragment"]
  ] as const)("refuses %s", ([url, why]) =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(FacilitatorClient.make({ url }))
      assert.strictEqual(failure._tag, "Misconfigured")
      assert.include(failure.message, why)
      assert.notInclude(failure.message, "secret")
    })
  )

  it.effect.each([
    "https://facilitator.example",
    "https://facilitator.example/base/",
    "http://localhost:4021",
    "http://127.0.0.1:4021",
    "http://[::1]:4021"
  ])("takes %s", (url) => FacilitatorClient.make({ url }))

  it.effect("takes plain http elsewhere only where it is allowed", () =>
    FacilitatorClient.make({ url: "http://facilitator:4021", allowInsecure: true })
  )

  it.effect("refuses headers that HTTP does not allow, without quoting them", () =>
    Effect.gen(function* () {
      const headers = { authorization: "secret\nvalue" }
      const failure = yield* Effect.flip(FacilitatorClient.make({ url: "http://localhost", headers }))
      assert.strictEqual(failure._tag, "Misconfigured")
      assert.notInclude(failure.message, "secret")
    })
  )

  it.effect("asks the headers function for every call", () =>
    Effect.gen(function* () {
      let calls = 0
      const headers = () => Promise.resolve({ authorization: `Bearer ${++calls}` })
      const stub = yield* FacilitatorStub.make(FacilitatorStub.json(paid))
      const client = yield* FacilitatorClient.make({ url: stub.url, headers })
      yield* client.settle(request, claim)
      yield* client.settle(request, claim)
      assert.deepStrictEqual(
        stub.seen.map((seen) => seen.headers.authorization),
        ["Bearer 1", "Bearer 2"]
      )
    })
  )

  it.effect("nothing is asked when the headers function fails, and its words stay inside", () =>
    Effect.gen(function* () {
      for (const headers of [
        () => Promise.reject(new Error("secret")),
        () => Promise.resolve({ authorization: "secret\nvalue" })
      ]) {
        const { result, stub } = yield* settling(FacilitatorStub.json(paid), { headers })
        const failure = failureOf(result)
        assert.strictEqual(failure._tag, "FacilitatorUnavailable")
        assert.notInclude(JSON.stringify(failure), "secret")
        assert.strictEqual(stub.seen.length, 0)
      }
    })
  )

  it.effect("speaks through the given fetch, which redirects nothing by itself", () =>
    Effect.gen(function* () {
      const seen: Array<RequestInit | undefined> = []
      const client = yield* FacilitatorClient.make({
        url: "https://facilitator.example",
        fetch: (_url, init) => {
          seen.push(init)
          return Promise.resolve(Response.json(paid))
        }
      })
      assert.strictEqual((yield* client.settle(request, claim)).paymentId, paymentId)
      assert.strictEqual(seen[0]?.redirect, "manual")
    })
  )

  it.effect("makes the service as a layer", () =>
    Effect.gen(function* () {
      const stub = yield* FacilitatorStub.make(FacilitatorStub.json(paid))
      const settled = Effect.flatMap(Facilitator, (facilitator) => facilitator.settle(request, claim))
      const answer = yield* Effect.provide(settled, FacilitatorClient.layer({ url: stub.url }))
      assert.strictEqual(answer.paymentId, paymentId)
    })
  )
})
