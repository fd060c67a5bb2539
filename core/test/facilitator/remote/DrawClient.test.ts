/** Draws at a facilitator with prepared responses, over real HTTP: how they are sent, and which answers are believed. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { CurrentBuyer } from "../../../src/facilitator/CurrentBuyer.ts"
import type { Claim, Facilitator, PaymentRequest } from "../../../src/facilitator/Facilitator.ts"
import * as FacilitatorClient from "../../../src/facilitator/remote/FacilitatorClient.ts"
import * as Network from "../../../src/protocol/Network.ts"
import { ChannelCorrection } from "../../../src/scheme/ChannelCorrection.ts"
import * as FacilitatorStub from "../FacilitatorStub.ts"

const network = Network.make("eip155:8453")
const paymentId = `draw-0x${"c".repeat(64)}-3000`
const scheme = "batch-settlement"
const request: PaymentRequest = {
  paymentPayload: { protocolVersion: 2, scheme, network, payload: "e30=" },
  paymentRequirements: {
    scheme,
    network,
    maxAmountRequired: "1000",
    resource: "https://shop.example/report",
    payTo: "0x1111111111111111111111111111111111111111"
  }
}
const claimOf = (index: number): Claim => ({ id: `claim${index}`.padEnd(22, "x"), resource: "report".padEnd(43, "x") })

const granted = {
  success: true,
  paymentId,
  status: "included",
  execution: "granted",
  isDraw: true,
  transaction: "",
  network: "eip155:8453",
  payer: "0x2222222222222222222222222222222222222222",
  payTo: "0x1111111111111111111111111111111111111111",
  asset: "0x3333333333333333333333333333333333333333",
  amount: "1000",
  extra: { chargedAmount: "1000" }
} as const
const { success: _, ...grant } = granted

const kinds = [{ protocolVersion: 2, scheme, network, draws: true }]
const standing = {
  channelId: "0xc",
  owed: "2000",
  accepted: "3000",
  published: "1000",
  balance: "9000",
  facts: { some: "words" }
}
const sums = { ...standing, owed: 2_000n, accepted: 3_000n, published: 1_000n, balance: 9_000n }

type Client = Facilitator["Service"]

/** A client that knows of the ledger, at a stub that answers each other path like this. */
const asking = Effect.fnUntraced(function* <A, E>(
  answers: Readonly<Record<string, FacilitatorStub.Answer>>,
  use: (client: Client) => Effect.Effect<A, E>
) {
  const stub = yield* FacilitatorStub.make((seen, response) => {
    const path = (seen.url ?? "").replace(paymentId, "{id}")
    const answer = path === "/supported" ? FacilitatorStub.json({ kinds, signers: {} }) : answers[path]
    return (answer ?? FacilitatorStub.json({ error: "unknown_endpoint", message: path }, 404))(seen, response)
  })
  const client = yield* FacilitatorClient.make({ url: stub.url })
  yield* client.supported
  const result = yield* Effect.result(use(client))
  const sent = stub.seen
    .slice(1)
    .map(({ body, headers, url }) => ({ url, headers, json: body === "" ? undefined : JSON.parse(body) }))
  return { result, sent }
}, Effect.scoped)

/** A group's answer to each draw in it. */
const each =
  (answerTo: (id: string) => object): FacilitatorStub.Answer =>
  (seen, response) => {
    const { draws }: { draws: ReadonlyArray<{ claim: Claim }> } = JSON.parse(seen.body)
    FacilitatorStub.json({ answers: draws.map(({ claim }) => answerTo(claim.id)) })(seen, response)
  }

const answered = (body: object) =>
  asking({ "/draws": each(() => ({ status: 200, body })) }, (client) => client.settle(request, claimOf(0)))

const settling = (count: number) => (client: Client) =>
  Effect.forEach(
    Array.from({ length: count }, (_, index) => claimOf(index)),
    (claim) => Effect.result(client.settle(request, claim)),
    { concurrency: "unbounded" }
  )

const failureOf = <A, E>(result: Result.Result<A, E> | undefined): E =>
  result !== undefined && Result.isFailure(result) ? result.failure : assert.fail("it succeeded")

const creditsOf = ({ credits }: Client) => credits ?? assert.fail("the client has no credits")

describe("draws that are taken at once", () => {
  it.effect("are the first by itself and then the others together, each with its own response", () =>
    Effect.gen(function* () {
      const fault = { error: "chain_unavailable", message: "not now" }
      const { result, sent } = yield* asking(
        {
          "/draws": each((id) => (id === claimOf(2).id ? { status: 503, body: fault } : { status: 200, body: granted }))
        },
        settling(4)
      )
      assert.deepStrictEqual(
        sent.map(({ json, url }) => [url, json.draws.length]),
        [
          ["/draws", 1],
          ["/draws", 3]
        ]
      )
      assert.deepStrictEqual(sent[0]?.json.draws[0], { protocolVersion: 2, ...request, claim: claimOf(0) })
      const [first, second, third, fourth] = Result.getOrThrow(result)
      for (const one of [first, second, fourth]) assert.deepStrictEqual(one, Result.succeed(grant))
      const { _tag, message } = failureOf(third)
      assert.strictEqual(_tag, "FacilitatorUnavailable")
      assert.include(message, "chain_unavailable: not now")
    })
  )

  it.effect("are sent again by themselves where they take longer, under the same claim", () =>
    Effect.gen(function* () {
      const later = { status: 202, body: { error: "send_alone", message: "it takes longer" } }
      const { result, sent } = yield* asking(
        {
          "/draws": each((id) => (id === claimOf(1).id ? later : { status: 200, body: granted })),
          "/settle": FacilitatorStub.json({ ...granted, transaction: "0xdeposit" })
        },
        settling(3)
      )
      const alone = sent.filter(({ url }) => url === "/settle")
      assert.deepStrictEqual(
        alone.map(({ json }) => json.claim),
        [claimOf(1)]
      )
      assert.deepStrictEqual(Result.getOrThrow(result)[1], Result.succeed({ ...grant, transaction: "0xdeposit" }))
    })
  )

  it.effect("are sent by themselves where a group has no response of use", () =>
    Effect.gen(function* () {
      for (const group of [
        FacilitatorStub.json({ error: "unknown_endpoint", message: "there is no such endpoint" }, 404),
        FacilitatorStub.text("<h1>Hello</h1>"),
        FacilitatorStub.json({ answers: [] })
      ]) {
        const { result, sent } = yield* asking(
          { "/draws": group, "/settle": FacilitatorStub.json(granted) },
          settling(3)
        )
        assert.deepStrictEqual(
          Result.getOrThrow(result),
          [0, 1, 2].map(() => Result.succeed(grant))
        )
        assert.lengthOf(
          sent.filter(({ url }) => url === "/settle"),
          3
        )
      }
    })
  )

  it.effect("fail together where the facilitator cannot be asked", () =>
    Effect.gen(function* () {
      for (const status of [429, 500, 503]) {
        const fault = FacilitatorStub.json({ error: "defect", message: "it failed" }, status)
        const { result, sent } = yield* asking({ "/draws": fault }, settling(3))
        for (const one of Result.getOrThrow(result)) assert.strictEqual(failureOf(one)._tag, "FacilitatorUnavailable")
        assert.isTrue(sent.every(({ url }) => url === "/draws"))
      }
    })
  )
})

const settled = (body: object) =>
  Effect.map(asking({ "/draws": each(() => ({ status: 200, body })) }, settling(1)), ({ result }) =>
    failureOf(Result.getOrThrow(result)[0])
  )

describe("an answer to a draw", () => {
  it.effect("that refuses with the channel's state tells the payer what to sign", () =>
    Effect.gen(function* () {
      const failure = yield* settled({
        success: false,
        paymentId: "",
        status: "rejected",
        transaction: "",
        network,
        reason: "amount_mismatch",
        detail: "batch_settlement_cumulative_amount_mismatch",
        message: "sign for 2000",
        extra: { channelState: { chargedCumulativeAmount: "1000" } }
      })
      assert.instanceOf(failure, ChannelCorrection)
      assert.deepInclude(failure, { scheme, network, message: "sign for 2000" })
      assert.deepStrictEqual(failure.facts, {
        channelState: { chargedCumulativeAmount: "1000" }
      })
    })
  )

  it.effect.each([
    ["a name that is no draw's", { paymentId: "pay_0123456789abcdefghijkl" }],
    ["a path in its name", { paymentId: "draw-../../payments-1" }],
    ["a lower amount", { amount: "999" }],
    ["another network", { network: "eip155:1" }],
    ["no payee", { payTo: undefined }]
  ] as const)("with %s is not believed", ([, change]) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* settled({ ...granted, ...change }))._tag, "FacilitatorUnavailable")
    })
  )

  it.effect("of a refund has no execution, and any amount", () =>
    Effect.gen(function* () {
      const { execution, isDraw, ...made } = { ...granted, paymentId: "pay_0123456789abcdefghijkl", amount: "7" }
      assert.deepStrictEqual([execution, isDraw], ["granted", true])
      const refund = { ...made, isRefund: true, transaction: "0xrefund" } as const
      const { success: __, ...value } = refund
      assert.deepStrictEqual((yield* answered(refund)).result, Result.succeed({ ...value, execution: undefined }))
      const { result } = yield* answered({ ...refund, execution })
      assert.strictEqual(failureOf(result)._tag, "FacilitatorUnavailable")
    })
  )

  it.effect("that is no draw needs a transaction", () =>
    Effect.gen(function* () {
      const { isDraw, ...payment } = granted
      assert.isTrue(isDraw)
      const failure = yield* settled({ ...payment, paymentId: "pay_0123456789abcdefghijkl" })
      assert.include(failure.message, "names no transaction")
    })
  )
})

describe("the end of a draw", () => {
  it.effect("is reported with its charge", () =>
    Effect.gen(function* () {
      const record = {
        paymentId,
        status: "included",
        network,
        asset: granted.asset,
        payer: granted.payer,
        payTo: granted.payTo,
        amount: "300",
        transaction: "",
        execution: "served",
        runs: 1,
        history: []
      }
      const { result, sent } = yield* asking({ "/payments/{id}/finish": FacilitatorStub.json(record) }, (client) =>
        client.finish(paymentId, claimOf(0).id, "served", 300n)
      )
      assert.deepInclude(Result.getOrThrow(result), { amount: "300" })
      assert.deepStrictEqual(sent[0]?.json, { claimId: claimOf(0).id, outcome: "served", charge: "300" })
    })
  )
})

describe("a channel", () => {
  it.effect("is closed or not, by the facilitator's word alone", () =>
    Effect.gen(function* () {
      for (const closed of [true, false]) {
        const { result } = yield* asking({ "/draws/{id}/closed": FacilitatorStub.json({ closed }) }, (client) =>
          creditsOf(client).isClosed(paymentId)
        )
        assert.strictEqual(Result.getOrThrow(result), closed)
      }
      const none = yield* asking({}, (client) => creditsOf(client).isClosed(paymentId))
      assert.strictEqual(failureOf(none.result)._tag, "FacilitatorUnavailable")
    })
  )
})

describe("credit", () => {
  const wish = { paymentId, claimId: claimOf(1).id, amount: 1_000n, known: 3_000n, waitMillis: 60_000 }

  it.effect("is reserved, wanting or closed, and its wait is bounded", () =>
    Effect.gen(function* () {
      for (const [body, expected] of [
        [
          { window: "granted", standing },
          { _tag: "Granted", paymentId, standing: sums }
        ],
        [
          { window: "closed", standing },
          { _tag: "Closed", standing: sums }
        ],
        [
          { window: "wanting", required: "4000", standing },
          { _tag: "Wanting", required: 4_000n, standing: sums }
        ]
      ] as const) {
        const { result, sent } = yield* asking({ "/draws/{id}/windows": FacilitatorStub.json(body) }, (client) =>
          creditsOf(client).reserve(wish)
        )
        assert.deepStrictEqual(Result.getOrThrow(result), expected)
        const { claimId } = wish
        assert.deepStrictEqual(sent[0]?.json, { claimId, amount: "1000", known: "3000", waitMillis: 15_000 })
      }
    })
  )

  it.effect("is refused where the draw is unknown, and unavailable otherwise", () =>
    Effect.gen(function* () {
      const unknown = {
        error: "unknown_payment",
        message: "nobody knows it",
        reason: "malformed",
        detail: "unknown_payment"
      }
      const refused = yield* asking({ "/draws/{id}/windows": FacilitatorStub.json(unknown, 404) }, (client) =>
        creditsOf(client).reserve(wish)
      )
      assert.deepInclude(failureOf(refused.result), { _tag: "ValidationError", detail: "unknown_payment" })
      const none = yield* asking({}, (client) => creditsOf(client).reserve(wish))
      assert.strictEqual(failureOf(none.result)._tag, "FacilitatorUnavailable")
      const strange = yield* asking({}, (client) => creditsOf(client).reserve({ ...wish, paymentId: "../payments" }))
      assert.deepInclude(failureOf(strange.result), { _tag: "ValidationError", detail: "payment_id" })
      assert.lengthOf(strange.sent, 0)
    })
  )

  it.effect("has a standing, and vouchers that are kept, lower, or refused", () =>
    Effect.gen(function* () {
      const read = yield* asking({ "/draws/{id}": FacilitatorStub.json(standing) }, (client) =>
        creditsOf(client).standing(paymentId)
      )
      assert.deepStrictEqual(Result.getOrThrow(read.result), sums)
      const gone = FacilitatorStub.json({ error: "unknown_payment", message: "nobody knows it" }, 404)
      const unknown = yield* asking({ "/draws/{id}": gone }, (client) => creditsOf(client).standing(paymentId))
      assert.isUndefined(Result.getOrThrow(unknown.result))
      const sending = (body: object) =>
        Effect.map(
          asking({ "/vouchers": FacilitatorStub.json(body) }, (client) => creditsOf(client).voucher(request)),
          ({ result }) => result
        )
      for (const [voucher, _tag] of [
        ["kept", "Kept"],
        ["lower", "Lower"],
        ["closed", "Closed"]
      ] as const) {
        const kept = Result.getOrThrow(yield* sending({ voucher, standing, transaction: "0xdeposit" }))
        assert.deepStrictEqual(kept, { _tag, standing: sums, transaction: "0xdeposit" })
      }
      const refused = {
        reason: "amount_mismatch",
        detail: "batch_settlement_cumulative_exceeds_balance",
        message: "no"
      }
      const refusal: object = failureOf(yield* sending(refused))
      assert.deepInclude(refusal, { _tag: "ValidationError", ...refused })
      assert.instanceOf(failureOf(yield* sending({ ...refused, extra: {} })), ChannelCorrection)
      for (const nonsense of [{}, { voucher: "kept" }, { ...refused, voucher: "kept", standing, transaction: "" }])
        assert.strictEqual(failureOf(yield* sending(nonsense))._tag, "FacilitatorUnavailable")
    })
  )

  it.effect("takes a voucher with the place of its buyer, where that is known", () =>
    Effect.gen(function* () {
      const kept = FacilitatorStub.json({ voucher: "kept", standing, transaction: "" })
      const placesOf = (buyer: string | undefined) =>
        Effect.map(
          asking({ "/vouchers": kept }, (client) =>
            Effect.provideService(creditsOf(client).voucher(request), CurrentBuyer, buyer)
          ),
          ({ sent }) => sent.map(({ headers }) => headers["pontage-buyer"])
        )
      assert.deepStrictEqual(yield* placesOf("A".repeat(22)), ["A".repeat(22)])
      assert.deepStrictEqual(yield* placesOf(undefined), [undefined])
    })
  )

  it.effect("renews a draw's lease by its claim", () =>
    Effect.gen(function* () {
      const { result, sent } = yield* asking({ "/draws/{id}/renew": FacilitatorStub.json({ open: true }) }, (client) =>
        creditsOf(client).renew(paymentId, claimOf(0).id)
      )
      assert.isTrue(Result.getOrThrow(result))
      assert.deepStrictEqual(sent[0]?.json, { claimId: claimOf(0).id })
    })
  )
})
