import { type RouteConfig, Seller } from "@pontage/core"
import { assert, describe, it } from "vitest"

import * as FakeFacilitator from "../FakeFacilitator.ts"
import * as FakeScheme from "../FakeScheme.ts"

const { alice } = FakeScheme

type Options = Partial<Seller.SellerOptions>

const shop = (options: Options = {}) =>
  Seller.make({
    origin: "https://shop.example",
    facilitator: FakeFacilitator.make().layer,
    schemes: [FakeScheme.evm(), FakeScheme.ton()],
    secret: "s".repeat(32),
    ...options
  })

const route = (config: object, options: Options = {}) => shop(options).route("GET /report", config as RouteConfig)

const mistake = (make: () => unknown): string => {
  try {
    make()
  } catch (error) {
    assert.strictEqual((error as { _tag?: string })._tag, "Misconfigured")
    return (error as Error).message
  }
  return "no mistake"
}

const base = { scheme: "exact", network: "eip155:8453", price: "$0.01", payTo: alice }
const single = (changes: object) => ({ ...base, ...changes })
const listed = (...accepts: ReadonlyArray<object>) => ({ accepts: accepts.map(single) })

describe("make", () => {
  it("takes both forms, aliases, and a scheme left out in the single form", () => {
    const { scheme: _, ...schemeless } = base
    const [option] = route({ ...schemeless, network: "evm:8453" }).options
    assert.strictEqual(option?.scheme, "exact")
    assert.strictEqual(option?.network, "eip155:8453")
    const { options, price } = route(listed({}, { network: "tvm:-239", payTo: "UQabc", price: "$2.5" }))
    assert.deepStrictEqual(
      options.map((one) => [one.network, one.payTo]),
      [
        ["eip155:8453", alice],
        ["ton:mainnet", "0:UQabc"]
      ]
    )
    assert.deepStrictEqual(price, [10_000n, 2_500_000n])
  })

  it("fills in the defaults", () => {
    const { binding, cache, maxTimeoutSeconds, settle } = route(base)
    assert.deepStrictEqual([binding, cache, maxTimeoutSeconds, settle], ["preferred", "private", 60, "before-handler"])
  })

  it("takes an asset by symbol and by address", () => {
    for (const asset of ["DAI", FakeScheme.dai, FakeScheme.dai.toUpperCase().replace("0X", "0x")]) {
      assert.deepStrictEqual(route(single({ asset })).price, [10_000_000_000_000_000n])
    }
  })

  it("lets one recipient stand for several networks of one family", () => {
    const schemes = [FakeScheme.evm(), FakeScheme.evm("eip155:1")]
    assert.strictEqual(route(listed({}, { network: "eip155:1" }), { schemes }).options.length, 2)
  })

  it.each<readonly [string, object, string]>([
    [
      "unknown network",
      single({ network: "solana:x" }),
      'network "solana:x" is unknown; the shop\'s schemes serve: eip155:8453, ton:mainnet'
    ],
    ["network without a scheme", single({ network: "eip155:10" }), "no scheme serves eip155:10; add it"],
    ["unknown scheme", single({ scheme: "upto" }), 'scheme "upto" is not registered; the shop\'s schemes are: exact'],
    ["scheme left out in a list", { accepts: [{ network: "eip155:8453", price: "$1", payTo: alice }] }, "scheme"],
    ["price without a dollar sign", single({ price: "0.01" }), 'expected a price like "$0.01"'],
    ["price with a comma", single({ price: "$1,000" }), 'expected a price like "$0.01"'],
    ["price as a number", single({ price: 1 }), "price"],
    ["too many digits", single({ price: "$0.0000001" }), "more digits than the asset's 6 decimals"],
    ["address of another family", single({ payTo: "UQabc" }), "is an address of ton; expected an address of eip155"],
    [
      "an unset recipient",
      single({ payTo: undefined }),
      "payTo: expected the address that is paid, got nothing; is the"
    ],
    [
      "an empty recipient",
      single({ payTo: "" }),
      "payTo: expected the address that is paid, got an empty text; is the"
    ],
    ["an unset network", single({ network: undefined }), "network: expected a network such as"],
    [
      "an unset recipient in a list",
      { accepts: [base, { ...base, payTo: undefined }] },
      "accepts[1].payTo: expected the address that is paid, got nothing"
    ],
    ["an account of nobody", single({ payTo: "nobody" }), 'payTo "nobody" is nobody\'s'],
    ["no address", single({ payTo: "alice" }), "is not an address; expected an address of eip155"],
    [
      "one recipient in two families",
      listed({}, { network: "ton:mainnet" }),
      "a recipient is reused within one chain family only"
    ],
    [
      "the same option twice",
      listed({}, { price: "$0.02" }),
      'accepts[1] offers "exact" on eip155:8453 in USDC a second time'
    ],
    ["the same option by an alias", listed({}, { network: "evm:8453" }), "a second time"],
    [
      "unknown asset",
      single({ asset: "DOGE" }),
      'asset "DOGE" is unknown on eip155:8453; name the asset, one of: USDC, DAI, WETH'
    ],
    ["an asset that is no dollar", single({ asset: "WETH" }), 'give the shop "prices"'],
    ["a price missing", single({ price: undefined }), 'price is missing; give a price such as "$0.01"'],
    [
      "a price missing in one option",
      { accepts: [base, { scheme: "exact", network: "ton:mainnet", payTo: "UQb" }] },
      "accepts[1] price is missing"
    ],
    ["price and getPrice", single({ getPrice: () => "$1" }), "price and getPrice are both given"],
    [
      "getPrice for an asset that is no dollar",
      { ...base, price: undefined, asset: "WETH", getPrice: () => "$1" },
      'give the shop "prices"'
    ],
    ["a price that may take no time", single({ priceTimeoutMillis: 0 }), "priceTimeoutMillis"],
    ["charge that is none", single({ charge: "$1" }), "charge is not a function"],
    [
      "charge of a price that moves before the handler",
      single({ charge: () => "$0" }),
      'sell the route by scheme: "batch-settlement" alone'
    ],
    ["getPrice that is none", { ...base, getPrice: "$1" }, "getPrice is not a function"],
    ["an empty list", { accepts: [] }, "accepts"],
    ["both forms", { ...base, accepts: [base] }, "route"],
    ["a misspelled field", single({ descripton: "x" }), "descripton"],
    [
      "free beside paid",
      listed({ price: "$0" }, { network: "ton:mainnet", payTo: "UQb" }),
      "some options are free and others are not"
    ],
    ["a timeout of zero", single({ maxTimeoutSeconds: 0 }), "maxTimeoutSeconds"],
    ["an unknown order", single({ settle: "later" }), "settle"],
    ["an unknown binding", single({ binding: "yes" }), "binding"],
    ["a header with a line break", single({ cache: "public\r\nX-Evil: 1" }), "cache"],
    ["an extra that is proven", single({ extra: { version: "9" } }), "extra.version is set by the gate"],
    ["an extra challenge", single({ extra: { challenge: "x" } }), "extra.challenge is set by the gate"]
  ])("names the route and the mend: %s", (_, config, mend) => {
    const message = mistake(() => route(config))
    assert.include(message, 'route "GET /report": ')
    assert.include(message, mend)
  })

  it("names the assets where a network has no dollar stablecoin", () => {
    const message = mistake(() => route(single({ network: "eip155:1" }), { schemes: [FakeScheme.coinless()] }))
    assert.include(message, "no default token is known on eip155:1; name the asset, one of: USDC, DAI, WETH")
  })

  it("finds one recipient in two families across routes", () => {
    const seller = shop()
    seller.route("GET /a", { scheme: "exact", network: "eip155:8453", price: "$1", payTo: alice })
    const message = mistake(() =>
      seller.route("GET /b", { scheme: "exact", network: "ton:mainnet", price: "$1", payTo: alice })
    )
    assert.include(message, `payTo "${alice}" is used for eip155 and ton`)
  })

  it("gives a scheme server without a network the one that the routes name, and no second", () => {
    const seller = shop({ schemes: [openHalf] })
    assert.strictEqual(seller.route("GET /a", base).options[0]?.network, "eip155:8453")
    assert.strictEqual(seller.route("GET /b", base).options[0]?.network, "eip155:8453")
    const message = mistake(() => seller.route("GET /c", { ...base, network: "eip155:1" }))
    assert.include(message, "the scheme registered without a network serves eip155:8453 already")
  })

  it("asks the operator's prices for an asset that is no dollar", () => {
    const prices = pricesOfEther
    assert.deepStrictEqual(route(single({ asset: "WETH" }), { prices }).price, [4n])
    assert.deepStrictEqual(route(base, { prices }).price, [10_000n])
    assert.include(
      mistake(() => route(single({ asset: "WETH", price: "$1" }), { prices })),
      'give the shop "prices"'
    )
  })

  it.each([0n, -1n, 2n ** 256n, 0.5 as unknown as bigint])(
    "takes no amount of %s from the operator's prices",
    (amount) => {
      assert.include(
        mistake(() => route(base, { prices: () => amount })),
        "expected a whole amount from 1 to 2^256-1"
      )
    }
  )

  it("tells when the operator's prices throw", () => {
    const prices = brokenPrices
    assert.include(
      mistake(() => route(base, { prices })),
      '"prices" threw for $0.01 in USDC'
    )
  })
})

const pricesOfEther: NonNullable<Options["prices"]> = (price, { symbol }) =>
  symbol === "WETH" && price === "$0.01" ? 4n : undefined

const brokenPrices = () => {
  throw new TypeError("feed is down")
}

const openHalf = { ...FakeScheme.evm(), network: undefined }

describe("a shop", () => {
  it.each<readonly [string, Options, string]>([
    ["no origin", { origin: undefined as unknown as string }, "origin: expected the shop's public origin"],
    ["an origin that is a name", { origin: "shop.example" }, "origin: expected the shop's public origin"],
    ["an origin with another scheme", { origin: "ftp://shop.example" }, "origin: expected the shop's public origin"],
    ["an origin with a path", { origin: "https://shop.example/x" }, 'write "https://shop.example"'],
    ["an origin with a user", { origin: "https://u:p@shop.example" }, 'write "https://shop.example"'],
    ["plain http", { origin: "http://shop.example" }, "use https"],
    ["http to a name that only looks local", { origin: "http://localhost.evil.example" }, "use https"],
    ["no secret", { secret: undefined as unknown as string }, "secret: expected at least 32 characters"],
    ["a short secret", { secret: "hunter2" }, "secret: expected at least 32 characters"],
    ["no scheme", { schemes: [] }, "schemes: the list is empty"],
    ["one scheme twice", { schemes: [FakeScheme.evm(), FakeScheme.evm()] }, "is given twice for eip155:8453"],
    ["a facilitator that is no address", { facilitator: "facilitator" }, "facilitator"]
  ])("is not opened with %s", (_, options, mend) => {
    assert.include(
      mistake(() => shop(options)),
      mend
    )
  })

  it("never shows the secret", () => {
    assert.notInclude(
      mistake(() => shop({ secret: "hunter2" })),
      "hunter2"
    )
  })

  it.each([
    "http://localhost:3000",
    "http://127.0.0.1",
    "http://[::1]:80",
    "https://shop.example/",
    "HTTPS://Shop.Example"
  ])("is opened at %s", (origin) => {
    assert.strictEqual(route(base, { origin }).name, "GET /report")
  })
})
