/** Every constructor of the core that takes options refuses those it does not know. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"

import * as Buyer from "../src/client/Buyer.ts"
import * as PaymentClient from "../src/client/PaymentClient.ts"
import * as PaymentJournal from "../src/client/PaymentJournal.ts"
import * as LocalFacilitator from "../src/facilitator/local/LocalFacilitator.ts"
import * as FacilitatorClient from "../src/facilitator/remote/FacilitatorClient.ts"
import { layerSole } from "../src/facilitator/store/LaneLeases.ts"
import * as MemoryPaymentStore from "../src/facilitator/store/MemoryPaymentStore.ts"
import * as FacilitatorByUrl from "../src/facilitator/x402/FacilitatorByUrl.ts"
import * as X402Facilitator from "../src/facilitator/x402/X402Facilitator.ts"
import { Misconfigured } from "../src/protocol/ProtocolError.ts"
import * as ClientSchemeRegistry from "../src/scheme/ClientSchemeRegistry.ts"
import * as FacilitatorSchemeRegistry from "../src/scheme/FacilitatorSchemeRegistry.ts"
import * as ServerSchemeRegistry from "../src/scheme/ServerSchemeRegistry.ts"
import * as PaymentGate from "../src/server/PaymentGate.ts"
import * as PricedRoute from "../src/server/route/PricedRoute.ts"
import * as Seller from "../src/server/Seller.ts"
import * as PriceResolver from "../src/server/shop/PriceResolver.ts"
import * as Shop from "../src/server/shop/Shop.ts"
import * as TestLedger from "../src/testing/ledger/TestLedger.ts"
import * as TestScheme from "../src/testing/ledger/TestScheme.ts"
import * as Wallet from "./client/Wallet.ts"
import * as FakeFacilitator from "./server/FakeFacilitator.ts"
import * as FakeScheme from "./server/FakeScheme.ts"

/** Options as a program without types gives them. */
type Loose = Readonly<Record<string, unknown>>

/** Runs a constructor; whatever the type of its options, `never` passes for it. */
type Try = (options: never) => Effect.Effect<unknown, unknown>

const messageOf = (make: Try, options: unknown): Effect.Effect<string> =>
  Effect.suspend(() => make(options as never)).pipe(
    Effect.match({
      onSuccess: () => "taken",
      onFailure: (error) => (error instanceof Misconfigured ? error.message : `no Misconfigured: ${String(error)}`)
    })
  )

const built = <A, E>(layer: Layer.Layer<A, E>) => Effect.scoped(Layer.build(layer))

const { schemeClient: payer } = Wallet.make()
const seller = FakeScheme.evm("eip155:8453")
const url = "https://facilitator.example"
const shop: Loose = { origin: "https://shop.example", secret: "s".repeat(32) }

const throwing = <A>(make: () => A) => Effect.try({ try: make, catch: (error) => error })

const servers = ServerSchemeRegistry.layer([seller])
const gateNeeds = Layer.mergeAll(FakeFacilitator.make().layer, PriceResolver.layerDollar, servers)
const clientNeeds = Layer.merge(PaymentJournal.layerMemory, ClientSchemeRegistry.layer([payer]))

const facilitatorSchemes = [Effect.succeed(TestScheme.facilitator(TestLedger.make()))]
const records = Layer.mergeAll(MemoryPaymentStore.layer, layerSole, FacilitatorSchemeRegistry.layer(facilitatorSchemes))

const constructors: Readonly<Record<string, { readonly make: Try; readonly good: Loose }>> = {
  "Buyer.make": { make: (options: never) => Buyer.make(options, []), good: { schemes: [payer] } },
  "PaymentClient.make": {
    make: (options: never) => Effect.provide(PaymentClient.make(options), clientNeeds),
    good: {}
  },
  "PaymentClient.layer": {
    make: (options: never) => built(Layer.provide(PaymentClient.layer(options), clientNeeds)),
    good: {}
  },
  "Seller.make": {
    make: (options: never) => throwing(() => Seller.make(options)),
    good: { ...shop, schemes: [seller], facilitator: url }
  },
  "PaymentGate.layer": {
    make: (options: never) => built(Layer.provide(PaymentGate.layer(options), gateNeeds)),
    good: shop
  },
  "FacilitatorClient.layer": { make: (options: never) => built(FacilitatorClient.layer(options)), good: { url } },
  "FacilitatorByUrl.layer": {
    make: (options: never) => built(Layer.provide(FacilitatorByUrl.layer(options), servers)),
    good: { url }
  },
  "X402Facilitator.layer": {
    make: (options: never) => built(Layer.provide(X402Facilitator.layer(options), servers)),
    good: { url }
  },
  "LocalFacilitator.layerMemory": {
    make: (options: never) => built(LocalFacilitator.layerMemory(options)),
    good: { schemes: facilitatorSchemes }
  },
  "LocalFacilitator.layer": {
    make: (options: never) => built(Layer.provide(LocalFacilitator.layer(options), records)),
    good: {}
  }
}

for (const [name, { good, make }] of Object.entries(constructors)) {
  describe(`${name} refuses`, () => {
    it.effect("a key it does not know", () =>
      Effect.map(messageOf(make, { ...good, nonsense: 1 }), (message) =>
        assert.match(message, /nonsense: unknown key; the keys are/)
      )
    )
    for (const value of [undefined, null, 1n, [], "https://a.example", () => good, new Map(), Object.create(good)]) {
      it.effect(`${Object.prototype.toString.call(value)} for its options`, () =>
        Effect.map(messageOf(make, value), (message) => assert.match(message, /the options: expected a plain object/))
      )
    }
  })
}

const refusals: ReadonlyArray<readonly [keyof typeof constructors, Loose, string]> = [
  ["Buyer.make", { limits: { perday: "$0.001" } }, "limits.perday: unknown key; did you mean perDay?"],
  ["Buyer.make", { limits: 1n }, "limits: expected a plain object, got a bigint"],
  ["Buyer.make", { limits: null }, "limits: expected a plain object, got null"],
  ["Buyer.make", { limits: { perDay: 1 } }, "limits.perDay: expected a text, got a number"],
  ["Buyer.make", { perDay: "$1" }, "perDay: unknown key; did you mean limits.perDay?"],
  ["Buyer.make", { limits: { assets: { "0x": { perday: "1" } } } }, "perday: unknown key; did you mean perDay?"],
  ["Buyer.make", { limits: { networks: { x: { perday: "$1" } } } }, "perday: unknown key; did you mean perDay?"],
  ["Buyer.make", { limits: { networks: { x: { networks: {} } } } }, "networks: unknown key"],
  ["Buyer.make", { limits: { networks: "base" } }, "limits.networks: expected a plain object, got a text"],
  ["Buyer.make", { allow: { host: ["a.example"] } }, "allow.host: unknown key; did you mean hosts?"],
  ["Buyer.make", { allow: { hosts: "a.example" } }, "allow.hosts: expected a list, got a text"],
  [
    "Buyer.make",
    { schemes: payer },
    "schemes: expected a list such as [exactEvm.client({ signer, network })], got an object"
  ],
  ["Buyer.make", { schemes: [seller] }, "schemes[0]: expected a scheme client"],
  ["Buyer.make", { journal: Promise.resolve() }, "journal: expected a journal, such as await fileJournal(path)"],
  ["Buyer.make", { confirm: true }, "confirm: expected a function, got true or false"],
  [
    "Buyer.make",
    { schemes: undefined },
    "schemes: expected a list such as [exactEvm.client({ signer, network })], got nothing"
  ],
  [
    "Seller.make",
    { origin: undefined },
    'origin: expected the shop\'s public origin such as "https://shop.example", got nothing; is the'
  ],
  ["Seller.make", { secret: undefined }, "secret: expected at least 32 characters"],
  ["Seller.make", { secret: "" }, "got an empty text; is the environment variable that holds it set?"],
  ["Seller.make", { facilitator: undefined }, "got nothing; is the environment variable that holds it set?"],
  ["Seller.make", { facilitator: "localhost:4021" }, 'write for example "http://localhost:4021"'],
  [
    "Seller.make",
    { schemes: undefined },
    "schemes: expected a list such as [exactEvm.server({ rpcUrl })], got nothing"
  ],
  ["Seller.make", { schemes: [payer] }, "schemes[0]: expected a scheme server"],
  ["Seller.make", { responses: { maximumBytes: 0 } }, "responses.maximumBytes: expected"],
  ["Seller.make", { responses: { age: "25 hours" } }, "responses.age: expected at most 24 hours, got 1d 1h"],
  ["Seller.make", { responses: { size: 1 } }, "responses.size"],
  ["Seller.make", { responseStore: {} }, "responseStore: expected a layer such as MemoryResponseStore.layer({ ... })"],
  ["Seller.make", { prices: {} }, "prices: expected a function, got an object"],
  ["Seller.make", { facilitator: 1 }, "facilitator: expected the address of a facilitator"],
  ["Seller.make", { facilitator: {} }, "facilitator: the url is not an address"],
  ["Seller.make", { facilitator: { url, timeout: 5 } }, "facilitator: timeout: unknown key; the keys are"],
  ["Seller.make", { facilitator: { url, header: {} } }, "facilitator: header: unknown key; did you mean headers?"],
  ["Seller.make", { facilitator: { url, timeoutMillis: "5" } }, "facilitator: timeoutMillis: expected a whole number"],
  ["FacilitatorClient.layer", { headers: { a: 1 } }, 'facilitator: headers["a"]: expected a text, got a number'],
  ["X402Facilitator.layer", { capacity: 0 }, "facilitator: capacity: expected a whole number of at least 1, got 0"],
  ["LocalFacilitator.layerMemory", { schemes: [{}] }, "schemes[0]: expected a scheme facilitator"],
  [
    "LocalFacilitator.layerMemory",
    { gasCeilings: { totals: 1n } },
    "gasCeilings.totals: unknown key; did you mean total?"
  ],
  [
    "LocalFacilitator.layerMemory",
    { channels: { leastClaims: 1n } },
    "channels.leastClaims: unknown key; did you mean"
  ],
  [
    "LocalFacilitator.layerMemory",
    { channels: 5 },
    "channels: expected a plain object, got a number; or expected a function"
  ],
  [
    "LocalFacilitator.layerMemory",
    { channels: () => ({ leastClaim: 0n }) },
    "LocalFacilitator: channels on ledger:test: leastClaim: expected"
  ]
]

describe("a refusal names the place, and says what came and what to do:", () => {
  it.effect.each(refusals)("%s %o", ([name, wrong, expected]) =>
    Effect.gen(function* () {
      const { good, make } = constructors[name] ?? assert.fail(name)
      const message = yield* messageOf(make, { ...good, ...wrong })
      assert.include(message, expected)
    })
  )
})

describe("a route refuses", () => {
  const route = { network: "eip155:8453", payTo: FakeScheme.alice, price: "$0.01" }
  const listed = { accepts: [{ scheme: "exact", ...route }] }
  const opened = Result.getOrThrow(
    Shop.make({
      origin: "https://shop.example",
      schemes: Result.getOrThrow(ServerSchemeRegistry.make([seller])),
      secret: "s".repeat(32),
      prices: PriceResolver.dollar
    })
  )
  const cases: ReadonlyArray<readonly [unknown, string]> = [
    [{ ...route, payto: FakeScheme.alice }, "payto: unknown key; did you mean payTo?"],
    [{ ...route, setle: "after-handler" }, "setle: unknown key; did you mean settle?"],
    [{ ...listed, price: "$1" }, "price: unknown key; did you mean accepts[].price?"],
    [{ accepts: [{ ...listed.accepts[0], prise: "$1" }] }, "accepts[0].prise: unknown key; did you mean price?"],
    [Object.create(route), "the options: expected a plain object, got an object that inherits from another"],
    [{ __proto__: route }, "the options: expected a plain object"],
    [null, "the options: expected a plain object, got null"],
    [[route], "the options: expected a plain object, got a list"]
  ]
  it.each(cases)("%o", (config, expected) => {
    const made = PricedRoute.make(opened, "GET /report", config as never)
    assert.include(Result.isFailure(made) ? made.failure.message : "taken", expected)
  })

  it("nothing for what is undefined", () => {
    for (const config of [
      { ...route, accepts: undefined, settle: undefined },
      { ...listed, getPrice: undefined }
    ]) {
      assert.isTrue(Result.isSuccess(PricedRoute.make(opened, "GET /report", config as never)))
    }
  })
})
