import { assert, describe, it } from "@effect/vitest"
import {
  ChainUnavailable,
  invalid,
  type PaymentFailure,
  PaymentPayload,
  refuse,
  SettlementPending,
  ValidationReason
} from "@pontage/core"
import * as Effect from "effect/Effect"

import * as ApiKey from "../src/callers/ApiKey.ts"
import * as TestFacilitator from "./TestFacilitator.ts"
import * as X402Bodies from "./X402Bodies.ts"

const { body, claim, json, network, payer, paymentId, payTo, request, settled, start } = TestFacilitator
const { offerV1, offerV2, paymentV1, paymentV2, v1, v2 } = X402Bodies

const unasked = () => Effect.die("asked")
const nobody = { verify: unasked, settle: unasked, claim: unasked }
const down = () => Effect.fail(new ChainUnavailable({ network, message: "down" }))
const text = (response: Response) => Effect.promise(() => response.text())

const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`

/** The responses to one body on both endpoints, which all have to be verdicts. */
const verdicts = Effect.fnUntraced(function* ({ post }: TestFacilitator.TestService, sent: unknown) {
  const verify = yield* post("/verify", sent)
  const settle = yield* post("/settle", sent)
  assert.deepStrictEqual([verify.status, settle.status], [200, 200])
  return { verify: yield* json(verify), settle: yield* json(settle) }
})

const named = { 1: "base", 2: network } as const

/** The responses of both endpoints when a payment is refused for this reason. */
const refusedAs = (version: 1 | 2, word: string, message: string, name: string = named[version]) => ({
  verify: { isValid: false, invalidReason: word, ...(version === 2 && { invalidMessage: message }) },
  settle: {
    success: false,
    errorReason: word,
    ...(version === 2 && { errorMessage: message }),
    transaction: "",
    network: name
  }
})

describe("a server of x402", () => {
  it.live("has a payment verified and settled, and is answered as its version wants it", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const service = yield* start({
        verify: (asked) => Effect.sync(() => (seen.push(asked), { payer })),
        settle: (asked, wish) => Effect.sync(() => (seen.push(asked, wish), { ...settled, execution: undefined }))
      })
      assert.deepStrictEqual(yield* verdicts(service, v2), {
        verify: { isValid: true, payer },
        settle: { success: true, payer, transaction: "0xabc", network, amount: "10000" }
      })
      assert.deepStrictEqual(yield* verdicts(service, { ...v1, claim }), {
        verify: { isValid: true, payer },
        settle: { success: true, payer, transaction: "0xabc", network: "base" }
      })
      const asked = (maxTimeoutSeconds: number) => ({
        paymentPayload: PaymentPayload.sealPayload("exact", network, X402Bodies.payload),
        paymentRequirements: {
          scheme: "exact",
          network,
          maxAmountRequired: "10000",
          resource: X402Bodies.resource,
          description: "Weather",
          mimeType: "application/json",
          payTo,
          maxTimeoutSeconds,
          asset: X402Bodies.asset,
          extra: offerV2.extra
        }
      })
      assert.deepStrictEqual(seen, [asked(300), asked(300), undefined, asked(60), asked(60), undefined])
    })
  )

  it.live("may leave out the resource, or have one that is none", () =>
    Effect.gen(function* () {
      const resources: Array<string> = []
      const { post } = yield* start({
        verify: ({ paymentRequirements }) =>
          Effect.sync(() => (resources.push(paymentRequirements.resource), { payer }))
      })
      for (const resource of [undefined, null, "https://shop.example", { url: 7 }]) {
        const answer = yield* post("/verify", { ...v2, paymentPayload: { ...paymentV2, resource } })
        assert.strictEqual(answer.status, 200)
      }
      assert.deepStrictEqual(resources, ["", "", "", ""])
    })
  )

  const words: ReadonlyArray<readonly [failure: PaymentFailure, v1: string, v2: string]> = [
    [refuse("INSUFFICIENT_BALANCE", "", "m"), "insufficient_funds", "invalid_exact_evm_insufficient_balance"],
    [refuse("INVALID_SIGNATURE", "", "m"), "invalid_exact_evm_payload_signature", "invalid_exact_evm_signature"],
    [
      refuse("EXPIRED_PAYMENT", "expired", "m"),
      "invalid_exact_evm_payload_authorization_valid_before",
      "invalid_exact_evm_payload_authorization_valid_before"
    ],
    [
      refuse("EXPIRED_PAYMENT", "not_yet_valid", "m"),
      "invalid_exact_evm_payload_authorization_valid_after",
      "invalid_exact_evm_payload_authorization_valid_after"
    ],
    [refuse("NETWORK_MISMATCH", "other_network", "m"), "invalid_network", "invalid_exact_evm_network_mismatch"],
    [refuse("NETWORK_MISMATCH", "network_not_settled", "m"), "invalid_network", "invalid_network"],
    [
      refuse("INVALID_RECIPIENT", "", "m"),
      "invalid_exact_evm_payload_recipient_mismatch",
      "invalid_exact_evm_recipient_mismatch"
    ],
    [
      invalid("amount_mismatch", "", "m"),
      "invalid_exact_evm_payload_authorization_value",
      "invalid_exact_evm_payload_authorization_value_mismatch"
    ],
    [invalid("already_used", "0xabc", "m"), "duplicate_settlement", "invalid_exact_evm_nonce_already_used"],
    [invalid("malformed", "payload_fields", "m"), "invalid_payload", "invalid_payload"]
  ]

  it.live.each(words)("is told why a payment is refused: %s", ([failure, first, second]) =>
    Effect.gen(function* () {
      const service = yield* start({ verify: () => Effect.fail(failure), settle: () => Effect.fail(failure) })
      assert.deepStrictEqual(yield* verdicts(service, v1), refusedAs(1, first, "m"))
      assert.deepStrictEqual(yield* verdicts(service, v2), refusedAs(2, second, "m"))
    })
  )

  it.live.each(ValidationReason.literals)("is told that it is refused at all: %s", (reason) =>
    Effect.gen(function* () {
      const { post } = yield* start({ settle: () => Effect.fail(invalid(reason, "", "m")) })
      for (const sent of [v1, v2]) {
        const answer = yield* json(yield* post("/settle", sent))
        assert.deepInclude(answer, { success: false, transaction: "" })
        assert.match(JSON.stringify(answer), /"errorReason":"[a-z_0-9]+"/)
      }
    })
  )

  it.live("is told that a transfer is on its way, with its transaction where there is one", () =>
    Effect.gen(function* () {
      for (const transaction of ["0xabc", ""]) {
        const pending = new SettlementPending({
          paymentId,
          status: transaction === "" ? "accepted" : "sent",
          ...(transaction !== "" && { transaction }),
          message: "not yet"
        })
        const { post } = yield* start({ settle: () => Effect.fail(pending) })
        const second = yield* post("/settle", v2)
        assert.strictEqual(second.status, 200)
        const words = { errorReason: "settlement_pending", errorMessage: "settlement_pending: not yet" }
        assert.deepStrictEqual(yield* json(second), { success: false, ...words, transaction, network })
        const first = yield* json(yield* post("/settle", v1))
        const word = "unexpected_settle_error"
        assert.deepStrictEqual(first, { success: false, errorReason: word, transaction, network: "base" })
      }
    })
  )

  it.live("gets no verdict where nothing can be told", () =>
    Effect.gen(function* () {
      const { post } = yield* start({ verify: down, settle: down })
      for (const sent of [v1, v2]) {
        for (const path of ["/verify", "/settle"]) {
          const answer = yield* post(path, sent)
          assert.strictEqual(answer.status, 503)
          const said = yield* text(answer)
          assert.match(said, /^\{"error":"chain_unavailable","message":/)
          assert.notMatch(said, /isValid|success/)
        }
      }
    })
  )
})

describe("a body that is no request", () => {
  const both = "a body is either of this protocol (protocolVersion) or of x402 (x402Version), never both"
  const neither = "protocolVersion is missing, and so is x402Version"
  const { x402Version: _, ...unversioned } = v2
  const { paymentPayload: __, ...unpaid } = v2

  it.live.each([
    ["both versions, ours first", { ...body, x402Version: 2 }, both],
    ["both versions, version 2 first", { ...v2, protocolVersion: 2 }, both],
    ["both versions, version 1 first", { ...v1, protocolVersion: 2 }, both],
    ["both versions, one of them unknown", { ...v2, x402Version: 9, protocolVersion: 2 }, both],
    ["both versions, one of them null", { ...v2, protocolVersion: null }, both],
    ["neither version", unversioned, neither],
    ["no payment", unpaid, '["paymentPayload"]']
  ] as const)("400 with a fault for %s", ([, sent, words]) =>
    Effect.gen(function* () {
      const { post } = yield* start(nobody)
      for (const path of ["/verify", "/settle"]) {
        const answer = yield* post(path, sent)
        assert.strictEqual(answer.status, 400)
        const said = yield* json(answer)
        assert.deepInclude(said, { error: "malformed" })
        assert.include(JSON.stringify(said).replaceAll('\\"', '"'), words)
      }
    })
  )

  it.live("400 for a claim in the words of x402", () =>
    Effect.gen(function* () {
      const { post } = yield* start(nobody)
      for (const sent of [v1, v2, { ...body, x402Version: 2 }]) {
        assert.strictEqual((yield* post("/claims", { ...sent, claim })).status, 400)
      }
    })
  )

  it.live("413 and 400 for what is too long or nested too deep", () =>
    Effect.gen(function* () {
      const { post } = yield* start(nobody)
      const long = { ...v2, paymentPayload: { ...paymentV2, extensions: { a: "x".repeat(64 * 1024) } } }
      assert.strictEqual((yield* post("/settle", long)).status, 413)
      const deep = JSON.stringify(v2).replace('"extensions":{}', `"extensions":${nested(16)}`)
      assert.strictEqual((yield* post("/settle", deep)).status, 400)
    })
  )

  it.live("a payment as deep as a header may carry it is taken", () =>
    Effect.gen(function* () {
      const { post } = yield* start({ verify: () => Effect.succeed({ payer }) })
      const extensions: unknown = JSON.parse(nested(15))
      const deepest = { ...v2, paymentPayload: { ...paymentV2, extensions } }
      assert.strictEqual((yield* post("/verify", deepest)).status, 200)
    })
  )
})

describe("a request with something wrong inside is a verdict in its own version", () => {
  const cases: ReadonlyArray<readonly [name: string, version: 1 | 2, sent: object, word: string, network?: string]> = [
    ["a version to come", 2, { ...v2, x402Version: 3 }, "invalid_x402_version"],
    ["a version as text", 2, { ...v2, x402Version: "2" }, "invalid_x402_version"],
    ["no version at all", 2, { ...v2, x402Version: null }, "invalid_x402_version"],
    ["no version and no network", 2, { ...v2, x402Version: 0, paymentRequirements: 7 }, "invalid_x402_version", ""],
    ["version 2 in a body of 1", 1, { ...v1, paymentPayload: paymentV2 }, "invalid_x402_version"],
    ["version 1 in a body of 2", 2, { ...v2, paymentPayload: paymentV1 }, "invalid_x402_version"],
    ["a payment without a version, 1", 1, { ...v1, paymentPayload: { payload: {} } }, "invalid_payload"],
    ["a payment without a version, 2", 2, { ...v2, paymentPayload: { payload: {} } }, "invalid_payload"],
    ["a payment that is our own", 2, { ...v2, paymentPayload: request.paymentPayload }, "invalid_payload"],
    ["a payment that is a header", 1, { ...v1, paymentPayload: "eyJ9" }, "invalid_payload"],
    ["a payload that is none", 2, { ...v2, paymentPayload: { ...paymentV2, payload: [] } }, "invalid_payload"],
    [
      "requirements of the other version, 1",
      1,
      { ...v1, paymentRequirements: offerV2 },
      "invalid_payment_requirements",
      network
    ],
    [
      "requirements of the other version, 2",
      2,
      { ...v2, paymentRequirements: offerV1 },
      "invalid_payment_requirements",
      "base"
    ],
    [
      "an amount that is a number",
      2,
      { ...v2, paymentRequirements: { ...offerV2, amount: 1 } },
      "invalid_payment_requirements"
    ],
    ["a name that no network has", 1, { ...v1, paymentPayload: { ...paymentV1, network: "moon" } }, "invalid_network"],
    [
      "requirements for a network without a name",
      1,
      { ...v1, paymentRequirements: { ...offerV1, network: "solana" } },
      "invalid_network",
      "solana"
    ],
    [
      "a payment for another network, 1",
      1,
      { ...v1, paymentPayload: { ...paymentV1, network: "polygon" } },
      "invalid_network"
    ],
    [
      "a payment for another network, 2",
      2,
      { ...v2, paymentPayload: { ...paymentV2, accepted: { ...offerV2, network: "eip155:1" } } },
      "invalid_exact_evm_network_mismatch"
    ],
    [
      "a payment of another scheme, 1",
      1,
      { ...v1, paymentPayload: { ...paymentV1, scheme: "upto" } },
      "unsupported_scheme"
    ],
    [
      "a payment of another scheme, 2",
      2,
      { ...v2, paymentPayload: { ...paymentV2, accepted: { ...offerV2, scheme: "upto" } } },
      "unsupported_scheme"
    ]
  ]

  it.live.each(cases)("%s", ([, version, sent, word, name]) =>
    Effect.gen(function* () {
      const { verify, settle } = yield* verdicts(yield* start(nobody), sent)
      assert.deepInclude(verify, { isValid: false, invalidReason: word })
      assert.deepInclude(settle, {
        success: false,
        errorReason: word,
        transaction: "",
        network: name ?? named[version]
      })
      const explains = /"(invalid|error)Message":"[^"]{10}/
      for (const answer of [verify, settle]) assert.strictEqual(explains.test(JSON.stringify(answer)), version === 2)
    })
  )
})

describe("the guards hold for servers of x402 too", () => {
  const key = "shop-key-of-a-test-0001"
  const authorization = `Bearer ${key}`
  const shop = { name: "shop", keys: [ApiKey.digestOf(key)] }
  const good = {
    verify: () => Effect.succeed({ payer }),
    settle: () => Effect.succeed({ ...settled, execution: undefined })
  }

  it.live("401 without a key", () =>
    Effect.gen(function* () {
      const { post } = yield* start(nobody, { callers: [shop] })
      for (const sent of [v1, v2]) {
        for (const path of ["/verify", "/settle"]) {
          assert.strictEqual((yield* post(path, sent)).status, 401)
          assert.strictEqual((yield* post(path, sent, { authorization: "Bearer another-key-of-a-test" })).status, 401)
        }
      }
    })
  )

  it.live("403 for a payee that is not registered, whatever the payment is", () =>
    Effect.gen(function* () {
      const registered = { ...shop, registrations: [{ payees: [payTo] }] }
      const { post } = yield* start(good, { callers: [registered] })
      const elsewhere = { payTo: "0x9999999999999999999999999999999999999999" }
      for (const sent of [v1, v2]) {
        for (const path of ["/verify", "/settle"]) {
          assert.strictEqual((yield* post(path, sent, { authorization })).status, 200)
          const other = { ...sent, paymentRequirements: { ...sent.paymentRequirements, ...elsewhere } }
          for (const wrong of [other, { ...other, paymentPayload: null }]) {
            const answer = yield* post(path, wrong, { authorization })
            assert.strictEqual(answer.status, 403)
            assert.match(yield* text(answer), /^\{"error":"forbidden"/)
          }
        }
      }
    })
  )

  it.effect("refused payments may use half of the limit, and over it the response is 429 with Retry-After", () =>
    Effect.gen(function* () {
      const unread = TestFacilitator.schemeWith(Effect.succeed([]), {
        read: () => Effect.fail(refuse("INVALID_SIGNATURE", "unread", "it says nothing"))
      })
      const rates = { rate: { perSecond: 1, burst: 5 }, payerRate: { perSecond: 1, burst: 100 } }
      for (const sent of [v1, v2]) {
        for (const wrong of [
          { ...sent, paymentRequirements: {} },
          { ...sent, paymentPayload: {} }
        ]) {
          const { post } = yield* start(good, { callers: [{ ...shop, rates }] }, [unread])
          for (let time = 0; time < 3; time++)
            assert.strictEqual((yield* post("/verify", wrong, { authorization })).status, 200)
          const late = yield* post("/settle", sent, { authorization })
          assert.strictEqual(late.status, 429)
          assert.match(late.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
        }
      }
    })
  )

  it.live("answers are counted by the same outcomes", () =>
    Effect.gen(function* () {
      const { get, post } = yield* start({
        verify: () => Effect.fail(refuse("INVALID_SIGNATURE", "", "")),
        settle: good.settle
      })
      for (const sent of [v1, v2]) {
        yield* post("/verify", sent)
        yield* post("/settle", sent)
      }
      yield* post("/settle", { ...v2, x402Version: 7 })
      const metrics = yield* text(yield* get("/metrics"))
      for (const [operation, outcome, times] of [
        ["verify", "INVALID_SIGNATURE", 2],
        ["settle", "settled", 2],
        ["settle", "unsupported_version", 1]
      ]) {
        const series = `pontage_facilitator_responses_total{operation="${operation}",outcome="${outcome}"} ${times}\n`
        assert.include(metrics, series)
      }
    })
  )
})

describe("the supported kinds", () => {
  it.live("is told to servers of every kind, and each finds its own", () =>
    Effect.gen(function* () {
      const supported = {
        kinds: [
          { protocolVersion: 2, scheme: "exact", network, extra: { a: [1] } },
          { protocolVersion: 2, scheme: "exact", network: "ton:mainnet" }
        ],
        signers: { [network]: [payer] }
      } as const
      const { client, get } = yield* start({ supported: Effect.succeed(supported) })
      assert.deepStrictEqual(yield* json(yield* get("/supported")), {
        kinds: [
          { protocolVersion: 2, scheme: "exact", network, extra: { a: [1] }, x402Version: 2 },
          { protocolVersion: 2, scheme: "exact", network: "ton:mainnet", x402Version: 2 },
          { x402Version: 2, scheme: "exact", network: "tvm:-239" },
          { x402Version: 1, scheme: "exact", network: "base", extra: { a: [1] } }
        ],
        extensions: [],
        signers: { [network]: [payer] }
      })
      assert.deepStrictEqual(yield* client.supported, supported)
    })
  )

  it.live("and how to ask for it stands in the API's description", () =>
    Effect.gen(function* () {
      const { get } = yield* start({})
      const api = yield* text(yield* get("/openapi.json"))
      for (const word of ["x402Version", "protocolVersion", "invalidReason", "errorReason", "accepted", "claim"]) {
        assert.include(api, `"${word}"`)
      }
    })
  )
})
