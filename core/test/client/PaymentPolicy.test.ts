import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as fc from "fast-check"

import type { DeclineRule } from "../../src/client/PaymentDeclined.ts"
import type { PaymentLimits } from "../../src/client/PaymentLimits.ts"
import * as PaymentPolicy from "../../src/client/PaymentPolicy.ts"
import * as Spending from "../../src/client/Spending.ts"
import type { Asset } from "../../src/protocol/Asset.ts"
import * as Network from "../../src/protocol/Network.ts"
import type { PaymentRequirements } from "../../src/protocol/PaymentRequirements.ts"
import * as Wallet from "./Wallet.ts"

const { schemeClient } = Wallet.make()
const url = new URL("https://shop.example/report")
const nothing: PaymentPolicy.SpentSoFar = (unit) => Spending.zero(unit)

const policyOf = (limits: PaymentLimits = {}, allow: PaymentPolicy.PaymentAllowances = {}) =>
  Result.getOrThrow(PaymentPolicy.make(limits, allow, [schemeClient]))

const judge = (
  requirements: PaymentRequirements,
  limits: PaymentLimits = {},
  allow: PaymentPolicy.PaymentAllowances = {}
) => policyOf(limits, allow).judge({ method: "GET", url }, requirements, schemeClient)

const ruleOf = (result: ReturnType<typeof judge>): DeclineRule | "allowed" =>
  Result.isSuccess(result) ? "allowed" : result.failure.rule

const mistakeOf = (limits: PaymentLimits, allow: PaymentPolicy.PaymentAllowances = {}) => {
  const result = PaymentPolicy.make(limits, allow, [schemeClient])
  return Result.isFailure(result) ? result.failure.message : "read"
}

describe("make", () => {
  it("reads the forms it documents", () => {
    const limits = {
      perRequest: "$0.05",
      perDay: "$2",
      perHost: "$1",
      assets: { [Wallet.gold.address]: "1000000", [Wallet.dollars.address]: { perRequest: "1", perDay: "2" } }
    }
    const allow = { hosts: ["shop.example", "localhost:3000"], networks: ["base"], payees: [Wallet.payTo] }
    assert.strictEqual(mistakeOf(limits, allow), "read")
  })

  it.each([
    [{ perRequest: "0.05" }, "limits.perRequest"],
    [{ perRequest: "" }, "limits.perRequest"],
    [{ perDay: "$-1" }, "limits.perDay"],
    [{ perDay: "$1e3" }, "limits.perDay"],
    [{ perHost: "$1,000" }, "limits.perHost"],
    [{ assets: { [Wallet.gold.address]: "1.5" } }, "limits.assets"],
    [{ assets: { [Wallet.gold.address]: "$1" } }, "limits.assets"],
    [{ assets: { [Wallet.gold.address]: { perRequest: "1", perDay: "-1" } } }, "limits.assets"],
    [{ assets: { USDC: "1" } }, "limits.assets"],
    [{ networks: { base: { perDay: "5" } } }, 'limits.networks["base"].perDay'],
    [{ networks: { base: { assets: { [Wallet.gold.address]: "x" } } } }, 'limits.networks["base"].assets'],
    [{ networks: { base: { assets: { USDC: "1" } } } }, "limits.assets"],
    [
      { networks: { bse: { perDay: "$5" } } },
      'limits.networks: expected a network that a scheme given here pays on, got "bse"'
    ],
    [{ networks: { "eip155:1": {} } }, "limits.networks: expected a network that a scheme given here pays on"]
  ])("%o is a mistake", (limits, option) => {
    assert.include(mistakeOf(limits), option)
  })

  it.each([
    [{ hosts: ["https://shop.example"] }, "allow.hosts"],
    [{ hosts: ["shop.example/path"] }, "allow.hosts"],
    [{ networks: ["solana:mainnet"] }, "allow.networks"],
    [{ assets: ["USDC"] }, "allow.assets"],
    [{ payees: ["me"] }, "allow.payees"]
  ])("%o is a mistake", (allow, option) => {
    assert.include(mistakeOf({}, allow), option)
  })
})

const admits = (text: string, hosts?: ReadonlyArray<string>) => {
  const result = policyOf({}, hosts === undefined ? {} : { hosts }).admit(new URL(text))
  return Result.isSuccess(result) ? "allowed" : result.failure.rule
}

describe("admit", () => {
  it.each([
    "https://shop.example/a",
    "http://localhost:3000/",
    "http://shop.localhost/",
    "http://127.0.0.1:8080/",
    "http://127.255.0.9/",
    "http://0x7f.1/",
    "http://[::1]/"
  ])("%s may be paid", (text) => {
    assert.strictEqual(admits(text), "allowed")
  })

  it.each([
    "http://shop.example/",
    "http://127.0.0.1.evil.example/",
    "http://localhost.evil.example/",
    "http://notlocalhost/",
    "http://[::2]/",
    "http://128.0.0.1/",
    "ftp://shop.example/",
    "ws://localhost/",
    "data:text/plain,hello"
  ])("%s is declined as open to others", (text) => {
    assert.strictEqual(admits(text), "insecure_url")
  })

  it("pays only hosts of the list, exactly", () => {
    assert.strictEqual(admits("https://Shop.Example/a", ["shop.example"]), "allowed")
    assert.strictEqual(admits("https://shop.example:8443/a", ["shop.example:8443"]), "allowed")
    for (const other of ["https://evil.example", "https://a.shop.example", "https://shop.example:8443"]) {
      assert.strictEqual(admits(other, ["shop.example"]), "host_not_allowed")
    }
    assert.strictEqual(admits("https://shop.example/a", []), "host_not_allowed")
  })
})

describe("judge", () => {
  it("quotes what is allowed", () => {
    const { quote } = Result.getOrThrow(judge(Wallet.offer()))
    assert.strictEqual(quote.amount, 10_000n)
    assert.strictEqual(quote.price, "$0.01")
    assert.deepStrictEqual(quote.asset, Wallet.dollars)
    assert.strictEqual(quote.url, "https://shop.example/report")
  })

  it("allows ten cents and not a millionth more where nothing is said", () => {
    assert.strictEqual(ruleOf(judge(Wallet.offer({ maxAmountRequired: "100000" }))), "allowed")
    assert.strictEqual(ruleOf(judge(Wallet.offer({ maxAmountRequired: "100001" }))), "over_request_limit")
  })

  it("compares dollars as rationals for any decimals of asset and limit", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 30n }),
        fc.integer({ min: 0, max: 24 }),
        fc.bigInt({ min: 0n, max: 10n ** 12n }),
        fc.integer({ min: 0, max: 18 }),
        (amount, decimals, digits, scale) => {
          const text = digits.toString().padStart(scale + 1, "0")
          const fraction = scale === 0 ? "" : `.${text.slice(-scale)}`
          const perRequest = `$${scale === 0 ? text : text.slice(0, -scale)}${fraction}`
          const wallet = Wallet.make({ assets: [{ ...Wallet.dollars, decimals }] })
          const policy = Result.getOrThrow(PaymentPolicy.make({ perRequest }, {}, [wallet.schemeClient]))
          const requirements = Wallet.offer({ maxAmountRequired: amount.toString() })
          const result = policy.judge({ method: "GET", url }, requirements, wallet.schemeClient)
          const isWithin = amount * 10n ** BigInt(scale) <= digits * 10n ** BigInt(decimals)
          assert.strictEqual(Result.isSuccess(result), isWithin)
        }
      )
    )
  })

  it("declines an asset it does not know, whatever it calls itself", () => {
    const requirements = Wallet.offer({
      asset: "0x9999999999999999999999999999999999999999",
      extra: { name: "USD Coin" }
    })
    assert.strictEqual(ruleOf(judge(requirements)), "asset_unknown")
  })

  it("declines what the scheme has an objection to, and says which", () => {
    const objecting = { ...schemeClient, objection: ({ payTo }: PaymentRequirements) => `not to ${payTo}` }
    const result = policyOf().judge({ method: "GET", url }, Wallet.offer(), objecting)
    assert.strictEqual(ruleOf(result), "terms_unsupported")
    assert.include(Result.getOrThrow(Result.flip(result)).message, `USDC on ${Wallet.network}: not to ${Wallet.payTo}`)
    const silent = { ...schemeClient, objection: () => undefined }
    assert.strictEqual(ruleOf(policyOf().judge({ method: "GET", url }, Wallet.offer(), silent)), "allowed")
  })

  it("pays an asset that is no dollar only within a limit of its own", () => {
    const requirements = Wallet.offer({ asset: Wallet.gold.address, maxAmountRequired: "100" })
    assert.strictEqual(ruleOf(judge(requirements)), "asset_without_limit")
    assert.strictEqual(ruleOf(judge(requirements, { assets: { [Wallet.gold.address]: "100" } })), "allowed")
    assert.strictEqual(ruleOf(judge(requirements, { assets: { [Wallet.gold.address]: "99" } })), "over_request_limit")
    assert.strictEqual(
      ruleOf(judge(requirements, { assets: { [Wallet.dollars.address]: "100" } })),
      "asset_without_limit"
    )
  })

  it("keeps both limits of a dollar stablecoin that has one of its own", () => {
    const limits = { assets: { [Wallet.dollars.address]: "9999" } }
    assert.strictEqual(ruleOf(judge(Wallet.offer(), limits)), "over_request_limit")
    assert.strictEqual(ruleOf(judge(Wallet.offer({ maxAmountRequired: "9999" }), limits)), "allowed")
  })

  it.each([
    ["base", "allowed"],
    ["ton:mainnet", "network_not_allowed"]
  ])("holds a client of all networks of its family to the list [%s]", (network, verdict) => {
    const other = {
      ...schemeClient.scheme,
      network: (text: string) => (text === "ton:mainnet" ? Network.make(text) : undefined)
    }
    const policy = Result.getOrThrow(
      PaymentPolicy.make({}, { networks: [network] }, [schemeClient, { ...schemeClient, scheme: other }])
    )
    const everywhere = { ...schemeClient, network: undefined }
    assert.strictEqual(ruleOf(policy.judge({ method: "GET", url }, Wallet.offer(), everywhere)), verdict)
  })

  it.each([
    [{ networks: ["eip155:1"] }, "network_not_allowed"],
    [{ assets: [Wallet.gold.address] }, "asset_not_allowed"],
    [{ payees: [Wallet.gold.address] }, "payee_not_allowed"]
  ] as const)("keeps the list %o", (allow, rule) => {
    assert.strictEqual(ruleOf(judge(Wallet.offer(), {}, allow)), rule)
  })

  it("compares names after reading them", () => {
    const allow = {
      networks: ["base"],
      assets: [Wallet.dollars.address.toUpperCase().replace("0X", "0x")],
      payees: [Wallet.payTo]
    }
    assert.strictEqual(ruleOf(judge(Wallet.offer(), {}, allow)), "allowed")
  })

  it.each([
    Wallet.offer({ payTo: "nobody" }),
    Wallet.offer({ extra: { challenge: "short" } }),
    Wallet.offer({ extra: { challenge: "x".repeat(129) } }),
    Wallet.offer({ extra: { challenge: `${"x".repeat(20)}\n` } })
  ])("declines an offer that cannot be signed as it is: %#", (requirements) => {
    assert.strictEqual(ruleOf(judge(requirements)), "no_acceptable_option")
  })
})

const moved = (asset: Asset, network: Network.Network): Asset => ({ ...asset, network })

/** A client of all networks of its family that knows dollars and gold on two of them. */
const everywhere = () => {
  const networks = ["eip155:8453", "eip155:1"]
  const assets = networks.flatMap((text) => [
    moved(Wallet.dollars, Network.make(text)),
    moved(Wallet.gold, Network.make(text))
  ])
  return {
    ...schemeClient,
    network: undefined,
    paysOn: (network: string) => networks.includes(network),
    asset: ({ asset, network }: PaymentRequirements) =>
      assets.find((one) => one.network === network && one.address === asset)
  }
}

const onNetwork = (limits: PaymentLimits, network: string, changes: Partial<PaymentRequirements> = {}) => {
  const payer = everywhere()
  const policy = Result.getOrThrow(PaymentPolicy.make(limits, {}, [payer]))
  const requirements = { ...Wallet.offer(changes), network: Network.make(network) }
  return policy.judge({ method: "GET", url }, requirements, payer)
}

const onBase = (limits: PaymentLimits, maxAmountRequired = "10000") =>
  ruleOf(onNetwork(limits, "eip155:8453", { maxAmountRequired }))

const totals =
  (onBase: bigint, here: bigint): PaymentPolicy.SpentSoFar =>
  (unit, host, network) => {
    const onOne = host === undefined ? onBase : here
    return { unit, digits: network === undefined ? 900_000n : onOne, scale: 6 }
  }

describe("limits of one network", () => {
  it("hold beside those of all networks, on that network alone", () => {
    const limits = { perRequest: "$0.05", networks: { base: { perRequest: "$0.02" } } }
    assert.strictEqual(onBase(limits, "20000"), "allowed")
    assert.strictEqual(onBase(limits, "20001"), "over_request_limit")
    assert.strictEqual(ruleOf(onNetwork(limits, "eip155:1", { maxAmountRequired: "50000" })), "allowed")
    assert.strictEqual(onBase({ ...limits, networks: { base: { perRequest: "$1" } } }, "50001"), "over_request_limit")
  })

  it("hold together where a network has them by two names", () => {
    const limits = {
      perRequest: "$1",
      networks: { base: { perRequest: "$0.03" }, "eip155:8453": { perRequest: "$0.02" } }
    }
    assert.deepStrictEqual([onBase(limits, "20000"), onBase(limits, "20001")], ["allowed", "over_request_limit"])
  })

  it("replace a default, and no other's", () => {
    const limits = { networks: { base: { perRequest: "$1" } } }
    assert.strictEqual(onBase(limits, "1000000"), "allowed")
    assert.strictEqual(onBase(limits, "1000001"), "over_request_limit")
    assert.strictEqual(onBase({ networks: { base: { perDay: "$1" } } }, "100001"), "over_request_limit")
    assert.strictEqual(ruleOf(onNetwork(limits, "eip155:1", { maxAmountRequired: "100001" })), "over_request_limit")
    // From JavaScript an option may be there without a value.
    const absent = { networks: { base: { perRequest: undefined } } } as unknown as PaymentLimits
    assert.strictEqual(onBase(absent, "100001"), "over_request_limit")
  })

  it("allow an asset that is no dollar on that network alone", () => {
    const gold = { asset: Wallet.gold.address, maxAmountRequired: "100" }
    const limits = { networks: { base: { assets: { [Wallet.gold.address]: "100" } } } }
    assert.strictEqual(ruleOf(onNetwork(limits, "eip155:8453", gold)), "allowed")
    assert.strictEqual(
      ruleOf(onNetwork(limits, "eip155:8453", { ...gold, maxAmountRequired: "101" })),
      "over_request_limit"
    )
    assert.strictEqual(ruleOf(onNetwork(limits, "eip155:1", gold)), "asset_without_limit")
  })

  it("count what was spent on that network, and say so", () => {
    const limits = { perDay: "$1", networks: { base: { perDay: "$0.05", perHost: "$0.03" } } }
    const allowed = Result.getOrThrow(onNetwork(limits, "eip155:8453"))
    assert.isUndefined(allowed.exceeds(totals(40_000n, 20_000n)))
    assert.strictEqual(allowed.exceeds(totals(40_000n, 20_001n))?.rule, "over_host_limit")
    const declined = allowed.exceeds(totals(40_001n, 0n))
    assert.strictEqual(declined?.rule, "over_day_limit")
    assert.include(declined?.message, "in 24 hours on eip155:8453 is spent")
    assert.include(declined?.message, 'raise limits.networks["base"].perDay')
    assert.isUndefined(Result.getOrThrow(onNetwork(limits, "eip155:1")).exceeds(totals(10n ** 9n, 10n ** 9n)))
  })

  it("are refused for a network on which the client knows no asset", () => {
    const result = PaymentPolicy.make({ networks: { "eip155:845": { perDay: "$1" } } }, {}, [everywhere()])
    assert.include(Result.isFailure(result) ? result.failure.message : "", '"eip155:845"')
  })
})

const spent =
  (everywhere: bigint, here: bigint): PaymentPolicy.SpentSoFar =>
  (unit, host) => ({ unit, digits: host === undefined ? everywhere : here, scale: unit === "$" ? 6 : 0 })
const ruleWith = (limits: PaymentLimits, totals: PaymentPolicy.SpentSoFar, requirements = Wallet.offer()) =>
  Result.getOrThrow(judge(requirements, limits)).exceeds(totals)?.rule

const inTheirUnits: PaymentPolicy.SpentSoFar = (unit) =>
  unit === "$" ? { unit, digits: 40_000n, scale: 6 } : { unit, digits: 20n, scale: 0 }

describe("exceeds", () => {
  it("bounds nothing where nothing is said", () => {
    assert.isUndefined(ruleWith({}, spent(10n ** 12n, 10n ** 12n)))
  })

  it("lets the last cent of a day through and no more", () => {
    assert.isUndefined(ruleWith({ perDay: "$0.05" }, spent(40_000n, 0n)))
    assert.strictEqual(ruleWith({ perDay: "$0.05" }, spent(40_001n, 0n)), "over_day_limit")
  })

  it("counts a host by itself", () => {
    assert.isUndefined(ruleWith({ perHost: "$0.05" }, spent(10n ** 9n, 40_000n)))
    assert.strictEqual(ruleWith({ perHost: "$0.05" }, spent(0n, 40_001n)), "over_host_limit")
  })

  it("counts the dollars of all networks, and an asset of one address on all networks of its family, as one sum", () => {
    const asked: Array<string> = []
    const onEach = ["eip155:8453", "eip155:1"].map((network) => {
      const on = { network: Network.make(network) }
      const { schemeClient } = Wallet.make({
        ...on,
        assets: [moved(Wallet.dollars, on.network), moved(Wallet.gold, on.network)]
      })
      const limits = { perDay: "$0.05", assets: { [Wallet.gold.address]: { perRequest: "10", perDay: "29" } } }
      const policy = Result.getOrThrow(PaymentPolicy.make(limits, {}, [schemeClient]))
      const ruleOf = (requirements: PaymentRequirements) =>
        Result.getOrThrow(policy.judge({ method: "GET", url }, { ...requirements, ...on }, schemeClient)).exceeds(
          (unit, host) => {
            asked.push(unit)
            return inTheirUnits(unit, host)
          }
        )?.rule
      return [
        ruleOf(Wallet.offer({ maxAmountRequired: "10001" })),
        ruleOf(Wallet.offer({ asset: Wallet.gold.address, maxAmountRequired: "10" }))
      ]
    })
    assert.deepStrictEqual(onEach, [
      ["over_day_limit", "over_day_limit"],
      ["over_day_limit", "over_day_limit"]
    ])
    assert.deepStrictEqual(new Set(asked), new Set(["$", `eip155/${Wallet.gold.address}`]))
  })

  it("counts an asset in its own unit", () => {
    const requirements = Wallet.offer({ asset: Wallet.gold.address, maxAmountRequired: "10" })
    const limits = { assets: { [Wallet.gold.address]: { perRequest: "10", perDay: "30", perHost: "20" } } }
    assert.isUndefined(ruleWith(limits, spent(20n, 10n), requirements))
    assert.strictEqual(ruleWith(limits, spent(21n, 10n), requirements), "over_day_limit")
    assert.strictEqual(ruleWith(limits, spent(20n, 11n), requirements), "over_host_limit")
  })

  it("says what was asked, what is allowed and what to change", () => {
    const message = Result.getOrThrow(judge(Wallet.offer(), { perDay: "$0.05" })).exceeds(spent(50_000n, 0n))?.message
    assert.include(message, "shop.example asks $0.01")
    assert.include(message, "$0.05 of $0.05 in 24 hours")
    assert.include(message, "raise limits.perDay")
    assert.isUndefined(Result.getOrThrow(judge(Wallet.offer())).exceeds(nothing))
  })
})
