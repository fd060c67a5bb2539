import { assert, describe, it } from "@effect/vitest"
import { Delivery, type PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as ApiKey from "../../src/callers/ApiKey.ts"
import type { CallerTerms } from "../../src/callers/CallerTerms.ts"
import { PaymentPage } from "../../src/http/PaymentExport.ts"
import * as TestFacilitator from "../TestFacilitator.ts"

const { json, paymentId, record, start, stored } = TestFacilitator

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const callers: ReadonlyArray<CallerTerms> = [
  { name: "shop", keys: [ApiKey.digestOf("key-of-shop")] },
  { name: "other", keys: [ApiKey.digestOf("key-of-other")] },
  { name: "audit", keys: [ApiKey.digestOf("key-of-audit")], operator: true, registrations: [] }
]

/** Nine records, every third of them another caller's. */
const records: ReadonlyArray<PaymentStore.StoredPayment> = Array.from({ length: 9 }, (_, index) => ({
  ...stored,
  serial: BigInt(index + 1),
  paymentId: `pay_${String(index + 1).padStart(22, "0")}`,
  caller: index % 3 === 2 ? "other" : "shop"
}))

/** A payment that was delivered to another network. */
const delivered: PaymentStore.StoredPayment = {
  ...stored,
  delivery: {
    ...Delivery.begin("eip155:10"),
    status: "delivered",
    arrival: { transaction: "0xfar", block: { number: 1n, hash: "0xb" }, amount: 9_900n },
    deliveredAt: 5,
    push: { paymentId: "pay_push", attempt: 1 }
  }
}

const book = {
  find: (id: string) => Effect.succeed(records.find((one) => one.paymentId === id)),
  page: (after: bigint, limit: number, caller?: string) =>
    Effect.succeed(
      records.filter((one) => one.serial > after && (caller === undefined || one.caller === caller)).slice(0, limit)
    )
}

const open = (options: { readonly callers?: ReadonlyArray<CallerTerms> } = { callers }) =>
  start({}, options, undefined, book)

/** The same where there are no keys, and never were. */
const nameless = records.map((one) => ({ ...one, caller: "" }))
const openToAll = start({}, {}, undefined, {
  find: (id) => Effect.succeed(nameless.find((one) => one.paymentId === id)),
  page: (after, limit, caller) =>
    Effect.succeed(
      nameless.filter((one) => one.serial > after && (caller === undefined || one.caller === caller)).slice(0, limit)
    )
})

const decodePage = Schema.decodeUnknownEffect(PaymentPage)

/** The serials of all pages, walked from the first to the last, and how many pages there were. */
const walk = Effect.fnUntraced(function* (
  get: TestFacilitator.TestService["get"],
  headers: Record<string, string>,
  limit: number
) {
  const serials: Array<string> = []
  let after: string | undefined
  for (let pages = 1; ; pages++) {
    const query = `limit=${limit}${after === undefined ? "" : `&after=${after}`}`
    const page = yield* decodePage(yield* json(yield* get(`/payments?${query}`, headers)))
    serials.push(...page.payments.map(({ serial }) => serial))
    if (page.next === undefined) return { serials: serials.join(""), pages }
    after = page.next
  }
})

describe("the records", () => {
  it.live("are shown with all that an audit needs", () =>
    Effect.gen(function* () {
      const { get } = yield* openToAll
      const answer = yield* get("/payments?limit=1")
      assert.deepStrictEqual(yield* json(answer), {
        payments: [
          {
            ...record,
            paymentId: records[0]?.paymentId,
            execution: "served",
            serial: "1",
            caller: "",
            scheme: "exact",
            nonce: "0xnonce",
            validAfter: 0,
            validBefore: 1_700_000_060,
            block: { number: "12", hash: "0xb10c" }
          }
        ],
        next: "1"
      })
    })
  )

  it.live("are complete page by page, whatever the size of a page", () =>
    Effect.gen(function* () {
      const { get } = yield* openToAll
      for (const [limit, pages] of [
        [1, 10],
        [2, 5],
        [4, 3],
        [9, 2],
        [10, 1],
        [1000, 1]
      ] as const)
        assert.deepStrictEqual(yield* walk(get, {}, limit), { serials: "123456789", pages })
    })
  )

  it.live("show a payment that went on to another network with both of its transactions, and not its push", () =>
    Effect.gen(function* () {
      const pushed = records.map((one, index): PaymentStore.StoredPayment =>
        index % 2 === 0
          ? one
          : { ...one, requirements: Delivery.offerOfPush(one.requirements, records[0]?.paymentId ?? "") }
      )
      const crossing = { ...delivered, serial: 99n }
      const { get } = yield* start({}, {}, undefined, {
        find: () => Effect.succeed({ ...crossing, caller: "" }),
        page: (after, limit) =>
          Effect.succeed([...pushed, crossing].filter(({ serial }) => serial > after).slice(0, limit))
      })
      assert.deepStrictEqual(yield* walk(get, {}, 2), { serials: "1357999", pages: 6 })
      const expected = {
        network: "eip155:10",
        status: "delivered",
        transaction: "0xfar",
        amount: "9900"
      } as const
      const { payments } = yield* decodePage(yield* json(yield* get("/payments?after=9")))
      assert.deepStrictEqual(payments[0]?.delivery, expected)
      assert.strictEqual(payments[0]?.transaction, "0xabc")
      const one = yield* json(yield* get(`/payments/${paymentId}`))
      assert.deepNestedInclude(one, { transaction: "0xabc", delivery: expected })
    })
  )

  it.live("are each caller's own, and all for an operator", () =>
    Effect.gen(function* () {
      const { get } = yield* open()
      assert.strictEqual((yield* walk(get, bearer("key-of-shop"), 2)).serials, "124578")
      assert.strictEqual((yield* walk(get, bearer("key-of-other"), 2)).serials, "369")
      assert.strictEqual((yield* walk(get, bearer("key-of-audit"), 2)).serials, "123456789")
    })
  )

  it.live("are not returned for malformed queries", () =>
    Effect.gen(function* () {
      const { get } = yield* open({})
      for (const query of [
        "limit=0",
        "limit=1001",
        "limit=1e2",
        "limit=-1",
        "limit=",
        "after=-1",
        "after=x",
        "after=",
        `after=${"9".repeat(31)}`
      ])
        assert.strictEqual((yield* get(`/payments?${query}`)).status, 400, query)
    })
  )
})

describe("one record", () => {
  it.live("is shown to its caller and to operators, and to others is as unknown as one that does not exist", () =>
    Effect.gen(function* () {
      const { get } = yield* open()
      const id = records[0]?.paymentId ?? ""
      const answers = yield* Effect.forEach(["shop", "audit", "other"], (name) =>
        get(`/payments/${id}`, bearer(`key-of-${name}`))
      )
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 200, 404]
      )
      const [own, , others] = answers
      if (own === undefined || others === undefined) return yield* Effect.die("no response")
      assert.deepStrictEqual(yield* json(own), { ...record, paymentId: id, execution: "served" })
      const nobody = yield* get(`/payments/${paymentId}`, bearer("key-of-other"))
      assert.deepStrictEqual(yield* json(others), yield* json(nobody))
    })
  )

  it.live("is shown to everybody where there are no callers, unless a caller with a key presented it", () =>
    Effect.gen(function* () {
      const before = yield* openToAll
      assert.strictEqual((yield* before.get(`/payments/${records[0]?.paymentId}`)).status, 200)
      const { get } = yield* open({})
      assert.strictEqual((yield* get(`/payments/${records[0]?.paymentId}`)).status, 404)
      assert.strictEqual((yield* walk(get, {}, 2)).serials, "")
    })
  )
})
