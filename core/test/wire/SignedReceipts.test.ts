/** Signed receipts and offers in the messages of every dialect, and as its payer reads them. */
import { assert, describe, it } from "@effect/vitest"

import { mppMetaPayer, receiptHeaders as mppHeaders } from "../../src/wire/mpp/MppMetaPayer.ts"
import { mppMetaSeller } from "../../src/wire/mpp/MppMetaSeller.ts"
import { mppPayer } from "../../src/wire/mpp/MppPayer.ts"
import { mppSeller } from "../../src/wire/mpp/MppSeller.ts"
import type { PayerDialect, SellerDialect, SentHeaders } from "../../src/wire/pontage/Dialect.ts"
import { protocolPayer } from "../../src/wire/pontage/ProtocolPayer.ts"
import { protocolSeller } from "../../src/wire/pontage/ProtocolSeller.ts"
import type { PurchaseReceipt } from "../../src/wire/pontage/PurchaseReceipt.ts"
import type { SignedOffer } from "../../src/wire/pontage/SignedOffer.ts"
import * as X402MetaPayer from "../../src/wire/x402/X402MetaPayer.ts"
import { metaSeller } from "../../src/wire/x402/X402MetaSeller.ts"
import * as X402SignedStatements from "../../src/wire/x402/X402SignedStatements.ts"
import { x402v1Payer } from "../../src/wire/x402/X402v1Payer.ts"
import { x402v1Seller } from "../../src/wire/x402/X402v1Seller.ts"
import { x402v2Payer } from "../../src/wire/x402/X402v2Payer.ts"
import { x402v2Seller } from "../../src/wire/x402/X402v2Seller.ts"
import * as X402 from "./X402Cases.ts"

const { settlement } = X402
const purchase: PurchaseReceipt = {
  format: "pontage-eip712",
  payload: {
    version: 1,
    method: "GET",
    resourceUrl: "https://shop.example/ä",
    payer: settlement.payer,
    payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
    network: settlement.network,
    asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    amount: settlement.amount,
    transaction: settlement.transaction,
    paymentId: settlement.paymentId,
    issuedAt: 1_700_000_000,
    responseStatus: 200,
    responseSha256: "ab".repeat(32)
  },
  signature: `0x${"cd".repeat(65)}`
}
const brief = {
  format: "eip712",
  payload: {
    version: 1,
    network: settlement.network,
    resourceUrl: purchase.payload.resourceUrl,
    payer: settlement.payer,
    issuedAt: 1_700_000_000,
    transaction: settlement.transaction
  },
  signature: `0x${"ef".repeat(65)}`
} as const

const paid: SentHeaders = { network: settlement.network, headers: {} }

/** The headers that a payer of MCP reads for a result with these keys of `_meta`. */
const ofMeta = (meta: Readonly<Record<string, string>>) => {
  const _meta = Object.fromEntries(Object.entries(meta).map(([key, text]) => [key, JSON.parse(text)]))
  const { headers } = X402MetaPayer.toResponse({ content: [], _meta }, mppHeaders(_meta))
  return (name: string) => headers.get(name)
}
const ofHttp = (fields: Readonly<Record<string, string>>) => {
  const headers = new Headers(fields)
  return (name: string) => headers.get(name)
}

const dialects: ReadonlyArray<readonly [SellerDialect, PayerDialect, typeof ofHttp]> = [
  [protocolSeller, protocolPayer, ofHttp],
  [x402v2Seller, x402v2Payer, ofHttp],
  [x402v1Seller, x402v1Payer, ofHttp],
  [mppSeller(), mppPayer, ofHttp],
  [metaSeller, X402MetaPayer.metaPayer, ofMeta],
  [mppMetaSeller, mppMetaPayer, ofMeta]
]

describe.each(dialects)("a signed receipt by $name", (seller, payer, carried) => {
  const read = (receipts: Parameters<SellerDialect["receiptHeaders"]>[1]["receipts"]) => {
    const fields = seller.receiptHeaders(settlement, { now: 0, receipts })
    for (const text of Object.values(fields)) if (carried === ofHttp) assert.match(text, /^[ -~]+$/)
    return payer.readReceipt(carried(fields), paid)
  }

  it("is read by its payer as it was signed", () => {
    const receipt = read({ purchase, brief })
    assert.strictEqual(receipt?.transaction, settlement.transaction)
    assert.deepStrictEqual(receipt?.signed, purchase)
  })

  it("is left out without a signer, and a mistake in it costs it alone", () => {
    const plain = read({})
    assert.strictEqual(plain?.transaction, settlement.transaction)
    assert.isFalse(Object.hasOwn(plain ?? {}, "signed"))
    const broken = read({ purchase: { ...purchase, payload: { ...purchase.payload, amount: 1 as never } } })
    assert.deepStrictEqual(broken, plain)
    assert.deepStrictEqual(read({ purchase: { ...purchase, format: "eip712" as never } }), plain)
  })

  it("stands beside the brief one where peers know that", () => {
    const [text = ""] = Object.values(seller.receiptHeaders(settlement, { now: 0, receipts: { purchase, brief } }))
    const json = text.startsWith("{") ? text : Buffer.from(text, "base64").toString("utf8")
    assert.strictEqual(seller.carriesBriefReceipts === true, json.includes(brief.signature))
  })
})

describe("signed offers", () => {
  const offer: SignedOffer = {
    format: "eip712",
    acceptIndex: 1,
    payload: {
      version: 1,
      resourceUrl: "https://shop.example/report",
      scheme: "exact",
      network: "eip155:84532",
      asset: purchase.payload.asset,
      payTo: purchase.payload.payTo,
      amount: "10000",
      validUntil: 1_700_000_900
    },
    signature: brief.signature
  }
  const other = { ...offer, payload: { ...offer.payload, network: "eip155:31337" } }
  const signed = [other, offer]

  it("name their places among the offers that x402's payers are shown", () => {
    const { accepts } = X402.unpaid
    const [first] = accepts
    if (first === undefined) return assert.fail("no offer")
    const routed = { ...first, extra: { ...first.extra, assetTransferMethod: "route" } }
    const refused = { ...X402.unpaid, accepts: [routed, ...accepts] }
    const { personal } = x402v2Seller.refusal(refused, undefined, { signed: [{ ...other, acceptIndex: 0 }, offer] })
    const header = personal?.("t".repeat(22), 0).headers?.["PAYMENT-REQUIRED"]
    const shown = X402.unbase64(header) as { readonly extensions: object; readonly accepts: ReadonlyArray<unknown> }
    assert.strictEqual(shown.accepts.length, accepts.length)
    assert.deepStrictEqual(Reflect.get(shown.extensions, "offer-receipt").info, {
      offers: [{ ...offer, acceptIndex: 0 }]
    })
  })

  it("are the extension offer-receipt of version 2, over HTTP and over MCP", () => {
    const { personal } = x402v2Seller.refusal(X402.unpaid, undefined, { signed })
    const header = personal?.("t".repeat(22), 0).headers?.["PAYMENT-REQUIRED"]
    const { extensions } = X402.unbase64(header) as { readonly extensions: object }
    assert.deepStrictEqual(Reflect.get(extensions, "offer-receipt").info, { offers: signed })
    const result = metaSeller.refusal(X402.unpaid, undefined, { signed }).personal?.("t".repeat(22), 0)
    assert.include(JSON.stringify(result?.body), JSON.stringify(offer.payload))
  })

  it("are those that version 1 has a network for, without a place among the offers", () => {
    const { body } = x402v1Seller.refusal(X402.unpaid, undefined, { signed })
    const { acceptIndex: _, ...unplaced } = offer
    const extension = Reflect.get(Reflect.get(Object(body), "extensions"), "offer-receipt")
    assert.deepStrictEqual(extension.info, { offers: [unplaced] })
    assert.isFalse(Object.hasOwn(Object(x402v1Seller.refusal(X402.unpaid).body), "extensions"))
  })

  it("are as many as a payment has room to repeat", () => {
    const many = Array.from({ length: 20 }, () => offer)
    const text = JSON.stringify(X402SignedStatements.offered(many))
    assert.isBelow(text.length, X402SignedStatements.maximumOffersLength + 400)
    assert.include(text, offer.signature)
    assert.deepStrictEqual(X402SignedStatements.offered([]), {})
  })
})
