import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as fc from "fast-check"

import type { PaymentRequired } from "../../../src/protocol/PaymentRequired.ts"
import { mppSeller } from "../../../src/wire/mpp/MppSeller.ts"
import * as MppText from "../../../src/wire/mpp/MppText.ts"

/** Challenges, credentials and receipts as texts; the ids are those of a gate. */
const challenge = "c".repeat(43)
const token = "t".repeat(22)
const payee = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
const payer = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
const usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"

const offer = {
  scheme: "exact",
  network: "eip155:8453",
  maxAmountRequired: "10000",
  resource: "https://api.example.com/report",
  payTo: payee,
  maxTimeoutSeconds: 300,
  asset: usdc,
  extra: { name: "USD Coin", version: "2", challenge }
} as unknown as PaymentRequired["accepts"][number]

const terms = { realm: "api.example.com", status: 402 }
const now = Date.parse("2026-11-22T15:06:00.000Z")

const headerOf = (required: PaymentRequired, dialect = mppSeller()): string | undefined =>
  dialect.refusal(required, undefined, terms).personal?.(token, now).headers?.["WWW-Authenticate"]

const unpaid = (...accepts: PaymentRequired["accepts"]): PaymentRequired => ({ error: "pay", accepts })

/** The request of an example whose bytes a published client and server agree on, without its decimals. */
const request = MppText.encode({
  amount: "10000",
  currency: usdc,
  methodDetails: { chainId: 8453, credentialTypes: ["authorization"] },
  recipient: payee
})

const signed = {
  from: payer,
  to: payee,
  value: "10000",
  validAfter: "0",
  validBefore: "1795360260",
  nonce: `0x${"ab".repeat(32)}`,
  signature: `0x${"cd".repeat(65)}`,
  type: "authorization"
}

const credential = {
  challenge: {
    id: `${token}${challenge}`,
    realm: "api.example.com",
    method: "evm",
    intent: "charge",
    request,
    expires: "2026-11-22T15:11:00.000Z"
  },
  payload: signed,
  source: `did:pkh:eip155:8453:${payer}`
}

const read = (value: unknown, scheme = "Payment") => mppSeller().readPayment(`${scheme} ${MppText.encode(value)}`)

const wordsOf = (value: unknown): string => {
  const presented = read(value)
  return Result.isSuccess(presented)
    ? "read"
    : `${presented.failure._tag === "ValidationError" ? presented.failure.reason : presented.failure.code} ${presented.failure.detail}`
}

describe("a challenge", () => {
  it("is written to the byte", () => {
    assert.strictEqual(
      headerOf(unpaid(offer)),
      `Payment id="${token}${challenge}", realm="api.example.com", method="evm", intent="charge", request="${request}", expires="2026-11-22T15:11:00.000Z"`
    )
  })

  it("holds its request as canonical JSON: the keys in order, no space", () => {
    const keys = /request="([^"]+)"/.exec(headerOf(unpaid(offer)) ?? "")?.[1] ?? ""
    assert.strictEqual(
      Buffer.from(keys, "base64url").toString("utf8"),
      `{"amount":"10000","currency":"${usdc}","methodDetails":{"chainId":8453,"credentialTypes":["authorization"]},"recipient":"${payee}"}`
    )
  })

  it("is made for each option that the protocol has a method for, and for no other", () => {
    const others = [
      { ...offer, network: "ton:mainnet" },
      { ...offer, scheme: "batch-settlement" },
      { ...offer, extra: { ...offer.extra, assetTransferMethod: "permit2" } },
      { ...offer, extra: { name: "USD Coin", version: "2" } }
    ] as unknown as ReadonlyArray<typeof offer>
    assert.isUndefined(headerOf(unpaid(...others)))
    const two =
      headerOf(unpaid(offer, ...others, { ...offer, network: "eip155:1" as unknown as typeof offer.network })) ?? ""
    assert.lengthOf(two.match(/Payment id=/g) ?? [], 2)
    assert.include(two, `.000Z", Payment id="`)
  })

  it("names the header that the credential must use, if it is not Authorization", () => {
    const dialect = mppSeller({ header: "Payment-Authorization" })
    assert.include(headerOf(unpaid(offer), dialect), ', header="Payment-Authorization"')
    assert.strictEqual(dialect.paymentHeader, "Payment-Authorization")
    assert.throws(() => mppSeller({ header: "X" as "Authorization" }), /mppSeller: header: expected "Authorization" or/)
  })

  it.each(["same_payment", "wait", "never"] as const)(
    "is not made while a payment may still count, since clients sign again for each: retry %s",
    (retry) => assert.isUndefined(headerOf({ ...unpaid(offer), retry }))
  )

  it("is made again for a payment that is proven dead", () =>
    assert.isDefined(headerOf({ ...unpaid(offer), retry: "new_payment" })))

  it("leaves out alternatives beyond 6 KiB, which servers and proxies cut off", () => {
    const many = Array.from({ length: 40 }, (_, index) => ({
      ...offer,
      network: `eip155:${index + 1}` as unknown as typeof offer.network
    }))
    const header = headerOf(unpaid(...many)) ?? ""
    assert.isAtMost(header.length, 6 * 1024)
    assert.isAbove(header.length, 5 * 1024)
    assert.match(header, /Z"$/)
  })
})

describe("a credential", () => {
  it("is read as a payment that is bound to its challenge", () => {
    const presented = Result.getOrThrow(read(credential))
    const { type: _, signature, ...authorization } = signed
    assert.deepStrictEqual(JSON.parse(Buffer.from(presented.payment.payload, "base64").toString("utf8")), {
      signature,
      authorization,
      binding: { challenge, salt: token, realm: "api.example.com" }
    })
    assert.strictEqual(presented.payment.network, "eip155:8453")
    assert.strictEqual(presented.challengeId, credential.challenge.id)
    assert.deepInclude(presented.accepted, { maxAmountRequired: "10000", asset: usdc, payTo: payee })
  })

  it("is read in any case of the scheme's name, and without a source", () => {
    for (const scheme of ["payment", "PAYMENT", " Payment "]) assert.isTrue(Result.isSuccess(read(credential, scheme)))
    const { source: _, ...anonymous } = credential
    assert.strictEqual(wordsOf(anonymous), "read")
  })

  const of = (fields: object) => ({ ...credential, challenge: { ...credential.challenge, ...fields } })
  const asking = (fields: object) =>
    of({ request: MppText.encode({ ...JSON.parse(Buffer.from(request, "base64url").toString()), ...fields }) })

  it.each([
    ["another method", of({ method: "tempo" }), "malformed method_unsupported"],
    ["another intent", of({ intent: "session" }), "malformed method_unsupported"],
    ["another type", { ...credential, payload: { ...signed, type: "hash" } }, "malformed method_unsupported"],
    ["no signature", { ...credential, payload: { ...signed, signature: undefined } }, "malformed method_unsupported"],
    [
      "an id of another server",
      of({ id: "2c8MFVbsuFtjxu9qQjq8XS-d_HEjFOkIefuKdVB-R3A" }),
      "binding_mismatch unknown_challenge"
    ],
    ["an empty id", of({ id: "" }), "binding_mismatch unknown_challenge"],
    ["an id with a lone surrogate", of({ id: `${"t".repeat(64)}\ud800` }), "binding_mismatch unknown_challenge"],
    ["a request that is no JSON", of({ request: "AAAA" }), "binding_mismatch unknown_challenge"],
    ["splits", asking({ methodDetails: { chainId: 8453, splits: [] } }), "binding_mismatch unknown_challenge"],
    ["a chain that is no number", asking({ methodDetails: { chainId: "8453" } }), "binding_mismatch unknown_challenge"],
    ["another source", { ...credential, source: `did:pkh:eip155:8453:${payee}` }, "malformed source"],
    ["a source on another chain", { ...credential, source: `did:pkh:eip155:1:${payer}` }, "malformed source"],
    ["no challenge", { payload: signed }, "malformed credential"],
    ["a list", [credential], "malformed credential"]
  ])("with %s is refused", (_, value, words) => assert.strictEqual(wordsOf(value), words))

  it.each([
    ["nothing", "Payment"],
    ["two tokens", `Payment ${MppText.encode(credential)} more`],
    ["two credentials", `Payment ${MppText.encode(credential)}, Payment ${MppText.encode(credential)}`],
    ["standard base64", "Payment a+/b"],
    ["bytes that are no UTF-8", `Payment ${Buffer.from([0x7b, 0xff, 0x7d]).toString("base64url")}`],
    ["16 KiB", `Payment ${"A".repeat(16 * 1024)}`],
    ["deep JSON", `Payment ${Buffer.from(`${"[".repeat(40)}${"]".repeat(40)}`).toString("base64url")}`]
  ])("of %s is malformed, and no exception", (_, text) => {
    const presented = mppSeller().readPayment(text)
    assert(Result.isFailure(presented))
    assert(presented.failure._tag === "ValidationError")
    assert.strictEqual(presented.failure.reason, "malformed")
  })

  it("of any bytes is read or refused, and never throws", () => {
    const texts = fc.oneof(
      fc.string(),
      fc.json().map((text) => Buffer.from(text).toString("base64url"))
    )
    const ends = fc.sample(texts, 500).map((text) => mppSeller().readPayment(`Payment ${text}`)._tag)
    assert.deepStrictEqual([...new Set(ends)], ["Failure"])
  })

  it("is told from other schemes of the shared header", () => {
    const { recognises } = mppSeller()
    assert.deepStrictEqual(
      [
        "Payment x",
        "payment",
        "PAYMENT\tx",
        "Bearer x",
        "Basic Payment x",
        'Bearer realm="x, Payment y"',
        "Payments x",
        ""
      ].map(recognises),
      [true, true, true, false, false, false, false, false]
    )
  })
})

const typeOf = (words: Partial<PaymentRequired>) => {
  const body = mppSeller().refusal({ ...unpaid(), ...words }, undefined, terms).body as { readonly type: string }
  return body.type.replace("https://paymentauth.org/problems/", "")
}

describe("a refusal", () => {
  it("is problem details, with our own words beside them", () => {
    const { body, contentType } = mppSeller().refusal(
      { error: "too old", accepts: [offer], code: "EXPIRED_PAYMENT", detail: "expired" },
      undefined,
      terms
    )
    assert.strictEqual(contentType, "application/problem+json")
    assert.deepStrictEqual(body, {
      type: "https://paymentauth.org/problems/payment-expired",
      title: "Payment Expired",
      status: 402,
      detail: "too old",
      code: "EXPIRED_PAYMENT",
      reasonDetail: "expired"
    })
  })

  it("has the type of its reason", () => {
    assert.deepStrictEqual(
      [
        {},
        { reason: "malformed" as const, detail: "credential" },
        { reason: "malformed" as const, detail: "method_unsupported" },
        { reason: "binding_mismatch" as const },
        { code: "INSUFFICIENT_BALANCE" as const },
        { reason: "amount_mismatch" as const },
        { reason: "already_used" as const }
      ].map(typeOf),
      [
        "payment-required",
        "malformed-credential",
        "method-unsupported",
        "invalid-challenge",
        "payment-insufficient",
        "payment-insufficient",
        "verification-failed"
      ]
    )
  })
})

describe("a receipt", () => {
  it("names transaction, time, challenge and chain", () => {
    const settlement = {
      success: true as const,
      transaction: "0xfeed",
      network: "eip155:8453",
      payer,
      amount: "10000",
      paymentId: "pay_x"
    }
    const text = mppSeller().receiptHeaders(settlement, { now, challengeId: "id" })["Payment-Receipt"] ?? ""
    assert.deepStrictEqual(MppText.decode(text), {
      method: "evm",
      reference: "0xfeed",
      status: "success",
      timestamp: "2026-11-22T15:06:00.000Z",
      challengeId: "id",
      chainId: 8453
    })
  })
})
