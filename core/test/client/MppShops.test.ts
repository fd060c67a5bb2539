import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import type { Settlement } from "../../src/protocol/Settlement.ts"
import { mppPayer } from "../../src/wire/mpp/MppPayer.ts"
import * as MppText from "../../src/wire/mpp/MppText.ts"
import { buy, buyText, failure, waitingOut } from "./Payer.ts"
import * as Payer from "./Payer.ts"
import * as Shop from "./Shop.ts"
import * as Wallet from "./Wallet.ts"
import { transaction } from "./X402Shops.ts"

/** Shops of the Machine Payments Protocol and our paying client, without a network. */
const expires = "1970-01-01T00:17:40.000Z"
const endsAt = 1060

const challengeOf = (fields: object = {}, parameters: Readonly<Record<string, string>> = {}): string =>
  MppText.challenge({
    id: "an id of the shop's own",
    realm: "shop.example",
    method: "evm",
    intent: "charge",
    request: MppText.encode({
      amount: "10000",
      currency: Wallet.dollars.address,
      recipient: Wallet.payTo,
      methodDetails: { chainId: 8453, credentialTypes: ["authorization"] },
      ...fields
    }),
    expires,
    ...parameters
  })

const problem = (type: string, status: number, headers: Readonly<Record<string, string>> = {}) =>
  new Response(JSON.stringify({ type: `https://paymentauth.org/problems/${type}`, status, detail: "no" }), {
    status,
    headers: { "content-type": "application/problem+json", ...headers }
  })

const demand = (challenge = challengeOf()) => problem("payment-required", 402, { "www-authenticate": challenge })

const refuse = () => problem("verification-failed", 402, { "www-authenticate": challengeOf({}, { id: "two" }) })

const paid = (receipt: object = {}) => {
  const said = { method: "evm", reference: transaction, status: "success", timestamp: expires, ...receipt }
  return new Response("the report", { headers: { "payment-receipt": MppText.encode(said) } })
}

/** A wallet that signs transfer authorizations. */
const authorizing = (): Wallet.Wallet => {
  const wallet = Wallet.make()
  const sign: Wallet.Wallet["schemeClient"]["sign"] = (request) =>
    Effect.map(wallet.schemeClient.sign(request), (signed) => {
      const { requirements, validAfter, validBefore } = request
      const terms = { from: signed.payer, to: requirements.payTo, value: requirements.maxAmountRequired }
      const authorization = {
        ...terms,
        validAfter: `${validAfter}`,
        validBefore: `${validBefore}`,
        nonce: signed.nonce
      }
      return { ...signed, payload: { signature: "0xab", authorization } }
    })
  return { ...wallet, schemeClient: { ...wallet.schemeClient, sign } }
}

const payer = (options: Parameters<typeof Payer.make>[0] = {}) => Payer.make(options, authorizing())

describe("a shop of the Machine Payments Protocol", () => {
  it.effect("is paid once, by its challenge and no longer than it lasts; its receipt is completed", () =>
    Effect.gen(function* () {
      const told: Array<Settlement> = []
      const world = yield* payer({ onPayment: (receipt) => Effect.sync(() => void told.push(receipt)) })
      const shop = Shop.make(Shop.reply(paid))
      assert.strictEqual(yield* buyText(world, shop.request(), demand()), "the report")
      const [signed] = world.wallet.signed
      assert.deepStrictEqual(signed?.binding, { salt: "", challenge: "an id of the shop's own", realm: "shop.example" })
      assert.strictEqual(signed?.validBefore, endsAt)
      assert.lengthOf(world.wallet.signed, 1)
      assert.match(shop.headers[0]?.["Authorization"] ?? "", /^Payment [\w-]+$/)
      assert.lengthOf(told, 1)
      assert.deepInclude(told[0], { transaction, network: Wallet.network, amount: "10000" })
    })
  )

  it.effect("is paid at most two minutes ahead where its challenge lasts longer, or for ever", () =>
    Effect.gen(function* () {
      const long = challengeOf({}, { expires: "1970-01-02T00:00:00Z" })
      for (const challenge of [long, long.replace(/, expires="[^"]*"/, "")]) {
        const world = yield* payer()
        yield* buy(world, Shop.make(Shop.reply(paid)).request(), demand(challenge))
        assert.strictEqual(world.wallet.signed[0]?.validBefore, 1060)
      }
    })
  )

  it.effect("is sent the same credential until it says what became of it", () =>
    Effect.gen(function* () {
      const world = yield* payer()
      const shop = Shop.make(
        Shop.reply(() => problem("internal-payment-error", 500)),
        Shop.reply(() => problem("verification-failed", 503)),
        Shop.reset,
        Shop.reply(paid)
      )
      assert.strictEqual(yield* waitingOut(buyText(world, shop.request(), demand())), "the report")
      assert.lengthOf(world.wallet.signed, 1)
      assert.lengthOf(shop.payments, 4)
      assert.strictEqual(new Set(shop.payments).size, 1)
    })
  )

  it.effect("that refuses with a fresh challenge is not signed for again, neither by this call nor by the next", () =>
    Effect.gen(function* () {
      const world = yield* payer()
      const shop = Shop.make(Shop.reply(refuse), Shop.reply(paid))
      assert.strictEqual((yield* failure(buy(world, shop.request(), demand())))._tag, "PaymentRefused")
      assert.strictEqual(yield* buyText(world, shop.request(), demand()), "the report")
      assert.lengthOf(world.wallet.signed, 1)
      assert.strictEqual(new Set(shop.payments).size, 1)
    })
  )

  it.effect.each([
    ["another host as its realm", challengeOf({}, { realm: "other.example" }), /realm/],
    ["another port of the host", challengeOf({}, { realm: "shop.example:8443" }), /realm/],
    ["the origin of another host", challengeOf({}, { realm: "https://other.example/" }), /realm/],
    ["a challenge that has ended", challengeOf({}, { expires: "1970-01-01T00:16:40Z" }), /expired/],
    ["more than the limit", challengeOf({ amount: "100001" }), /limit/],
    ["another token", challengeOf({ currency: `0x${"9".repeat(40)}` }), /not known/],
    ["a payee that is none", challengeOf({ recipient: "nobody" }), /payee/],
    ["another chain", challengeOf({ methodDetails: { chainId: 1, credentialTypes: ["authorization"] } }), /scheme/],
    ["a method of its own alone", challengeOf({}, { method: "tempo" }), /no option/],
    ["a header that carries no payment", challengeOf({}, { header: "Cookie" }), /no option/]
  ] as const)("that asks for %s is paid nothing", ([, challenge, reason]) =>
    Effect.gen(function* () {
      const world = yield* payer()
      const shop = Shop.make(Shop.reply(paid))
      const error = yield* failure(buy(world, shop.request(), demand(challenge)))
      assert.strictEqual(error._tag, "PaymentDeclined")
      assert.match(error.message, reason)
      assert.lengthOf(world.wallet.signed, 0)
      assert.lengthOf(shop.payments, 0)
    })
  )

  it.effect.each([
    ["its host", "shop.example", []],
    ["its host in capitals", "SHOP.EXAMPLE", []],
    ["its origin", "https://shop.example", []],
    ["a name of its own", "MPP Payment", []],
    ["a host that the payer lists", "other.example", ["other.example"]]
  ] as const)("may call its realm by %s", ([, realm, realms]) =>
    Effect.gen(function* () {
      const world = yield* payer({ allow: { realms } })
      yield* buy(world, Shop.make(Shop.reply(paid)).request(), demand(challengeOf({}, { realm })))
      assert.lengthOf(world.wallet.signed, 1)
    })
  )

  it.effect("is not paid in a header that the request uses itself, but in the other one", () =>
    Effect.gen(function* () {
      const world = yield* payer()
      const shop = Shop.make(Shop.reply(paid))
      const request = shop.request({ uses: (header) => header.toLowerCase() === "authorization" })
      const error = yield* failure(buy(world, request, demand()))
      assert.match(error.message, /Payment-Authorization/)
      assert.lengthOf(world.wallet.signed, 0)
      yield* buy(world, request, demand(challengeOf({}, { header: "Payment-Authorization" })))
      assert.deepStrictEqual(Object.keys(shop.headers[0] ?? {}), ["Payment-Authorization"])
    })
  )

  it.effect("is sent nothing that it cannot carry: a payload of another kind, or a header of more than 32 KiB", () =>
    Effect.gen(function* () {
      const shop = Shop.make(Shop.reply(paid))
      const other = yield* Payer.make({})
      assert.strictEqual((yield* failure(buy(other, shop.request(), demand())))._tag, "SigningFailed")
      const world = yield* payer()
      const large = challengeOf({}, { opaque: "A".repeat(30_000) })
      assert.strictEqual((yield* failure(buy(world, shop.request(), demand(large))))._tag, "SigningFailed")
      assert.lengthOf(shop.payments, 0)
      assert.strictEqual(yield* world.spent, 0n)
    })
  )

  it.effect("is believed no receipt for another challenge", () =>
    Effect.gen(function* () {
      const told: Array<unknown> = []
      const world = yield* payer({ onPayment: (receipt) => Effect.sync(() => void told.push(receipt)) })
      const shop = Shop.make(Shop.reply(() => paid({ challengeId: "another" })))
      assert.strictEqual(yield* buyText(world, shop.request(), demand()), "the report")
      assert.deepStrictEqual(told, [])
    })
  )

  it.effect("is paid for each of two purchases by a challenge of its own", () =>
    Effect.gen(function* () {
      const world = yield* payer({ dialects: [mppPayer] })
      const shop = Shop.make(Shop.reply(paid))
      yield* buy(world, shop.request(), demand())
      yield* buy(world, shop.request(), demand(challengeOf({}, { id: "two" })))
      assert.strictEqual(new Set(shop.payments).size, 2)
      assert.deepStrictEqual(
        world.wallet.signed.map(({ binding }) => binding?.challenge),
        ["an id of the shop's own", "two"]
      )
    })
  )
})
