/** Our signed receipts as the peer's package reads and verifies them, and the peer's as ours does. */
import { assert, layer } from "@effect/vitest"
import { SignedReceipt } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { signedReceiptOf } from "@pontage/fetch"
import { decodePaymentRequiredHeader } from "@x402/core/http"
import {
  createEIP712OfferReceiptIssuer,
  decodeSignedOffers,
  extractOffersFromPaymentRequired,
  extractReceiptFromResponse,
  findAcceptsObjectFromSignedOffer,
  isEIP712SignedOffer,
  isEIP712SignedReceipt,
  verifyOfferSignatureEIP712,
  verifyReceiptMatchesOffer,
  verifyReceiptSignatureEIP712
} from "@x402/extensions/offer-receipt"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { privateKeyToAccount } from "viem/accounts"

import * as OurBuyer from "../src/buyers/OurBuyer.ts"
import * as PeerBuyer from "../src/buyers/PeerBuyer.ts"
import * as MppTrial from "../src/mpp/MppTrial.ts"
import { untilOnSale } from "../src/shops/OnSale.ts"
import * as OurKoaShop from "../src/shops/OurKoaShop.ts"

class Market extends Context.Service<Market, MppTrial.MppMarket>()("ReceiptMarket") {}

const key = `0x${"33".repeat(32)}` as const
const signer = exactEvm.receiptSigner(key)

layer(Layer.effect(Market, MppTrial.market), { excludeTestServices: true, timeout: "120 seconds" })(
  "a receipt",
  (it) => {
    it.effect("of our shop is verified by the peer's package, at its buyer", () =>
      Effect.gen(function* () {
        const { chain, facilitator } = yield* Market
        const { accounts, rpcUrl } = chain.node
        const options = { facilitator, rpcUrl, payTo: accounts.payee.address, receiptKey: key }
        const shop = yield* OurKoaShop.start(options)
        yield* untilOnSale(shop.url)
        const { address, key: payer } = yield* chain.payer
        const url = `${shop.url}/report`
        const response = yield* Effect.promise(() => PeerBuyer.make({ key: payer, rpcUrl, send: fetch })(url))
        assert.strictEqual(response.status, 200)
        const receipt = extractReceiptFromResponse(response)
        assert(receipt !== undefined && isEIP712SignedReceipt(receipt))
        const verified = yield* Effect.promise(() => verifyReceiptSignatureEIP712(receipt))
        assert.strictEqual(verified.signer, signer.address)
        const [spent] = yield* chain.spent(address)
        assert.deepInclude(receipt.payload, { resourceUrl: url, transaction: spent?.transactionHash ?? "a transfer" })
        const { network, resourceUrl } = receipt.payload
        const offer = { resourceUrl, network } as Parameters<typeof verifyReceiptMatchesOffer>[1]
        assert.isTrue(verifyReceiptMatchesOffer(receipt, offer, [address]))

        const ours = yield* Effect.promise(() => OurBuyer.make({ key: payer, rpcUrl, send: fetch })(url))
        const own = signedReceiptOf(ours)
        assert(own !== undefined)
        assert.strictEqual(exactEvm.receiptSignerOf(own), signer.address)
        const [, second] = yield* chain.spent(address)
        assert.deepInclude(own.payload, { resourceUrl: url, amount: "10000" })
        assert.strictEqual(own.payload.transaction, second?.transactionHash)
      })
    )

    it.effect("is preceded by signed offers that the peer's package verifies, and finds among the others", () =>
      Effect.gen(function* () {
        const { chain, facilitator } = yield* Market
        const { accounts, rpcUrl } = chain.node
        const options = { facilitator, rpcUrl, payTo: accounts.payee.address, receiptKey: key }
        const shop = yield* OurKoaShop.start(options)
        yield* untilOnSale(shop.url)
        const url = `${shop.url}/report`
        const unpaid = yield* Effect.promise(() => fetch(url))
        const required = decodePaymentRequiredHeader(unpaid.headers.get("payment-required") ?? "")
        const offers = extractOffersFromPaymentRequired(required)
        assert.isNotEmpty(offers)
        for (const [index, decoded] of decodeSignedOffers(offers).entries()) {
          const offer = offers[index]
          assert(offer !== undefined && isEIP712SignedOffer(offer))
          assert.strictEqual((yield* Effect.promise(() => verifyOfferSignatureEIP712(offer))).signer, signer.address)
          assert.strictEqual(decoded.resourceUrl, url)
          assert.isAbove(decoded.validUntil * 1000, Date.now())
          const found = findAcceptsObjectFromSignedOffer(decoded, required.accepts)
          assert.strictEqual(found, required.accepts[decoded.acceptIndex ?? -1])
          assert.isDefined(found)
        }
      })
    )

    it.effect("of the peer's issuer is verified by ours, to the same signature", () =>
      Effect.promise(async () => {
        const account = privateKeyToAccount(key)
        const issuer = createEIP712OfferReceiptIssuer(`did:pkh:eip155:1:${account.address}#key-1`, (data) =>
          account.signTypedData(data)
        )
        const receipt = await issuer.issueReceipt("https://shop.example/a", account.address, "eip155:8453", "0xab")
        assert(isEIP712SignedReceipt(receipt))
        const { issuedAt, network, payer, resourceUrl, transaction } = receipt.payload
        const statement = { version: 1 as const, network, resourceUrl, payer, issuedAt, transaction }
        assert.strictEqual(await signer.signTypedData(SignedReceipt.typed(statement)), receipt.signature)
        const { signature } = receipt
        assert.strictEqual(
          exactEvm.receiptSignerOf({ format: "eip712", payload: statement, signature }),
          account.address
        )
      })
    )
  }
)
