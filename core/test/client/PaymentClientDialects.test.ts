import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as PaymentClient from "../../src/client/PaymentClient.ts"
import * as PaymentJournal from "../../src/client/PaymentJournal.ts"
import type { Settlement } from "../../src/protocol/Settlement.ts"
import * as ClientSchemeRegistry from "../../src/scheme/ClientSchemeRegistry.ts"
import { protocolPayer } from "../../src/wire/pontage/ProtocolPayer.ts"
import { protocolSeller } from "../../src/wire/pontage/ProtocolSeller.ts"
import * as X402Identifier from "../../src/wire/x402/X402Identifier.ts"
import { x402v1Payer } from "../../src/wire/x402/X402v1Payer.ts"
import { x402v2Payer } from "../../src/wire/x402/X402v2Payer.ts"
import { buy, buyText, failure, waitingOut } from "./Payer.ts"
import * as Payer from "./Payer.ts"
import * as Shop from "./Shop.ts"
import * as Wallet from "./Wallet.ts"
import { base64, demandV2, resource, transaction, unbase64, versionOne, versionTwo } from "./X402Shops.ts"

describe.each([versionTwo, versionOne])("a shop of $name", (foreign) => {
  const { demand, envelope, offer, paid, paymentHeader } = foreign

  it.effect("is paid in its own words, once", () =>
    Effect.gen(function* () {
      const told: Array<Settlement> = []
      const world = yield* Payer.make({ onPayment: (receipt) => Effect.sync(() => void told.push(receipt)) })
      const shop = Shop.make(Shop.reply(paid))
      assert.strictEqual(yield* buyText(world, shop.request(), demand()), "the report")
      assert.strictEqual(world.wallet.signed.length, 1)
      assert.deepStrictEqual(Object.keys(shop.headers[0] ?? {}), [paymentHeader])
      const sent = unbase64(shop.payments[0])
      assert.strictEqual(JSON.stringify(sent), JSON.stringify(envelope(offer(), sent["payload"])))
      assert.include(sent["payload"], { value: "10000", asset: Wallet.dollars.address })
      const paymentId = told[0]?.paymentId ?? ""
      assert.match(paymentId, /^pay_[A-Za-z0-9_-]{22}$/)
      const payer = "0x4444444444444444444444444444444444444444"
      const receipt = {
        success: true,
        transaction,
        network: Wallet.network,
        payer,
        amount: "10000",
        paymentId
      } as const
      assert.deepStrictEqual(told, [receipt], "what the shop does not say is completed")
      const { entry } = yield* world.client.status(paymentId)
      assert.deepInclude(entry, { state: "settled", payer, receipt })
      assert.notProperty(entry, "headers", "what is over is never sent again")
    })
  )

  it.effect("may leave the payer out of its receipt", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const world = yield* Payer.make({ onPayment: ({ payer }) => Effect.sync(() => void told.push(payer)) })
      const shop = Shop.make(Shop.reply(() => paid("", { payer: null, amount: undefined })))
      yield* buy(world, shop.request(), demand())
      assert.deepStrictEqual(told, ["0x4444444444444444444444444444444444444444"])
    })
  )

  it.effect.each([
    ["another network", { network: "eip155:1" }],
    ["no success", { success: false }],
    ["no transaction", { transaction: "" }]
  ] as const)("is not believed a receipt of %s", ([, changes]) =>
    Effect.gen(function* () {
      const told: Array<unknown> = []
      const world = yield* Payer.make({ onPayment: (receipt) => Effect.sync(() => void told.push(receipt)) })
      const shop = Shop.make(Shop.reply(() => paid("the report", changes)))
      assert.strictEqual(yield* buyText(world, shop.request(), demand()), "the report")
      assert.deepStrictEqual(told, [])
    })
  )

  it.effect.each([
    ["an amount above the limit", { amount: "200000", maxAmountRequired: "200000" }, "over_request_limit"],
    ["an unknown asset", { asset: "0x9999999999999999999999999999999999999999" }, "asset_unknown"],
    ["another network", { network: foreign === versionOne ? "polygon" : "eip155:137" }, "no_acceptable_option"],
    ["a network that has no name", { network: "solana" }, "no_acceptable_option"],
    ["another scheme", { scheme: "upto" }, "no_acceptable_option"],
    ["a payee that is none", { payTo: "nobody" }, "no_acceptable_option"],
    ["an amount that is none", { amount: "1.5", maxAmountRequired: "1.5" }, "no_acceptable_option"]
  ] as const)("that asks for %s is declined", ([, changes, rule]) =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(Shop.reply(paid))
      const error = yield* failure(buy(world, shop.request(), demand([offer(changes)])))
      assert.strictEqual("rule" in error && error.rule, rule)
      assert.strictEqual(world.wallet.signed.length, 0)
      assert.strictEqual(shop.payments.length, 0)
    })
  )

  const escape = `${String.fromCharCode(27)}[2J${String.fromCharCode(0x9b)}31m${"x".repeat(9000)}`
  it.effect.each([
    ["a scheme", { scheme: escape }],
    ["a payee", { payTo: escape }],
    ["an asset", { asset: escape }]
  ] as const)("cannot have a terminal obey the name of %s that is declined", ([, changes]) =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const { message } = yield* failure(buy(world, Shop.make().request(), demand([offer(changes)])))
      assert.match(message, /^[ -~]{1,600}$/)
    })
  )

  it.effect("is paid by the option that is chosen among those that can be read", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make({ choose: (quotes) => quotes.at(-1) })
      const cheap = offer({ amount: "300", maxAmountRequired: "300" })
      const offers = [{ scheme: "exact" }, offer({ network: "unheard:of" }), offer(), cheap, offer({ asset: 1 })]
      const shop = Shop.make(Shop.reply(paid))
      yield* buy(world, shop.request(), demand(offers))
      const sent = unbase64(shop.payments[0])
      assert.deepStrictEqual(sent, envelope(cheap, sent["payload"]))
      assert.include(sent["payload"], { value: "300" })
    })
  )

  it.effect.each(["settlement_pending", "unexpected_settle_error", "unexpected_verify_error", "fetch failed"])(
    "that says %s is sent the same payment until it serves it",
    (word) =>
      Effect.gen(function* () {
        const world = yield* Payer.make()
        const shop = Shop.make(
          Shop.reply(() => demand(undefined, word)),
          Shop.reply(() => demand(undefined, word)),
          Shop.reply(paid)
        )
        assert.strictEqual(yield* waitingOut(buyText(world, shop.request(), demand())), "the report")
        assert.strictEqual(world.wallet.signed.length, 1)
        assert.strictEqual(shop.payments.length, 3)
        assert.strictEqual(new Set(shop.payments).size, 1)
      })
  )

  it.effect("that never knows ends as SettlementPending, with one signature however often it is asked", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(Shop.reply(() => demand(undefined, "unexpected_settle_error")))
      for (let call = 0; call < 3; call++) {
        const error = yield* waitingOut(failure(buy(world, shop.request(), demand())))
        assert.strictEqual(error._tag, "SettlementPending")
      }
      assert.strictEqual(world.wallet.signed.length, 1)
      assert.strictEqual(new Set(shop.payments).size, 1)
    })
  )

  it.effect.each([
    ["insufficient_funds", { _tag: "PaymentError", code: "INSUFFICIENT_BALANCE" }],
    ["invalid_exact_evm_payload_signature", { _tag: "PaymentError", code: "INVALID_SIGNATURE" }],
    ["invalid_exact_evm_nonce_already_used", { _tag: "ValidationError", reason: "already_used" }],
    ["invalid_payload", { _tag: "ValidationError", reason: "malformed" }],
    ["No matching payment requirements", { _tag: "PaymentRefused" }],
    ["a_word_of_tomorrow", { _tag: "PaymentRefused" }]
  ] as const)("that says %s has refused, and nothing is signed anew while that could be settled", ([word, expected]) =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(Shop.reply(() => demand(undefined, word)))
      const error = yield* failure(buy(world, shop.request(), demand()))
      assert.include(error, expected)
      yield* TestClock.adjust("100 seconds")
      assert.include(yield* failure(buy(world, shop.request(), demand())), expected)
      assert.strictEqual(world.wallet.signed.length, 1)
      assert.strictEqual(new Set(shop.payments).size, 1)
      assert.strictEqual(yield* world.spent, 10_000n, "what was sent stays spent")
    })
  )

  it.effect.each([500, 502, 503, 504])("that answers %i leaves it open: the next call sends the same", (status) =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const trouble = () => Response.json({ error: "Facilitator timeout" }, { status })
      const shop = Shop.make(Shop.reply(trouble), Shop.reply(paid))
      const response = yield* buy(world, shop.request(), demand())
      assert.strictEqual(response.status, status)
      assert.deepStrictEqual(yield* Effect.promise(() => response.json()), { error: "Facilitator timeout" }, "unread")
      assert.strictEqual(yield* buyText(world, shop.request(), demand()), "the report")
      assert.strictEqual(world.wallet.signed.length, 1)
      assert.strictEqual(new Set(shop.payments).size, 1)
    })
  )

  it.effect("that loses its response after it has settled is told of as used, and not paid twice", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const used = Shop.reply(() => demand(undefined, "invalid_exact_evm_nonce_already_used"))
      const shop = Shop.make(Shop.reset, used)
      const error = yield* waitingOut(failure(buy(world, shop.request(), demand())))
      assert.include(error, { _tag: "ValidationError", reason: "already_used" })
      assert.strictEqual(world.wallet.signed.length, 1)
      assert.strictEqual(new Set(shop.payments).size, 1)
      assert.strictEqual(yield* world.spent, 10_000n)
    })
  )

  it.effect("that has lost its response and forgets gets no second payment before its caller was told", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const lost = Shop.make(Shop.reset)
      assert.strictEqual((yield* waitingOut(failure(buy(world, lost.request(), demand()))))._tag, "SettlementPending")
      const word = "invalid_exact_evm_payload_authorization_valid_before"
      const shop = Shop.make(
        Shop.reply(() => demand(undefined, word)),
        Shop.reply(paid)
      )
      const error = yield* failure(buy(world, shop.request(), demand()))
      assert.include(error, { _tag: "PaymentError", code: "EXPIRED_PAYMENT" })
      assert.strictEqual(world.wallet.signed.length, 1)
      assert.strictEqual(shop.payments[0], lost.payments[0])
      assert.strictEqual(yield* buyText(world, shop.request(), demand()), "the report")
      assert.strictEqual(world.wallet.signed.length, 2)
      assert.strictEqual(yield* world.spent, 20_000n)
    })
  )

  it.effect("is sent by another process what the journal holds, byte for byte", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const lost = Shop.make(Shop.reset)
      yield* waitingOut(failure(buy(world, lost.request(), demand())))
      const wallet = Wallet.make()
      const other = yield* PaymentClient.make({}).pipe(
        Effect.provide(ClientSchemeRegistry.layer([wallet.schemeClient])),
        Effect.provideService(PaymentJournal.PaymentJournal, world.journal)
      )
      const shop = Shop.make(Shop.reply(paid))
      // The present offer is another one, and says nothing about the signed payment.
      const changed = yield* Payer.demand(other, demand([offer({ amount: "1", maxAmountRequired: "1" })]))
      const response = yield* other.pay(shop.request(), changed)
      assert.strictEqual(yield* Effect.promise(() => response.text()), "the report")
      assert.strictEqual(wallet.signed.length, 0)
      assert.deepStrictEqual(shop.headers[0], lost.headers[0])
    })
  )

  it.effect("is quoted like any other", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const demanded = yield* Payer.demand(world.client, demand())
      const { payable } = yield* world.client.quote(Shop.make().request(), demanded)
      assert.deepStrictEqual(
        payable.map(({ price, requirements }) => [price, requirements.network, requirements.payTo]),
        [["$0.01", Wallet.network, Wallet.payTo]]
      )
    })
  )
})

describe("a payment of version 2", () => {
  it.effect("repeats the offer, the resource and the extensions as they came, known or not", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const accepted = {
        tomorrow: [1, { a: null }],
        ...versionTwo.offer({ payTo: Wallet.payTo.toUpperCase().replace("0X", "0x") }),
        extra: { version: "2", name: "USD Coin", paymentFlow: "upfront", nested: { deep: [true] } }
      }
      const place = { ...resource, serviceName: "Ä", tags: ["x"], iconUrl: null }
      const extensions = { bazaar: { info: { input: { type: "http" } }, schema: { type: "object" } }, é: [null, "x"] }
      const shop = Shop.make(Shop.reply(versionTwo.paid))
      yield* buy(world, shop.request(), demandV2({ accepts: [accepted], resource: place, extensions }))
      const sent = unbase64(shop.payments[0])
      const expected = { x402Version: 2, payload: sent["payload"], extensions, resource: place, accepted }
      assert.strictEqual(JSON.stringify(sent), JSON.stringify(expected))
    })
  )

  it.effect("carries an identifier of its own where the server takes one", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const schema = { type: "object" }
      const extensions = { "payment-identifier": { info: { required: true }, schema }, other: 1 }
      const shop = Shop.make(Shop.reply(versionTwo.paid))
      yield* buy(world, shop.request(), demandV2({ extensions }))
      const sent = unbase64(shop.payments[0])["extensions"] as typeof extensions
      const { id, ...info } = sent["payment-identifier"].info as { readonly id?: string; readonly required: boolean }
      assert.match(id ?? "", /^[A-Za-z0-9_-]{16,128}$/)
      assert.deepStrictEqual({ ...sent, "payment-identifier": { info, schema } }, extensions)
    })
  )

  it("has another identifier for another nonce or signature, wherever it stands", () => {
    const extensions = { "payment-identifier": { info: { required: true } } }
    const terms = { from: "0".repeat(40), to: "1".repeat(40), value: "10000" }
    const payloads = [1, 2].flatMap((nonce) => [
      { nonce, ...terms },
      { ...terms, nonce },
      { signature: `${nonce}`.repeat(130), ...terms }
    ])
    const sent = payloads.map((payload) => JSON.stringify(X402Identifier.withIdentifier(extensions, payload)))
    assert.strictEqual(new Set(sent).size, payloads.length)
  })

  it.effect("has neither resource nor extensions where there were none", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(Shop.reply(versionTwo.paid))
      yield* buy(world, shop.request(), demandV2({ resource: undefined }))
      assert.deepStrictEqual(Object.keys(unbase64(shop.payments[0])), ["x402Version", "payload", "accepted"])
    })
  )

  it.effect("buys a response that is a demand of another kind, as of a service behind the shop", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const behind = versionOne.demand([], "pay me too")
      behind.headers.set("PAYMENT-RESPONSE", versionTwo.paid().headers.get("PAYMENT-RESPONSE") ?? "")
      const response = yield* buy(world, Shop.make(Shop.reply(() => behind)).request(), versionTwo.demand())
      assert.deepInclude(yield* Effect.promise(() => response.json()), { x402Version: 1, error: "pay me too" })
      assert.strictEqual((yield* world.journal.spent)("$").digits, 10_000n)
    })
  )

  it.effect("buys a response with its receipt, also where that is a demand like the first", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const onPayment = (receipt: Settlement) => Effect.sync(() => void told.push(receipt.transaction))
      const world = yield* Payer.make({ onPayment })
      const behind = versionTwo.demand()
      behind.headers.set("PAYMENT-RESPONSE", versionTwo.paid().headers.get("PAYMENT-RESPONSE") ?? "")
      const response = yield* buy(world, Shop.make(Shop.reply(() => behind)).request(), versionTwo.demand())
      assert.strictEqual(response.status, 402)
      assert.deepStrictEqual(told, [transaction])
    })
  )

  it.effect.each(["confirmation_timed_out", "insufficient_funds", undefined])(
    "is open where the server says %s and names a transaction",
    (errorReason) =>
      Effect.gen(function* () {
        const world = yield* Payer.make()
        const failed = { success: false, errorReason, transaction, network: Wallet.network }
        const refuse = (response: Response) => {
          response.headers.set("PAYMENT-RESPONSE", base64(failed))
          return response
        }
        const shop = Shop.make(
          Shop.reply(() => refuse(Response.json({}, { status: 402 }))),
          Shop.reply(() => refuse(versionTwo.demand(undefined, errorReason))),
          Shop.reply(versionTwo.paid)
        )
        assert.strictEqual(yield* waitingOut(buyText(world, shop.request(), versionTwo.demand())), "the report")
        assert.strictEqual(new Set(shop.payments).size, 1)
      })
  )

  it.effect("is refused too by a failed settlement without new offers", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const failed = { success: false, errorReason: "insufficient_funds", transaction: "", network: Wallet.network }
      const headers = { "PAYMENT-RESPONSE": Buffer.from(JSON.stringify(failed)).toString("base64") }
      const shop = Shop.make(Shop.reply(() => Response.json({}, { status: 402, headers })))
      const error = yield* failure(buy(world, shop.request(), versionTwo.demand()))
      assert.include(error, { _tag: "PaymentError", code: "INSUFFICIENT_BALANCE" })
    })
  )
})

/** Ours, and version 2 beside it, as our own servers speak; or all three in one response. */
const polyglot = (body?: object) => {
  const required = { error: "pay", accepts: [Wallet.offer()] }
  const headers = {
    ...protocolSeller.refusal(required).headers,
    ...Object.fromEntries(versionTwo.demand().headers),
    "content-type": "application/json"
  }
  return new Response(JSON.stringify({ ...required, ...body }), { status: 402, headers })
}

describe("a shop that speaks several dialects", () => {
  it.effect("is paid in the first that the payer prefers", () =>
    Effect.gen(function* () {
      const orders = [
        [undefined, "X-Payment"],
        [[x402v2Payer, protocolPayer], "PAYMENT-SIGNATURE"],
        [[x402v1Payer, protocolPayer], "X-Payment"],
        [[x402v1Payer], undefined]
      ] as const
      for (const [dialects, header] of orders) {
        const world = yield* Payer.make(dialects === undefined ? {} : { dialects })
        const demanded = yield* world.client.demandOf(polyglot())
        const shop = Shop.make(Shop.reply(versionTwo.paid))
        if (demanded !== undefined) yield* world.client.pay(shop.request(), demanded)
        assert.deepStrictEqual(Object.keys(shop.headers[0] ?? {}), header === undefined ? [] : [header])
      }
    })
  )

  it.effect("is paid in another where the first cannot be read", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(Shop.reply(versionTwo.paid))
      yield* buy(world, shop.request(), polyglot({ accepts: "nothing" }))
      assert.deepStrictEqual(Object.keys(shop.headers[0] ?? {}), ["PAYMENT-SIGNATURE"])
      const legacy = { x402Version: 1, error: "pay", accepts: [versionOne.offer()] }
      const preferring = yield* Payer.make({ dialects: [x402v1Payer, x402v2Payer] })
      const second = Shop.make(Shop.reply(versionOne.paid))
      yield* buy(preferring, second.request(), polyglot(legacy))
      assert.deepStrictEqual(Object.keys(second.headers[0] ?? {}), ["X-PAYMENT"])
    })
  )

  it.effect("is a failure of the first where none can be read", () =>
    Effect.gen(function* () {
      const { client } = yield* Payer.make()
      const broken = polyglot({ accepts: "nothing" })
      broken.headers.set("PAYMENT-REQUIRED", "no base64!")
      const error = yield* failure(client.demandOf(broken))
      assert.include(error, { _tag: "ValidationError", detail: "payment_required" })
    })
  )
})

describe("a 402 that demands nothing", () => {
  const plain: ReadonlyArray<readonly [string, () => Response]> = [
    ["of HTML", () => new Response("<html>", { status: 402, headers: { "content-type": "text/html" } })],
    ["of JSON", () => Response.json({ error: "quota exceeded", accepts: [] }, { status: 402 })],
    ["of a version nobody knows", () => Response.json({ x402Version: 3, accepts: [] }, { status: 402 })],
    ["of broken JSON", () => new Response("{", { status: 402, headers: { "content-type": "application/json" } })],
    ["of no body", () => new Response(null, { status: 402, headers: { "content-type": "application/json" } })],
    [
      "of more than is looked at",
      () => new Response(`"${"x".repeat(200_000)}"`, { status: 402, headers: { "content-type": "application/json" } })
    ]
  ]

  it.effect.each(plain)("%s is left as it is, its body unread", ([, make]) =>
    Effect.gen(function* () {
      const { client } = yield* Payer.make()
      const response = make()
      assert.isUndefined(yield* client.demandOf(response))
      assert.isFalse(response.bodyUsed)
      assert.strictEqual(yield* Effect.promise(() => response.text()), yield* Effect.promise(() => make().text()))
    })
  )

  it.effect("is looked at for no longer than half a minute", () =>
    Effect.gen(function* () {
      const { client } = yield* Payer.make()
      let cancelled = 0
      const endless = new ReadableStream({ cancel: () => void cancelled++ })
      const response = new Response(endless, { status: 402, headers: { "content-type": "application/json" } })
      assert.isUndefined(yield* waitingOut(client.demandOf(response)))
      assert.isFalse(response.bodyUsed)
      assert.strictEqual(cancelled, 0, "the caller may still read it")
      yield* Effect.promise(() => response.body?.cancel() ?? Promise.resolve())
      assert.strictEqual(cancelled, 1)
    })
  )
})
