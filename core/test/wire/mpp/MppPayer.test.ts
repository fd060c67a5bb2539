import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import { mppPayer } from "../../../src/wire/mpp/MppPayer.ts"
import * as MppText from "../../../src/wire/mpp/MppText.ts"

/** The published example: a challenge of mppx 0.11.0 and what its own client answers to it. */
const example = {
  id: "2c8MFVbsuFtjxu9qQjq8XS-d_HEjFOkIefuKdVB-R3A",
  realm: "api.example.com",
  method: "evm",
  intent: "charge",
  request:
    "eyJhbW91bnQiOiIxMDAwMCIsImN1cnJlbmN5IjoiMHg4MzM1ODlmQ0Q2ZURiNkUwOGY0YzdDMzJENGY3MWI1NGJkQTAyOTEzIiwibWV0aG9kRGV0YWlscyI6eyJjaGFpbklkIjo4NDUzLCJjcmVkZW50aWFsVHlwZXMiOlsiYXV0aG9yaXphdGlvbiJdLCJkZWNpbWFscyI6Nn0sInJlY2lwaWVudCI6IjB4NzA5OTc5NzBDNTE4MTJkYzNBMDEwQzdkMDFiNTBlMGQxN2RjNzlDOCJ9",
  expires: "2026-11-22T15:11:00.000Z"
}
const authorization = {
  from: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  to: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  value: "10000",
  validAfter: "0",
  validBefore: "1795360260",
  nonce: "0x86dd1569fcfbbe9e22c2f57857afebe6299ec56ea3fb73e84ccc62b6bf81f9f1"
}
const signature =
  "0x63e9630ed82dab1a8eea97dd5cef5ae2bee24dd0f9b9448ee090929fd9047fa53700cf7a01341bbde6782dffec12756662be5d743d094833ffc6ad081b43a35c1b"

const text = MppText.challenge
const request: Record<string, unknown> = JSON.parse(Buffer.from(example.request, "base64url").toString("utf8"))
const changed = (fields: object): typeof example => ({
  ...example,
  request: MppText.encode({ ...request, ...fields })
})

const head = (status: number, headers: Record<string, string>) => {
  const all = new Headers(headers)
  return { status, header: (name: string) => all.get(name) }
}

const refusal = (challenges: string, body?: unknown, status = 402) => {
  const read = mppPayer.readRefusal(head(status, { "www-authenticate": challenges }), body)
  return read && Result.getOrThrow(read)
}

describe("a challenge", () => {
  it("is an option of exact, ends when it says, and binds by its id and realm", () => {
    const read = refusal(text(example))
    assert.deepStrictEqual(read?.required.accepts, [
      {
        scheme: "exact",
        network: "eip155:8453",
        maxAmountRequired: "10000",
        resource: "",
        payTo: authorization.to,
        asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        extra: { assetTransferMethod: "eip3009" }
      }
    ] as never)
    assert.deepStrictEqual(read?.termsOf?.(0), {
      binding: { salt: "", challenge: example.id, realm: example.realm },
      validUntil: 1795360260,
      header: "Authorization"
    })
  })

  it("is paid by the peer's own credential, field by field", () => {
    const sent = refusal(text(example))?.paymentHeaders(0, { authorization, signature, binding: { challenge: "x" } })
    assert.deepStrictEqual(Object.keys(sent ?? {}), ["Authorization"])
    assert.strictEqual(sent?.["Authorization"]?.length, 1280)
    assert.deepStrictEqual(MppText.decode(MppText.tokenIn(sent?.["Authorization"] ?? "") ?? ""), {
      challenge: example,
      payload: { ...authorization, type: "authorization", signature },
      source: `did:pkh:eip155:8453:${authorization.from}`
    })
  })

  it("is repeated with everything that came with it", () => {
    const whole = { ...example, description: "A report", digest: "sha-256=x", opaque: "e30", header: "authorization" }
    const sent = refusal(text(whole))?.paymentHeaders(0, { authorization, signature })
    const credential = MppText.decode(MppText.tokenIn(sent?.["authorization"] ?? "") ?? "")
    assert.deepInclude(credential, { challenge: whole })
  })

  it("names the header that carries its payment", () => {
    const named = { ...example, header: "Payment-Authorization" }
    const sent = refusal(text(named))?.paymentHeaders(0, { authorization, signature })
    assert.deepStrictEqual(Object.keys(sent ?? {}), ["Payment-Authorization"])
  })

  it.each([
    ["another method", { ...example, method: "tempo" }],
    ["another intent", { ...example, intent: "session" }],
    ["another header", { ...example, header: "Cookie" }],
    ["an end that is no instant", { ...example, expires: "tomorrow" }],
    ["a request that is no JSON", { ...example, request: "AAAA" }],
    ["a request that is no base64url", { ...example, request: "a+b" }],
    ["no type of credential", changed({ methodDetails: { chainId: 8453 } })],
    ["other types of credentials", changed({ methodDetails: { chainId: 8453, credentialTypes: ["permit2"] } })],
    [
      "splits",
      changed({ methodDetails: { chainId: 8453, credentialTypes: ["authorization"], splits: [{ amount: "1" }] } })
    ],
    ["no chain", changed({ methodDetails: { credentialTypes: ["authorization"] } })],
    ["half a chain", changed({ methodDetails: { chainId: 0.5, credentialTypes: ["authorization"] } })],
    ["an amount as a number", changed({ amount: 10000 })],
    ["an amount below zero", changed({ amount: "-1" })],
    ["an amount with a fraction", changed({ amount: "1.0" })],
    ["an amount of more than 256 bits", changed({ amount: "9".repeat(78) })],
    ["no recipient", changed({ recipient: undefined })],
    [
      "half of a character",
      { ...example, request: Buffer.from(JSON.stringify({ ...request, externalId: "\ud800" })).toString("base64url") }
    ]
  ])("of %s offers nothing", (_, challenge) => {
    assert.deepStrictEqual(refusal(text(challenge))?.required.accepts, [])
  })

  it("that can be paid is found beside others", () => {
    const both = `${text({ ...example, method: "tempo" })}, Bearer realm="x, Payment y", ${text(example)}`
    assert.lengthOf(refusal(both)?.required.accepts ?? [], 1)
  })

  it("pays nothing with a payload that is no transfer authorization", () => {
    const read = refusal(text(example))
    for (const payload of [{ userOperation: {} }, { signature }, { signature, authorization: { from: 1 } }, "x"]) {
      assert.deepStrictEqual(read?.paymentHeaders(0, payload), {})
    }
  })

  it("counts with status 402 alone", () => {
    assert.isUndefined(refusal(text(example), undefined, 401))
    assert.isFalse(mppPayer.mayRefuse(head(401, { "www-authenticate": text(example) })))
    assert.isFalse(mppPayer.mayRefuse(head(402, { "www-authenticate": 'Bearer realm="payment"' })))
  })

  it("that cannot be read is malformed", () => {
    const read = mppPayer.readRefusal(head(402, { "www-authenticate": 'Payment id="x"' }), undefined)
    assert.isTrue(read !== undefined && Result.isFailure(read))
  })
})

const problem = (type: string, more: object = {}, status = 402) => {
  const type_ = `https://paymentauth.org/problems/${type}`
  const at = head(status, { "content-type": "application/problem+json; charset=utf-8" })
  assert.isTrue(mppPayer.mayRefuse(at))
  const read = mppPayer.readRefusal(at, { type: type_, title: "T", status, detail: "why", ...more })
  return read && Result.getOrThrow(read).required
}

describe("problem details", () => {
  it.each([
    ["malformed-credential", { reason: "malformed" }],
    ["invalid-challenge", { reason: "binding_mismatch" }],
    ["method-unsupported", { reason: "unsupported_authorization" }],
    ["payment-expired", { code: "EXPIRED_PAYMENT" }],
    ["payment-insufficient", { reason: "amount_mismatch" }],
    ["internal-payment-error", { retry: "same_payment" }],
    ["verification-failed", {}]
  ])("of the type %s are typed", (type, verdict) => {
    assert.deepStrictEqual(problem(type), { error: "why", accepts: [], ...verdict, detail: type } as never)
  })

  it("of a Pontage server say its own fields", () => {
    const fields = { code: "INSUFFICIENT_BALANCE", reasonDetail: "balance", retry: "new_payment" }
    const { accepts: _, ...said } = problem("payment-insufficient", fields) ?? { accepts: [] }
    assert.deepStrictEqual(said, {
      error: "why",
      code: "INSUFFICIENT_BALANCE",
      detail: "balance",
      retry: "new_payment"
    })
  })

  it("of another protocol are none", () => {
    const at = head(503, { "content-type": "application/problem+json" })
    assert.isUndefined(mppPayer.readRefusal(at, { type: "about:blank", detail: "down" }))
    assert.isUndefined(mppPayer.readRefusal(at, "https://paymentauth.org/problems/payment-required"))
  })
})

const read = (json: unknown, paid?: { readonly network: string; readonly headers: Record<string, string> }) => {
  const headers = new Headers({ "payment-receipt": MppText.encode(json) })
  return mppPayer.readReceipt((name) => headers.get(name), paid)
}

describe("a receipt", () => {
  const receipt = { method: "evm", reference: "0xabc", status: "success", timestamp: "2026-11-22T15:10:00Z" }
  const paid = {
    network: "eip155:8453",
    headers: refusal(text(example))?.paymentHeaders(0, { authorization, signature }) ?? {}
  }

  it("names its chain, or else it is of the chain that was paid on", () => {
    const found = { success: true, transaction: "0xabc", network: "eip155:8453" } as const
    assert.deepStrictEqual(read({ ...receipt, chainId: 8453 }), found)
    assert.deepStrictEqual(read(receipt, paid), found)
    assert.deepStrictEqual(read({ ...receipt, challengeId: example.id }, paid), found)
    assert.isUndefined(read(receipt))
  })

  it.each([
    ["another challenge", { ...receipt, challengeId: "other" }],
    ["another method", { ...receipt, method: "tempo" }],
    ["no success", { ...receipt, status: "pending" }],
    ["no transaction", { ...receipt, reference: "" }],
    ["nothing", "x"]
  ])("of %s is none", (_, json) => {
    assert.isUndefined(read(json, paid))
  })
})
