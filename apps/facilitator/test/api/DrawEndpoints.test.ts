/** The endpoints of draws over a facilitator that answers as a test says. */
import { assert, describe, it } from "@effect/vitest"
import {
  ChannelCorrection,
  type ChannelCredits,
  DrawsApi,
  FacilitatorUnavailable,
  invalid,
  refuse,
  type SchemeFacilitator
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { ApiKey } from "../../src/index.ts"
import * as TestFacilitator from "../TestFacilitator.ts"

const { body, claim, json, network, payTo, settled, start } = TestFacilitator

const decodeDraws = Schema.decodeUnknownEffect(DrawsApi.DrawsResponse)
const paymentId = `draw-0x${"c".repeat(64)}-3000`
const granted = { ...settled, paymentId, isDraw: true, transaction: "" } as const
const claimOf = (name: string) => ({ ...claim, id: name.padEnd(22, "x") })
const drawOf = (name: string, offer: object = {}) => ({
  ...body,
  paymentRequirements: { ...body.paymentRequirements, ...offer },
  claim: claimOf(name)
})

const standing = {
  channelId: "0xc",
  owed: 2_000n,
  accepted: 3_000n,
  published: 1_000n,
  balance: 9_000n,
  facts: { some: "words" }
}

/** A scheme that authorizes claims for some callers. */
const drawing = (isFor: (caller: string) => boolean): SchemeFacilitator =>
  TestFacilitator.schemeWith(Effect.succeed([]), {
    channels: { draws: { isFor } } as unknown as NonNullable<SchemeFacilitator["channels"]>
  })

const unavailable = new FacilitatorUnavailable({ message: "busy", retryAfter: 2 })
const stale = new ChannelCorrection({ scheme: "exact", network }, { channelState: { owed: "7" } }, "sign for 8")

describe("POST /draws", () => {
  it.live("answers each draw by itself, and has a slow one sent alone", () =>
    Effect.gen(function* () {
      const { post } = yield* start({
        settle: (_, asked) => {
          if (asked?.id === claimOf("slow").id) return Effect.never
          if (asked?.id === claimOf("busy").id) return Effect.fail(unavailable)
          if (asked?.id === claimOf("broken").id) return Effect.die("a defect")
          return asked?.id === claimOf("stale").id ? Effect.fail(stale) : Effect.succeed(granted)
        }
      })
      const draws = ["good", "slow", "busy", "stale", "broken"].map((name) => drawOf(name))
      const { answers } = yield* Effect.flatMap(Effect.flatMap(post("/draws", { draws }), json), decodeDraws)
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [200, 202, 503, 200, 500]
      )
      assert.deepInclude(answers[0]?.body, { success: true, paymentId, isDraw: true, transaction: "" })
      assert.deepInclude(answers[1]?.body, { error: "send_alone" })
      assert.deepInclude(answers[2]?.body, { error: "facilitator_unavailable", retryAfter: 2 })
      assert.deepInclude(answers[3]?.body, { success: false, reason: "amount_mismatch", message: "sign for 8" })
      assert.deepInclude(answers[3]?.body, { extra: { channelState: { owed: "7" } } })
    })
  )

  it.live("refuses payees of other callers, and callers whose claims nobody authorizes", () =>
    Effect.gen(function* () {
      const keys = { registered: "key-of-a-registered-shop", open: "key-of-an-open-caller-1" }
      const callers = [
        { name: "registered", keys: [ApiKey.digestOf(keys.registered)], registrations: [{ payees: [payTo] }] },
        { name: "open", keys: [ApiKey.digestOf(keys.open)] }
      ]
      const { post } = yield* start(
        { settle: () => Effect.succeed(granted), claim: () => Effect.succeed(granted) },
        { callers },
        [drawing((name) => name === "registered")]
      )
      const ask = (path: string, key: string, sent: unknown) =>
        Effect.map(post(path, sent, { authorization: `Bearer ${key}` }), ({ status }) => status)
      const statuses = (key: string, offer: object = {}) =>
        Effect.map(
          Effect.flatMap(
            Effect.flatMap(post("/draws", { draws: [drawOf("one", offer)] }, { authorization: `Bearer ${key}` }), json),
            decodeDraws
          ),
          ({ answers }) => answers.map(({ status }) => status)
        )
      const other = { payTo: "0x9999999999999999999999999999999999999999" }
      assert.deepStrictEqual(yield* statuses(keys.registered), [200])
      assert.deepStrictEqual(yield* statuses(keys.registered, other), [403])
      assert.deepStrictEqual(yield* statuses(keys.open), [403])
      for (const path of ["/settle", "/claims"]) {
        assert.strictEqual(yield* ask(path, keys.registered, drawOf("one")), 200)
        assert.strictEqual(yield* ask(path, keys.open, drawOf("one")), 403)
      }
      // Without a claim nothing is drawn: the caller keeps its own books.
      assert.strictEqual(yield* ask("/settle", keys.open, body), 200)
      assert.strictEqual(yield* ask("/vouchers", keys.open, body), 403)
    })
  )
})

describe("vouchers that are refused", () => {
  it.effect("count against the place of their buyer, and against no other", () =>
    Effect.gen(function* () {
      const key = "key-of-a-shop-that-streams"
      const rates = { rate: { perSecond: 1, burst: 20 }, payerRate: { perSecond: 1_000, burst: 1_000 } }
      const callers = [{ name: "shop", keys: [ApiKey.digestOf(key)], registrations: [{ payees: [payTo] }], rates }]
      const forged = refuse("INVALID_SIGNATURE", "signer", "somebody else signed")
      let isForged = true
      const voucher = () =>
        Effect.suspend(() =>
          isForged ? Effect.fail(forged) : Effect.succeed({ _tag: "Kept", standing, transaction: "" } as const)
        )
      // The payer that a voucher names is not trusted.
      const unreadable = TestFacilitator.schemeWith(Effect.succeed([]), {
        read: () => Effect.fail(invalid("malformed", "payload", "it is no payment"))
      })
      const credits = { voucher } as unknown as ChannelCredits
      const { post } = yield* start({ credits }, { callers }, [unreadable])
      const sent = (buyer: string) =>
        Effect.map(
          post("/vouchers", body, { authorization: `Bearer ${key}`, "pontage-buyer": buyer.padEnd(22, "_") }),
          ({ status }) => status
        )
      const flood = yield* Effect.forEach(Array.from({ length: 30 }), () => sent("stranger"))
      assert.isTrue(flood.includes(200))
      isForged = false
      assert.strictEqual(yield* sent("stranger"), 429)
      assert.strictEqual(yield* sent("honest"), 200)
    })
  )
})

describe("the credit of a channel", () => {
  it.live("is there where the facilitator keeps a ledger, and nowhere else", () =>
    Effect.gen(function* () {
      const wish = { claimId: claim.id, amount: "1000", known: "3000", waitMillis: 5 }
      const asked: Array<unknown> = []
      const credits = {
        reserve: (request: unknown) => {
          asked.push(request)
          return Effect.succeed({ _tag: "Closed", standing } as const)
        },
        renew: () => Effect.succeed(true),
        isClosed: (id: string) => Effect.succeed(id === paymentId),
        standing: (id: string) => Effect.succeed(id === paymentId ? standing : undefined),
        voucher: () => Effect.succeed({ _tag: "Lower", standing, transaction: "" } as const)
      }
      const { get, post } = yield* start({ credits })
      const written = { ...standing, owed: "2000", accepted: "3000", published: "1000", balance: "9000" }
      assert.deepStrictEqual(yield* Effect.flatMap(post(`/draws/${paymentId}/windows`, wish), json), {
        window: "closed",
        standing: written
      })
      assert.deepStrictEqual(asked, [{ paymentId, claimId: claim.id, amount: 1_000n, known: 3_000n, waitMillis: 5 }])
      assert.deepStrictEqual(yield* Effect.flatMap(post(`/draws/${paymentId}/renew`, { claimId: claim.id }), json), {
        open: true
      })
      assert.deepStrictEqual(yield* Effect.flatMap(get(`/draws/${paymentId}`), json), written)
      assert.strictEqual((yield* get(`/draws/${paymentId}1`)).status, 404)
      for (const [name, closed] of [
        [paymentId, true],
        [`${paymentId}1`, false],
        ["rubbish", false]
      ] as const)
        assert.deepStrictEqual(yield* Effect.flatMap(get(`/draws/${name}/closed`), json), { closed })
      assert.deepStrictEqual(yield* Effect.flatMap(post("/vouchers", body), json), {
        voucher: "lower",
        standing: written,
        transaction: ""
      })
      const without = yield* start({})
      assert.strictEqual((yield* without.post(`/draws/${paymentId}/windows`, wish)).status, 404)
      assert.strictEqual((yield* without.get(`/draws/${paymentId}`)).status, 404)
      assert.strictEqual((yield* without.post("/vouchers", body)).status, 503)
    })
  )
})
