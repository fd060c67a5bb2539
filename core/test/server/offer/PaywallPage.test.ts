/** The page for people at the gate: who gets it, its files, and that a shop without one has neither. */
import { type Decision, type GateRequest, type Paywall, PaymentGate, PriceResolver, Seller } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import { assert, describe, it } from "vitest"

import * as ServerSchemeRegistry from "../../../src/scheme/ServerSchemeRegistry.ts"
import * as Navigation from "../../../src/server/http/Navigation.ts"
import { fileOf, maximumFormBytes } from "../../../src/server/shop/Paywall.ts"
import * as FakeFacilitator from "../FakeFacilitator.ts"
import * as FakeScheme from "../FakeScheme.ts"
import * as GateTestRequest from "../GateTestRequest.ts"

const offers: Array<Paywall.PaywallOffer> = []

const page: Paywall.Paywall = {
  page: (offer) => {
    offers.push(offer)
    return { headers: { "Content-Type": "text/html", "Cache-Control": "no-store" }, body: "<p>the page</p>" }
  },
  file: (name, { method, origin, path }) =>
    name === "app.js"
      ? { headers: { "Content-Type": "text/javascript" }, body: `${origin} ${path} ${method}` }
      : undefined
}

const browser = {
  accept: "text/html,*/*;q=0.8",
  "sec-fetch-mode": "navigate",
  "user-agent": "Mozilla/5.0",
  "accept-language": "de"
}

const decided = async (
  paywall: Paywall.Paywall | undefined,
  ...given: Parameters<typeof GateTestRequest.request>
): Promise<Decision> => {
  const seller = Seller.make({
    origin: "https://shop.example",
    facilitator: FakeFacilitator.make().layer,
    schemes: [FakeScheme.evm()],
    secret: "s".repeat(32),
    ...(paywall && { paywall })
  })
  const route = seller.route("GET /report", {
    network: "eip155:8453",
    price: "$0.01",
    payTo: FakeScheme.alice,
    description: "The report"
  })
  await seller.ready()
  return seller.decide(route, GateTestRequest.request(...given))
}

const form = {
  ...browser,
  "content-type": "application/x-www-form-urlencoded",
  "content-length": "3",
  "sec-fetch-site": "same-origin"
}

const unreadable = () => assert.fail("the body is read")

/** Decides on an order by POST, whose payment is bound to the body unless told otherwise. */
const ordered = (request: GateRequest, bind: "none" | "body" = "body", logger?: Logger.Logger<unknown, void>) =>
  Effect.gen(function* () {
    const gate = yield* PaymentGate.make({ origin: "https://shop.example", secret: "s".repeat(32), paywall: page })
    const terms = { network: "eip155:8453", price: "$0.01", payTo: FakeScheme.alice } as const
    const route = yield* gate.route("POST /order", { ...terms, scheme: "exact", bind })
    yield* gate.ready
    return yield* gate.decide(route, request)
  }).pipe(
    Effect.provide([
      FakeFacilitator.make().layer,
      PriceResolver.layerDollar,
      ServerSchemeRegistry.layer([FakeScheme.evm()]),
      ...(logger === undefined ? [] : [Logger.layer([logger])])
    ]),
    Effect.scoped,
    Effect.runPromise
  )

const responseOf = (decision: Decision) =>
  decision._tag === "Refused" ? decision.response : assert.fail(`expected a response, got ${decision._tag}`)

describe("the page at the gate", () => {
  it("takes the place of the unpaid response's body, with the offer's terms; its headers of offers stay", async () => {
    const plain = responseOf(await decided(page, "/report?day=1", { accept: "*/*" }))
    const shown = responseOf(await decided(page, "/report?day=1", browser))
    assert.strictEqual(shown.status, 402)
    assert.strictEqual(shown.body, "<p>the page</p>")
    assert.deepStrictEqual(
      Object.keys(plain.headers).filter((name) => !(name in shown.headers)),
      []
    )
    assert.strictEqual(shown.headers["Content-Type"], "text/html")
    const { description, languages, options, origin, target } = offers.at(-1) ?? assert.fail("no page was made")
    assert.deepStrictEqual(
      [origin, target, description, languages],
      ["https://shop.example", "/report?day=1", "The report", "de"]
    )
    assert.deepStrictEqual(
      options.map(({ amount, payTo }) => [amount, payTo]),
      [[10_000n, FakeScheme.alice]]
    )
  })

  it("comes to nothing but a navigation without a payment", async () => {
    const others = [
      { ...browser, "sec-fetch-mode": "cors" },
      { ...browser, ...GateTestRequest.payment(undefined) }
    ]
    const decisions = await Promise.all(others.map((headers) => decided(page, "/report", headers)))
    for (const decision of decisions)
      assert.notStrictEqual(decision._tag === "Refused" ? decision.response.body : "", "<p>the page</p>")
    assert.notStrictEqual(responseOf(await decided(undefined, "/report", browser)).body, "<p>the page</p>")
  })

  it("repeats no stranger's form, and reads none", async () => {
    const strange = { ...form, "sec-fetch-site": "cross-site" }
    const given = { ...GateTestRequest.request("/order", strange, { method: "POST" }), copy: unreadable }
    const { body, headers, status } = responseOf(await ordered(given))
    assert.deepStrictEqual([status, body, offers.at(-1)?.form?._tag], [402, "<p>the page</p>", "Elsewhere"])
    assert.notInclude(JSON.stringify(headers), "challenge")
    const program = { ...given, header: (name: string) => (name === "sec-fetch-mode" ? "cors" : given.header(name)) }
    assert.strictEqual(responseOf(await ordered({ ...program, copy: async () => new Uint8Array(3) })).status, 402)
  })

  it.each([
    ["by its header", { ...form, "content-length": `${maximumFormBytes + 1}` }, unreadable],
    ["by its bytes", form, async (most: number) => new Uint8Array(most)]
  ] as const)("says that a form is too long: %s", async (_, headers, copy) => {
    const given = { ...GateTestRequest.request("/order", headers, { method: "POST" }), copy }
    const { body, status } = responseOf(await ordered(given))
    assert.deepStrictEqual([status, body, offers.at(-1)?.form?._tag], [413, "<p>the page</p>", "TooLong"])
  })

  it.each([
    ["nothing of a form that broke off", () => Promise.reject(new Error("reset")), []],
    ["that a parser has read the form", () => Promise.resolve(undefined), [1]]
  ] as const)("tells the operator %s", async (_, copy, expected) => {
    const given = { ...GateTestRequest.request("/order", form, { method: "POST" }), copy }
    const logged: Array<number> = []
    const logger = Logger.make(({ message }) => {
      if (String(message).includes("body parser")) logged.push(1)
    })
    const shown = await ordered(given, "none", logger)
    assert.strictEqual(responseOf(shown).status, 402)
    assert.deepStrictEqual([logged, offers.at(-1)?.form?._tag], [[...expected], "Unread"])
  })

  it("has its files at the sold path, free of charge; a shop without a page has none", async () => {
    const file = responseOf(await decided(page, "/report?pontage-paywall=app.js"))
    assert.deepStrictEqual([file.status, file.body], [200, "https://shop.example /report GET"])
    assert.strictEqual(responseOf(await decided(page, "/report?pontage-paywall=other.js")).status, 404)
    assert.strictEqual(responseOf(await decided(undefined, "/report?pontage-paywall=app.js")).status, 402)
    assert.strictEqual(
      responseOf(await decided(page, "/report?pontage-paywall=app.js", {}, { method: "POST" })).body,
      "https://shop.example /report POST"
    )
  })

  it("takes nothing for a file that could be a request of the resource", () => {
    for (const target of [
      "/report",
      "/r?a=1&pontage-paywall=x",
      "/r?pontage-paywall=",
      "/r?pontage-paywall=a/b",
      "/r?pontage-paywall=a&b=1"
    ])
      assert.isUndefined(fileOf(target))
  })
})

describe("a navigation", () => {
  it.each([
    [{}, true],
    [{ accept: "text/html;q=0" }, false],
    [{ accept: "text/html;q=0.0, */*" }, false],
    [{ accept: "text/htmlx" }, false],
    [{ accept: "application/json" }, false],
    [{ "sec-fetch-mode": "no-cors" }, false],
    [{ "user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1)" }, false],
    [{ "user-agent": "facebookexternalhit/1.1" }, false]
  ])("with %j: %s", (change, expected) => {
    assert.strictEqual(Navigation.isNavigation(GateTestRequest.request("/report", { ...browser, ...change })), expected)
  })

  it("is a GET", () => {
    assert.isFalse(Navigation.isNavigation(GateTestRequest.request("/report", browser, { method: "POST" })))
  })
})
