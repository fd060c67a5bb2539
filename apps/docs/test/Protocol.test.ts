/** `protocol.md` against the code: each example decodes by the schema it claims to show, each table lists its fields. */
import { createHash } from "node:crypto"

import { assert, describe, it } from "@effect/vitest"
import {
  AsciiJson,
  Binding,
  DrawsApi,
  FacilitatorApi,
  MetaPayer,
  PaymentId,
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
  PurchaseReceipt,
  protocolPayer,
  Execution,
  Settlement,
  SignedOffer,
  SignedReceipt,
  x402v1Payer,
  x402v2Payer,
  X402ServerApiResponse,
  X402ServerApiKinds,
  X402ServerApiRequest
} from "@pontage/core"
import { Eip2612, Eip3009, ExactEvm, exactEvm, Permit2 } from "@pontage/evm"
import { PaymentExport, PaymentPage, ReadinessReport, WebhookBody } from "@pontage/facilitator"
import { ExactTon, TonAuthorization } from "@pontage/ton"
import { ExactTron, TronHex, TronTransaction } from "@pontage/tron"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as Markdown from "./Markdown.ts"

const text = Markdown.read("apps/docs/protocol.md")
const examples = Markdown.examplesOf(text)
const tables = Markdown.fieldTablesOf(text)

/** Schemas that decode without services, field by field. */
type Structure = Schema.ConstraintDecoder<unknown> & {
  readonly fields: Readonly<Record<string, Schema.ConstraintDecoder<unknown>>>
}

const RefusalHeader = Schema.Struct({ protocolVersion: Schema.Literal(2), schemes: Schema.Array(Schema.String) })

/** Schemas with the same fields on the wire. */
const structures: Readonly<Record<string, Structure>> = {
  PaymentRequirements: PaymentRequirements.PaymentRequirements,
  PaymentRequired: PaymentRequired.PaymentRequired,
  PaymentPayload: PaymentPayload.PaymentPayload,
  RequestBinding: PaymentPayload.RequestBinding,
  Settlement: Settlement.Settlement,
  IfRefused: Settlement.IfRefused,
  SignedReceipt: SignedReceipt.SignedReceipt,
  ReceiptStatement: SignedReceipt.ReceiptStatement,
  PurchaseReceipt: PurchaseReceipt.PurchaseReceipt,
  PurchaseStatement: PurchaseReceipt.PurchaseStatement,
  SignedOffer: SignedOffer.SignedOffer,
  OfferStatement: SignedOffer.OfferStatement,
  PaymentRecord: Settlement.PaymentRecord,
  EvmPayload: ExactEvm.Payload,
  EvmAuthorization: Eip3009.TransferWithAuthorization,
  PermitPayload: ExactEvm.PermitPayload,
  PermitTransfer: Permit2.PermitTransfer,
  SignedApproval: Eip2612.SignedApproval,
  TonPayload: ExactTon.Payload,
  TronPayload: ExactTron.Payload,
  TronSignedTransaction: ExactTron.Payload.fields.signedTransaction,
  Claim: FacilitatorApi.Claim,
  VerifyRequest: FacilitatorApi.VerifyRequest,
  VerifyResponse: FacilitatorApi.VerifyResponse,
  SettleRequest: FacilitatorApi.SettleRequest,
  SettleResponse: FacilitatorApi.SettleResponse,
  ClaimRequest: FacilitatorApi.ClaimRequest,
  FinishRequest: FacilitatorApi.FinishRequest,
  FinishesRequest: FacilitatorApi.FinishesRequest,
  FinishesResponse: FacilitatorApi.FinishesResponse,
  DrawsRequest: DrawsApi.DrawsRequest,
  DrawsResponse: DrawsApi.DrawsResponse,
  WindowRequest: DrawsApi.WindowRequest,
  RenewRequest: DrawsApi.RenewRequest,
  Standing: DrawsApi.Standing,
  VoucherResponse: DrawsApi.VoucherResponse,
  Fault: FacilitatorApi.Fault,
  PaymentPage,
  X402SupportedResponse: X402ServerApiKinds.X402SupportedResponse,
  WebhookBody,
  ReadinessReport,
  RefusalHeader
}

/** Parts of a structure that have a table of their own. */
const parts: Readonly<Record<string, ReadonlyArray<string>>> = {
  PaymentExportBeyondRecord: beyond(PaymentExport, Settlement.PaymentRecord),
  WebhookBodyBeyondExport: beyond(WebhookBody, PaymentExport)
}

function beyond(whole: Structure, part: Structure): ReadonlyArray<string> {
  return Object.keys(whole.fields).filter((field) => !(field in part.fields))
}

const isOptional = (structure: Structure, field: string): boolean => {
  const alone = Schema.Struct({ [field]: structure.fields[field] ?? Schema.Never })
  return Result.isSuccess(Schema.decodeUnknownResult(alone)({}))
}

const strictly = { onExcessProperty: "error" } as const

const base64 = (json: unknown): string => Buffer.from(JSON.stringify(json)).toString("base64")

const head = (status: number, fields: Readonly<Record<string, string>>) => ({
  status,
  header: (name: string) => fields[name.toLowerCase()] ?? null
})

/** The decoders of the examples that other code reads than a schema of ours. */
const decoders: Readonly<Record<string, (json: unknown) => void>> = {
  X402Required: (json) => {
    const refusal = x402v2Payer.readRefusal(head(402, { "payment-required": base64(json) }), undefined)
    assert(refusal !== undefined && Result.isSuccess(refusal), "it is not a payment request of x402 version 2")
    assert.lengthOf(refusal.success.required.accepts, 1)
  },
  X402RequiredV1: (json) => {
    const refusal = x402v1Payer.readRefusal(head(402, {}), json)
    assert(refusal !== undefined && Result.isSuccess(refusal), "it is not a payment request of x402 version 1")
    assert.lengthOf(refusal.success.required.accepts, 1)
  },
  X402Payment: (json) =>
    void Schema.decodeUnknownSync(X402ServerApiRequest.RequestV2.fields.paymentPayload.members[0], strictly)(json),
  X402PaymentV1: (json) =>
    void Schema.decodeUnknownSync(X402ServerApiRequest.RequestV1.fields.paymentPayload.members[0], strictly)(json),
  X402Receipt: (json) =>
    assert.isDefined(x402v2Payer.readReceipt(head(200, { "payment-response": base64(json) }).header)),
  X402ReceiptV1: (json) =>
    assert.isDefined(x402v1Payer.readReceipt(head(200, { "x-payment-response": base64(json) }).header)),
  McpRefusal: (json) => {
    const refusal = MetaPayer.requestIn(json as MetaPayer.ToolResponse)
    assert(refusal !== undefined, "it is not a payment request over MCP")
    decoders["X402Required"]?.(JSON.parse(refusal))
    assert.strictEqual(MetaPayer.toResponse(json as MetaPayer.ToolResponse).status, 402)
  },
  McpCall: (json) => {
    const call = Schema.Struct({ _meta: Schema.Struct({ "x402/payment": Schema.Json }) })
    decoders["X402Payment"]?.(Schema.decodeUnknownSync(call)(json)._meta["x402/payment"])
  },
  WindowResponse: (json) => void Schema.decodeUnknownSync(DrawsApi.WindowResponse, strictly)(json),
  McpResult: (json) => assert.isDefined(MetaPayer.receiptOf(json as MetaPayer.ToolResponse)),
  X402Request: (json) => {
    const request = X402ServerApiRequest.read(Schema.decodeUnknownSync(X402ServerApiRequest.RequestV2)(json))
    assert(Result.isSuccess(request.paymentPayload) && Result.isSuccess(request.paymentRequirements))
  },
  X402VerifyResponse: (json) => void Schema.decodeUnknownSync(X402ServerApiResponse.X402VerifyResponse, strictly)(json),
  X402SettleResponse: (json) => void Schema.decodeUnknownSync(X402ServerApiResponse.X402SettleResponse, strictly)(json)
}

const decoded = (shape: string, json: unknown): void => {
  const structure = structures[shape]
  const decoder = decoders[shape]
  if (structure !== undefined) return void Schema.decodeUnknownSync(structure, strictly)(json)
  assert(decoder !== undefined, `nothing reads the shape ${shape}`)
  decoder(json)
}

const example = (shape: string): unknown => {
  const found = examples.find((one) => one.shape === shape)
  assert(found !== undefined, `there is no example of ${shape}`)
  return JSON.parse(found.json)
}

describe("every JSON example", () => {
  it("of a signed receipt is signed by the account that the text names", () => {
    const receipt = Schema.decodeUnknownSync(SignedReceipt.SignedReceipt)(example("SignedReceipt"))
    const signer = exactEvm.receiptSignerOf(receipt)
    assert.include(text, `in the example \`${signer}\``)
    const purchase = Schema.decodeUnknownSync(PurchaseReceipt.PurchaseReceipt)(example("PurchaseReceipt"))
    assert.strictEqual(exactEvm.receiptSignerOf(purchase), signer)
    const offer = Schema.decodeUnknownSync(SignedOffer.SignedOffer)(example("SignedOffer"))
    assert.strictEqual(exactEvm.receiptSignerOf(offer), signer)
  })

  it("says what it shows", () => {
    assert.isAtLeast(examples.length, 30)
    assert.lengthOf(examples, Markdown.fencesOf(text))
  })

  for (const [index, { json, shape }] of examples.entries()) {
    it(`${index + 1} decodes as ${shape}`, () => assert.doesNotThrow(() => decoded(shape, JSON.parse(json))))
  }

  it("with a field that nobody knows does not", () => {
    for (const shape of ["PaymentRequired", "Settlement", "SettleResponse", "WebhookBody"]) {
      assert.throws(() => decoded(shape, { ...(example(shape) as object), invented: 1 }), /invented/, shape)
    }
  })
})

describe("every table of fields", () => {
  it("is of a structure of the code", () => {
    assert.isAtLeast(tables.size, 20)
    for (const name of tables.keys()) assert.isTrue(name in structures || name in parts, name)
  })

  for (const [name, rows] of tables) {
    it(`lists the fields of ${name}`, () => {
      const structure = structures[name]
      const fields = structure === undefined ? (parts[name] ?? []) : Object.keys(structure.fields)
      assert.sameMembers(
        rows.map((row) => row.name),
        [...fields]
      )
      if (structure === undefined) return
      for (const row of rows) assert.strictEqual(row.isRequired, !isOptional(structure, row.name), row.name)
    })
  }
})

describe("the examples of one payment agree:", () => {
  const payment = Schema.decodeUnknownSync(PaymentPayload.PaymentPayload)(example("PaymentPayload"))
  const evm = Schema.decodeUnknownSync(ExactEvm.Payload)(example("EvmPayload"))
  const receipt = Schema.decodeUnknownSync(Settlement.Settlement)(example("Settlement"))

  it("the payment's payload is the one shown", () =>
    assert.deepStrictEqual(Result.getOrThrow(PaymentPayload.openPayload(payment)), example("EvmPayload")))

  it("the header is one line of ASCII JSON", () => {
    const [, line = ""] = /^X-Payment: (.+)$/m.exec(text) ?? []
    assert.deepStrictEqual(Result.getOrThrow(AsciiJson.decode(line)), example("PaymentPayload"))
  })

  it("the refusal's header is that of our dialect", () => {
    const line = AsciiJson.encode(example("RefusalHeader"))
    assert.isTrue(protocolPayer.mayRefuse(head(402, { "x-payment": line })))
  })

  it.effect("the nonce follows from challenge and salt", () =>
    Effect.gen(function* () {
      assert(evm.binding !== undefined)
      assert.strictEqual(evm.authorization.nonce, yield* ExactEvm.boundNonce(evm.binding))
      const { challenge, salt } = evm.binding
      const tag = createHash("sha256").update(challenge, "ascii").update(Buffer.from(salt, "base64url")).digest()
      assert.strictEqual(evm.authorization.nonce, `0x${tag.toString("hex", 0, 24)}${"00".repeat(8)}`)
    })
  )

  it.effect("the name follows from network, asset, payer and nonce", () =>
    Effect.gen(function* () {
      const request = Schema.decodeUnknownSync(FacilitatorApi.SettleRequest)(example("SettleRequest"))
      const { asset = "" } = request.paymentRequirements
      const { network, payer } = receipt
      const { nonce } = evm.authorization
      assert.strictEqual(receipt.paymentId, yield* PaymentId.make(network, { asset, payer, nonce }))
      const digest = createHash("sha256").update([network, asset, payer, nonce].join(",")).digest("base64url")
      assert.strictEqual(receipt.paymentId, `pay_${digest.slice(0, 22)}`)
    })
  )

  it.effect("the query id on TON and the timestamp on TRON follow from challenge and salt", () =>
    Effect.gen(function* () {
      const ton = Schema.decodeUnknownSync(ExactTon.Payload)(example("TonPayload"))
      const tron = Schema.decodeUnknownSync(ExactTron.Payload)(example("TronPayload"))
      assert(ton.binding !== undefined && tron.binding !== undefined)
      const [, offer] = Schema.decodeUnknownSync(PaymentRequired.PaymentRequired)(example("PaymentRequired")).accepts
      const terms = offer && ExactTon.termsOf(offer)
      assert(terms !== undefined)
      const { transfer } = Result.getOrThrow(TonAuthorization.read(ton, terms))
      const tag = Buffer.from(yield* Binding.tag(ton.binding))
      assert.strictEqual(transfer.queryId, tag.readBigUInt64BE(0))
      const raw = TronHex.toBytes(tron.signedTransaction.raw_data_hex)
      const { timestamp } = Result.getOrThrow(TronTransaction.decodeTransfer(raw))
      const other = Buffer.from(yield* Binding.tag(tron.binding))
      assert.strictEqual(timestamp, BigInt(other.readUIntBE(0, 6)))
    })
  )
})

describe("the table of bounds", () => {
  const bounds: Readonly<Record<string, string>> = {
    "text of a payment header": `${AsciiJson.maximumHeaderBytes} bytes; x402: ${AsciiJson.maximumBase64Bytes}`,
    "depth of JSON in it": `${AsciiJson.maximumDepth}; x402: 16`,
    "execution lease": `${Execution.leaseMillis} milliseconds`,
    entitlement: `${Execution.entitlementMillis} milliseconds, ${Execution.maximumExecutions} executions`,
    "earlier claims that a claim resumes": `${FacilitatorApi.maximumResumed}`,
    "runs in one `POST /payments/finish`": `${FacilitatorApi.maximumFinishes}`
  }
  for (const [name, bound] of Object.entries(bounds)) {
    it(`names the code's own: ${name}`, () => {
      const row = text.split("\n").find((line) => line.startsWith(`| ${name} `))
      assert.strictEqual(row?.split("|")[2]?.trim(), bound)
    })
  }
})
