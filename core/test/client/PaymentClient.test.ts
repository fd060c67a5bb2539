import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import type { PayableRequest } from "../../src/client/PayableRequest.ts"
import * as PaymentClient from "../../src/client/PaymentClient.ts"
import * as PaymentJournal from "../../src/client/PaymentJournal.ts"
import * as Network from "../../src/protocol/Network.ts"
import type { PaymentRequirements } from "../../src/protocol/PaymentRequirements.ts"
import { FacilitatorUnavailable } from "../../src/protocol/ProtocolError.ts"
import * as ClientSchemeRegistry from "../../src/scheme/ClientSchemeRegistry.ts"
import { buy, failure, waitingOut } from "./Payer.ts"
import * as Payer from "./Payer.ts"
import * as Shop from "./Shop.ts"
import * as Tabs from "./Tabs.ts"
import * as Wallet from "./Wallet.ts"

describe("the rules", () => {
  const declined = Effect.fnUntraced(function* (
    options: Partial<PaymentClient.Options>,
    request: Partial<PayableRequest> = {},
    refusal = Shop.refusal(402)
  ) {
    const world = yield* Payer.make(options)
    const shop = Shop.make(Shop.paid())
    const result = yield* Effect.result(buy(world, shop.request(request), refusal))
    assert.strictEqual(world.wallet.signed.length, 0, "nothing is signed")
    assert.strictEqual(shop.payments.length, 0, "nothing is sent")
    assert.strictEqual(yield* world.spent, 0n, "nothing is reserved")
    return Result.isFailure(result) && result.failure._tag === "PaymentDeclined" ? result.failure.rule : "not declined"
  })

  it.effect("come before every signature", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* declined({ limits: { perRequest: "$0.009" } }), "over_request_limit")
      assert.strictEqual(yield* declined({ limits: { perDay: "$0.009" } }), "over_day_limit")
      assert.strictEqual(yield* declined({ limits: { perHost: "$0.009" } }), "over_host_limit")
      assert.strictEqual(yield* declined({ allow: { hosts: ["other.example"] } }), "host_not_allowed")
      assert.strictEqual(yield* declined({ confirm: () => Effect.succeed(false) }), "confirm_refused")
      assert.strictEqual(yield* declined({ choose: () => undefined }), "no_acceptable_option")
      assert.strictEqual(yield* declined({ choose: ([first]) => first && { ...first } }), "no_acceptable_option")
      assert.strictEqual(yield* declined({}, { url: "http://shop.example/report" }), "insecure_url")
      assert.strictEqual(yield* declined({}, {}, Shop.refusal(402, { accepts: [] })), "no_acceptable_option")
    })
  )

  it.effect("name what could have been signed before what could not", () =>
    Effect.gen(function* () {
      const accepts = [Wallet.offer({ network: "eip155:1" as never }), Wallet.offer({ maxAmountRequired: "200000" })]
      assert.strictEqual(yield* declined({}, {}, Shop.refusal(402, { accepts })), "over_request_limit")
    })
  )

  it.effect("decline a refusal that came through a redirect to another origin", () =>
    Effect.gen(function* () {
      for (const url of ["https://evil.example/report", "https://shop.example:8443/report", "http://shop.example/"]) {
        const refusal = Object.defineProperty(Shop.refusal(402), "url", { value: url })
        assert.strictEqual(yield* declined({}, {}, refusal), "cross_origin", url)
      }
    })
  )

  it.effect("decline a redirected request with a body, for nobody knows its method", () =>
    Effect.gen(function* () {
      const redirected = { url: { value: "https://shop.example/other" }, redirected: { value: true } }
      const refusal = Object.defineProperties(Shop.refusal(402), redirected)
      assert.strictEqual(yield* declined({}, { method: "POST" }, refusal), "method_redirected")
    })
  )

  it.effect("pay the final address of a redirect within the origin", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(Shop.paid())
      const redirected = { url: { value: "https://shop.example/other?a=1#part" }, redirected: { value: true } }
      yield* buy(world, shop.request(), Object.defineProperties(Shop.refusal(402), redirected))
      assert.deepStrictEqual(shop.urls, ["https://shop.example/other?a=1"])
    })
  )

  it.effect("ask for a yes with the whole price, before signing", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const wallet = Wallet.make()
      const confirm = ({ price, url }: { readonly price: string; readonly url: string }) =>
        Effect.sync(() => {
          asked.push(`${price} ${url} ${wallet.signed.length}`)
          return true
        })
      const world = yield* Payer.make({ confirm }, wallet)
      yield* buy(world, Shop.make(Shop.paid()).request())
      assert.deepStrictEqual(asked, ["$0.01 https://shop.example/report 0"])
    })
  )

  it.effect("let the payer choose among the allowed options", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make({ choose: (quotes) => quotes.at(-1) })
      const accepts = ["1", "2", "3", "999999999"].map((maxAmountRequired) => Wallet.offer({ maxAmountRequired }))
      yield* buy(world, Shop.make(Shop.paid()).request(), Shop.refusal(402, { accepts }))
      assert.strictEqual(world.wallet.signed[0]?.requirements.maxAmountRequired, "3")
    })
  )

  it.effect("ask the payer's own node last, and take another option where it objects", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const wallet = Wallet.make()
      const chainObjection = ({ payTo }: PaymentRequirements) =>
        Effect.sync(() => {
          asked.push(payTo)
          return payTo === Wallet.payTo ? "the guard is missing" : undefined
        })
      const objecting = { ...wallet, schemeClient: { ...wallet.schemeClient, chainObjection } }
      const other = `0x${"77".repeat(20)}`
      const offers = [Wallet.offer(), Wallet.offer({ payTo: other }), Wallet.offer({ maxAmountRequired: "5000000" })]
      const world = yield* Payer.make({}, objecting)
      const shop = Shop.make(Shop.paid())
      assert.strictEqual((yield* buy(world, shop.request(), Shop.refusal(402, { accepts: offers }))).status, 200)
      assert.deepStrictEqual(asked, [Wallet.payTo, other], "an option above the limits needs no node")
      assert.deepStrictEqual(
        wallet.signed.map(({ requirements }) => requirements.payTo),
        [other]
      )
      const alone = yield* failure(buy(world, shop.request({ url: "https://shop.example/other" })))
      assert.strictEqual(alone._tag === "PaymentDeclined" && alone.rule, "terms_unsupported")
      assert.include(alone.message, `USDC on ${Wallet.network}: the guard is missing`)
      assert.strictEqual(wallet.signed.length, 1)
    })
  )

  it.effect("hold for a thousand requests at once: a budget for ten is ten signatures", () =>
    Effect.gen(function* () {
      const wallet = Wallet.make({ before: Effect.sleep("1 second") })
      const world = yield* Payer.make({ limits: { perDay: "$0.10" } }, wallet)
      const shop = Shop.make(Shop.paid())
      const requests = Array.from({ length: 1000 }, (_, index) =>
        Effect.result(buy(world, shop.request({ url: `https://shop.example/${index}` })))
      )
      const results = yield* waitingOut(Effect.all(requests, { concurrency: "unbounded" }))
      assert.strictEqual(results.filter(Result.isSuccess).length, 10)
      assert.strictEqual(wallet.signed.length, 10)
      assert.strictEqual(shop.payments.length, 10)
      assert.isTrue(
        results.filter(Result.isFailure).every(({ failure }) => "rule" in failure && failure.rule === "over_day_limit")
      )
    })
  )

  it.effect("of a network hold at once and after a restart, and leave the others alone", () =>
    Effect.gen(function* () {
      const browser = Tabs.make()
      const limits = { perDay: "$0.20", networks: { base: { perDay: "$0.10" } } }
      const wallet = Wallet.make({ before: Effect.sleep("1 second") })
      const mainnet = { network: Network.make("eip155:1") }
      const other = Wallet.make({ ...mainnet, assets: [{ ...Wallet.dollars, ...mainnet }] })
      const payer = () => Payer.make({ limits }, [wallet, other], browser.open().journal)
      const shop = Shop.make(Shop.paid())
      const world = yield* payer()
      const calls = (world: Payer.Payer) =>
        Array.from({ length: 30 }, (_, index) =>
          Effect.result(buy(world, shop.request({ url: `https://shop.example/${index}` })))
        )
      yield* waitingOut(Effect.all(calls(world), { concurrency: "unbounded" }))
      assert.strictEqual(wallet.signed.length, 10)
      const again = yield* payer()
      const after = yield* waitingOut(Effect.all(calls(again), { concurrency: "unbounded" }))
      assert.strictEqual(wallet.signed.length, 10)
      assert.isTrue(after.every((one) => Result.isFailure(one) && one.failure._tag === "PaymentDeclined"))
      const elsewhere = () => Shop.refusal(402, { accepts: [Wallet.offer(mainnet)] })
      const onMainnet = Array.from({ length: 12 }, () => Effect.result(buy(again, shop.request(), elsewhere())))
      yield* Effect.all(onMainnet)
      assert.strictEqual(other.signed.length, 10, "the limit of all networks holds there")
    })
  )

  it.effect("give a budget back a day later", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make({ limits: { perDay: "$0.01" } })
      const shop = Shop.make(Shop.paid())
      yield* buy(world, shop.request())
      assert.strictEqual((yield* failure(buy(world, shop.request())))._tag, "PaymentDeclined")
      yield* TestClock.adjust("24 hours")
      yield* buy(world, shop.request())
      assert.strictEqual(world.wallet.signed.length, 2)
    })
  )
})

const accepts = (changes: object) => JSON.stringify({ error: "pay", accepts: [{ ...Wallet.offer(), ...changes }] })

describe("a refusal of the unpaid request", () => {
  const asked = Effect.fnUntraced(function* (body: BodyInit) {
    const world = yield* Payer.make()
    const refusal = new Response(body, { status: 402, headers: { "X-Payment": "{}" } })
    const error = yield* failure(buy(world, Shop.make(Shop.paid()).request(), refusal))
    assert.strictEqual(world.wallet.signed.length, 0)
    return error._tag === "ValidationError" ? `${error.reason} ${error.detail}` : error._tag
  })

  it.effect.each([
    ["", "malformed refusal_not_json"],
    ["<html>", "malformed refusal_not_json"],
    ["null", "malformed payment_required"],
    ["[]", "malformed payment_required"],
    ['{"error":"pay"}', "malformed payment_required"],
    ['{"error":1,"accepts":[]}', "malformed payment_required"],
    ['{"error":"pay","accepts":{}}', "malformed payment_required"],
    ["[".repeat(40_000), "malformed refusal_too_deep"],
    [accepts({ maxAmountRequired: 10_000 }), "malformed payment_required"],
    [accepts({ maxAmountRequired: "1e4" }), "malformed payment_required"],
    [accepts({ maxAmountRequired: "-1" }), "malformed payment_required"],
    [accepts({ maxAmountRequired: "0x10" }), "malformed payment_required"],
    [accepts({ maxAmountRequired: "0.5" }), "malformed payment_required"],
    [accepts({ maxAmountRequired: (2n ** 256n).toString() }), "malformed payment_required"],
    [accepts({ maxAmountRequired: " 1" }), "malformed payment_required"],
    [accepts({ network: "no network" }), "malformed payment_required"],
    [accepts({ payTo: null }), "malformed payment_required"],
    [accepts({ maxTimeoutSeconds: 0.5 }), "malformed payment_required"],
    [accepts({ maxTimeoutSeconds: -1 }), "malformed payment_required"],
    [`{"error":"${"a".repeat(65_536)}","accepts":[]}`, "malformed refusal_too_long"]
  ] as const)("%# is not signed for when it is not a payment request", ([body, expected]) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* asked(body), expected)
    })
  )

  it.effect("is given up when its body never ends", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      let isCancelled = false
      const body = new ReadableStream({ cancel: () => void (isCancelled = true) })
      const refusal = new Response(body, { status: 402, headers: { "X-Payment": "{}" } })
      const error = yield* waitingOut(failure(buy(world, Shop.make(Shop.paid()).request(), refusal)))
      assert.include(error, { _tag: "ValidationError", detail: "refusal_too_slow" })
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      assert.isTrue(isCancelled)
    })
  )

  it.effect("demands a payment only by status 402 and a dialect", () =>
    Effect.gen(function* () {
      const { client } = yield* Payer.make()
      assert.isDefined(yield* client.demandOf(Shop.refusal(402)))
      assert.isUndefined(yield* client.demandOf(Shop.refusal(409)))
      assert.isUndefined(yield* client.demandOf(Shop.refusal(503)))
      assert.isUndefined(yield* client.demandOf(new Response("", { status: 402 })))
    })
  )
})

describe("quote", () => {
  it.effect("says what each option would cost and reserves nothing", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const accepts = [Wallet.offer(), Wallet.offer({ maxAmountRequired: "5000000" })]
      const { declined, payable } = yield* world.client.quote(
        { method: "GET", url: "https://shop.example/report" },
        yield* Payer.demand(world.client, Shop.refusal(402, { accepts }))
      )
      assert.deepStrictEqual(
        payable.map(({ price }) => price),
        ["$0.01"]
      )
      assert.deepStrictEqual(
        declined.map(({ rule }) => rule),
        ["over_request_limit"]
      )
      assert.strictEqual(world.wallet.signed.length, 0)
      assert.strictEqual(yield* world.spent, 0n)
    })
  )

  it.effect("takes the totals into account", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make({ limits: { perDay: "$0.015" } })
      yield* buy(world, Shop.make(Shop.paid()).request())
      const { declined } = yield* world.client.quote(
        { method: "GET", url: "https://shop.example/report" },
        yield* Payer.demand(world.client, Shop.refusal(402))
      )
      assert.deepStrictEqual(
        declined.map(({ rule }) => rule),
        ["over_day_limit"]
      )
    })
  )
})

describe("status", () => {
  it.effect("answers from the journal where there is no facilitator to ask", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const error = yield* waitingOut(failure(buy(world, Shop.make(Shop.reset).request())))
      const paymentId = "paymentId" in error ? error.paymentId : ""
      const { entry, record } = yield* world.client.status(paymentId)
      assert.include(entry, { paymentId, state: "pending", amount: "10000" })
      assert.isUndefined(record)
      assert.isUndefined((yield* world.client.status("pay_unknown")).entry)
    })
  )

  it.effect("fails where the facilitator cannot be asked", () =>
    Effect.gen(function* () {
      const down = Effect.fail(new FacilitatorUnavailable({ message: "down" }))
      const world = yield* Payer.make({ lookup: () => down })
      assert.strictEqual((yield* failure(world.client.status("pay_x")))._tag, "FacilitatorUnavailable")
    })
  )
})

describe("make", () => {
  it.effect("fails where an option is a mistake", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* failure(Payer.make({ limits: { perDay: "2" } })))._tag, "Misconfigured")
      assert.strictEqual((yield* failure(Payer.make({ allow: { networks: ["x"] } })))._tag, "Misconfigured")
    })
  )
})

describe("layer", () => {
  it.effect("logs the trouble beside a payment where nobody is told of it", () => {
    const logged: Array<unknown> = []
    const logger = Logger.make(({ message }) => void logged.push(message))
    const broken = new Error("the listener is broken")
    const client = PaymentClient.layer({ onPayment: () => Effect.die(broken) })
    return Effect.gen(function* () {
      const client = yield* PaymentClient.PaymentClient
      yield* client.pay(Shop.make(Shop.paid("served")).request(), yield* Payer.demand(client, Shop.refusal(402)))
      assert.deepStrictEqual(logged, [[broken]])
    }).pipe(
      Effect.provide(
        Layer.provide(client, [PaymentJournal.layerMemory, ClientSchemeRegistry.layer([Wallet.make().schemeClient])])
      ),
      Effect.provide(Logger.layer([logger]))
    )
  })
})
