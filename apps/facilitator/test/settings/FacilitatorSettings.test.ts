import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inspect } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import { permitSettlerAddress } from "@pontage/evm"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

import * as ApiKey from "../../src/callers/ApiKey.ts"
import * as FacilitatorSettings from "../../src/settings/FacilitatorSettings.ts"
import * as ServiceVariables from "../../src/settings/ServiceVariables.ts"

const key = `0x${"5e".repeat(32)}`
const otherKey = `0x${"A1".repeat(32)}`
const enough = { PONTAGE_EVM_RPC_URL: "https://node.example/secret", PONTAGE_EVM_SIGNER_KEY: key }

const euro = {
  network: "eip155:8453",
  address: "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42",
  symbol: "EURC",
  decimals: 6,
  name: "EURC",
  version: "2"
}

const read = FacilitatorSettings.fromEnvironment
const standardRates = { rate: { perSecond: 100, burst: 200 }, payerRate: { perSecond: 20, burst: 40 } }

const directory = mkdtempSync(join(tmpdir(), "pontage-settings-"))

/** A file of callers with this text. */
const callersFile = (text: string): string => {
  const path = join(directory, `${ApiKey.nameOf(ApiKey.digestOf(text))}.json`)
  writeFileSync(path, text)
  return path
}

const hash = (digit: string) => `sha256:${digit.repeat(64)}`
const shop = { name: "shop", keys: [hash("a")] }

describe("settings", () => {
  it.effect("need a node and a signer; the defaults are the careful choice", () =>
    Effect.gen(function* () {
      const settings = yield* read({ ...enough, PATH: "/bin", UNSET: undefined })
      const { evm, evmSignerKeys, ...rest } = settings
      assert.deepStrictEqual(rest, {
        host: "127.0.0.1",
        port: 4021,
        callers: [],
        allowedHosts: [],
        maximumConnections: 5000,
        requestTimeoutMillis: 15_000,
        retentionHours: undefined,
        anonymousRates: standardRates,
        store: { kind: "sqlite", filename: "pontage-payments.sqlite" },
        webhooksToPrivate: false,
        settleTimeoutMillis: 25_000,
        evmAssets: [],
        evmMinimumGas: 1n,
        evmGasCeiling: undefined
      })
      assert.deepStrictEqual(
        evm.map((one) => [Redacted.value(one.rpcUrl), one.network]),
        [["https://node.example/secret", undefined]]
      )
      assert.deepStrictEqual(evmSignerKeys.map(Redacted.value), [key])
    })
  )

  it.effect("read every variable of the service", () =>
    Effect.gen(function* () {
      const settings = yield* read({
        HOST: "0.0.0.0",
        PORT: "0",
        PONTAGE_API_KEYS: '["abcdefghijklmnop",{"key":"ABCDEFGHIJKLMNOP","payees":["0x1"]}]',
        PONTAGE_RATE: "7/9",
        PONTAGE_PAYER_RATE: "1/2",
        PONTAGE_STORE: "memory",
        PONTAGE_EVM_GAS_CEILING_WEI: "50000000000000000000",
        PONTAGE_SETTLE_TIMEOUT_MS: "5000",
        PONTAGE_EVM_MIN_GAS_WEI: "1000000000000000000000",
        PONTAGE_EVM_ASSETS: JSON.stringify([euro]),
        PONTAGE_EVM: '[{"rpcUrl":"http://localhost:8545"},{"network":"eip155:8453","rpcUrl":"https://base.example"}]',
        PONTAGE_EVM_SIGNER_KEY: `${key},${otherKey}`
      })
      assert.strictEqual(settings.host, "0.0.0.0")
      assert.strictEqual(settings.port, 0)
      assert.strictEqual(settings.settleTimeoutMillis, 5000)
      assert.strictEqual(settings.evmMinimumGas, 10n ** 21n)
      assert.deepStrictEqual(settings.evmAssets, [euro])
      const rates = { rate: { perSecond: 7, burst: 9 }, payerRate: { perSecond: 1, burst: 2 } }
      assert.deepStrictEqual(
        settings.callers.map(({ keys, registrations, rates }) => [keys.length, registrations, rates]),
        [
          [1, undefined, rates],
          [1, [{ payees: ["0x1"] }], rates]
        ]
      )
      for (const [index, key] of ["abcdefghijklmnop", "ABCDEFGHIJKLMNOP"].entries()) {
        const [digest] = settings.callers[index]?.keys ?? []
        assert.isTrue(digest !== undefined && ApiKey.isSame(digest, ApiKey.digestOf(key)))
      }
      assert.deepStrictEqual(settings.anonymousRates, rates)
      assert.deepStrictEqual(settings.store, { kind: "memory" })
      assert.strictEqual(settings.evmGasCeiling, 50n * 10n ** 18n)
      assert.deepStrictEqual(
        settings.evm.map((one) => [Redacted.value(one.rpcUrl), one.network]),
        [
          ["http://localhost:8545", undefined],
          ["https://base.example", "eip155:8453"]
        ]
      )
      assert.deepStrictEqual(settings.evmSignerKeys.map(Redacted.value), [key, otherKey])
    })
  )

  it.effect("read the terms of one network from its entry", () =>
    Effect.gen(function* () {
      const terms = {
        finalityDepth: 12,
        verifyWindowMillis: 0,
        contractPayers: "any" as const,
        knownImplementations: [euro.address],
        banMillis: 60_000,
        minimumPrice: "$0.02",
        batches: { settler: euro.address, maximum: 50, windowMillis: 20 }
      }
      const chain = {
        rpcUrl: "https://base.example",
        network: "eip155:8453",
        maxFeePerGas: "5000000000",
        lossBudget: "40",
        lossBudgetPerCaller: "10",
        minimumAmounts: { GOLD: "5" },
        ...terms,
        batches: { ...terms.batches, maximumCost: "250000000000000000" }
      }
      const { evm } = yield* read({ PONTAGE_EVM_SIGNER_KEY: key, PONTAGE_EVM: JSON.stringify([chain]) })
      assert.deepStrictEqual(evm[0]?.terms, {
        maxFeePerGas: 5_000_000_000n,
        lossBudget: 40n,
        lossBudgetPerCaller: 10n,
        minimumAmounts: { GOLD: 5n },
        ...terms,
        batches: { ...terms.batches, maximumCost: 250_000_000_000_000_000n }
      })
    })
  )

  it.effect("take the same by variables of their own where there is one network", () =>
    Effect.gen(function* () {
      const { evm } = yield* read({
        ...enough,
        PONTAGE_EVM_MAX_FEE_PER_GAS_WEI: "5000000000",
        PONTAGE_EVM_FINALITY_DEPTH: "12",
        PONTAGE_EVM_VERIFY_WINDOW_MS: "0",
        PONTAGE_EVM_CONTRACT_PAYERS: "none",
        PONTAGE_EVM_KNOWN_IMPLEMENTATIONS: `${euro.address},0x${"ab".repeat(32)}`,
        PONTAGE_EVM_LOSS_BUDGET_WEI: "40",
        PONTAGE_EVM_LOSS_BUDGET_PER_CALLER_WEI: "10",
        PONTAGE_EVM_BAN_MS: "60000",
        PONTAGE_EVM_BATCH_SETTLER: euro.address,
        PONTAGE_EVM_BATCH_MAXIMUM: "50",
        PONTAGE_EVM_BATCH_MAXIMUM_COST_WEI: "250000000000000000",
        PONTAGE_EVM_BATCH_WINDOW_MS: "20"
      })
      assert.deepStrictEqual(evm[0]?.terms, {
        maxFeePerGas: 5_000_000_000n,
        finalityDepth: 12,
        verifyWindowMillis: 0,
        contractPayers: "none",
        knownImplementations: [euro.address, `0x${"ab".repeat(32)}`],
        lossBudget: 40n,
        lossBudgetPerCaller: 10n,
        banMillis: 60_000,
        batches: { settler: euro.address, maximum: 50, maximumCost: 250_000_000_000_000_000n, windowMillis: 20 }
      })
      const few = yield* read({
        ...enough,
        PONTAGE_EVM_CONTRACT_PAYERS: "any",
        PONTAGE_EVM_BATCH_SETTLER: euro.address
      })
      assert.deepStrictEqual(few.evm[0]?.terms, { contractPayers: "any", batches: { settler: euro.address } })
      const operations = yield* read({
        ...enough,
        PONTAGE_EVM_OPERATION_SETTLER: euro.address,
        PONTAGE_EVM_PERMIT_SETTLER: permitSettlerAddress,
        PONTAGE_EVM_MINIMUM_PRICE: "0.02",
        PONTAGE_EVM_MINIMUM_AMOUNTS: '{"GOLD":"5"}',
        PONTAGE_EVM_USER_OPERATIONS: "0.8,0.9",
        PONTAGE_EVM_USER_OPERATION_MINIMUM: "50000",
        PONTAGE_EVM_DELEGATIONS: "known",
        PONTAGE_EVM_PERMIT2: "true"
      })
      assert.deepStrictEqual(operations.evm[0]?.terms, {
        minimumPrice: "$0.02",
        minimumAmounts: { GOLD: 5n },
        batches: { operationSettler: euro.address, permitSettler: permitSettlerAddress },
        userOperations: { entryPoints: ["0.8", "0.9"], minimumAmount: 50_000n, delegations: "known" },
        permit2: true
      })
    })
  )

  it.effect("say which token of their own is no dollar", () =>
    Effect.gen(function* () {
      const gold = { network: "eip155:8453", address: euro.address, symbol: "GOLD", decimals: 18, dollar: false }
      const { evmAssets } = yield* read({ ...enough, PONTAGE_EVM_ASSETS: JSON.stringify([gold]) })
      assert.deepStrictEqual(evmAssets, [gold])
    })
  )

  it.effect("serve Permit2 without user operations", () =>
    Effect.gen(function* () {
      const settings = yield* read({ ...enough, PONTAGE_EVM_PERMIT2: "true" })
      assert.deepStrictEqual(settings.evm[0]?.terms, { permit2: true })
    })
  )

  it.effect("take a network for the one node, and strangers without keys where it is said", () =>
    Effect.gen(function* () {
      const settings = yield* read({
        ...enough,
        HOST: "::",
        PONTAGE_ALLOW_ANONYMOUS: "true",
        PONTAGE_EVM_NETWORK: "eip155:1"
      })
      assert.strictEqual(settings.evm[0]?.network, "eip155:1")
    })
  )
})

const seed = "7e".repeat(32)
const tonEnough = { PONTAGE_TON_RPC_URL: "https://ton.example/secret", PONTAGE_TON_SIGNER_KEY: seed }
const tronEnough = { PONTAGE_TRON_RPC_URL: "https://tron.example/secret" }

const jetton = { network: "ton:-239", address: "0:ab", symbol: "EURT", decimals: 9, dollar: false }
const trc20 = { network: "tron:nile", address: "T1", symbol: "EURT", decimals: 18 }

describe("a service", () => {
  it.effect("may settle on TON alone, carefully", () =>
    Effect.gen(function* () {
      const { evm, evmSignerKeys, ton, tron } = yield* read(tonEnough)
      assert.deepStrictEqual([evm, evmSignerKeys, tron], [[], [], undefined])
      const { rpcUrl, signerKeys, ...rest } = ton ?? assert.fail("there is TON")
      assert.strictEqual(Redacted.value(rpcUrl), "https://ton.example/secret")
      assert.deepStrictEqual(signerKeys.map(Redacted.value), [seed])
      assert.deepStrictEqual(rest, {
        apiKey: undefined,
        terms: { batches: {} },
        emulation: "installed",
        minimumGas: 100_000_000n,
        gasCeiling: undefined
      })
    })
  )

  it.effect("takes everything that can be set of TON", () =>
    Effect.gen(function* () {
      const { ton } = yield* read({
        ...tonEnough,
        PONTAGE_TON_API_KEY: "a-providers-key",
        PONTAGE_TON_NETWORK: "ton:testnet",
        PONTAGE_TON_SIGNER_KEY: `${seed},${"A1".repeat(32)}`,
        PONTAGE_TON_SUBWALLET: "3",
        PONTAGE_TON_ASSETS: JSON.stringify([jetton]),
        PONTAGE_TON_KINDS: "external,w5-internal",
        PONTAGE_TON_ATTACHED_NANOTON: "70000000",
        PONTAGE_TON_LOSS_BUDGET_NANOTON: "5",
        PONTAGE_TON_LOSS_BUDGET_PER_CALLER_NANOTON: "4",
        PONTAGE_TON_LOSS_BUDGET_PER_PAYER_NANOTON: "3",
        PONTAGE_TON_EXTERNAL_MINIMUM: "0",
        PONTAGE_TON_BATCH_MAXIMUM: "255",
        PONTAGE_TON_BATCH_WINDOW_MS: "0",
        PONTAGE_TON_EMULATION: "true",
        PONTAGE_TON_MIN_GAS_NANOTON: "7",
        PONTAGE_TON_GAS_CEILING_NANOTON: "8"
      })
      assert.deepStrictEqual(ton?.terms, {
        network: "ton:testnet",
        subwallet: 3,
        assets: [jetton],
        kinds: ["w5-internal", "external"],
        attachedTon: 70_000_000n,
        lossBudget: 5n,
        lossBudgetPerCaller: 4n,
        lossBudgetPerPayer: 3n,
        externalMinimum: 0n,
        batches: { maximum: 255, windowMillis: 0 }
      })
      assert.strictEqual(ton?.apiKey && Redacted.value(ton.apiKey), "a-providers-key")
      assert.strictEqual(ton?.signerKeys.length, 2)
      assert.deepInclude(ton, { emulation: "required", minimumGas: 7n, gasCeiling: 8n })
      const one = yield* read({ ...tonEnough, PONTAGE_TON_KINDS: "external", PONTAGE_TON_EMULATION: "false" })
      assert.deepStrictEqual([one.ton?.terms.kinds, one.ton?.emulation], [["external"], "never"])
      const said = inspect(ton, { depth: 9, showHidden: true }) + JSON.stringify(ton?.rpcUrl)
      for (const hidden of [seed, "a-providers-key", "ton.example"]) assert.notInclude(said, hidden)
    })
  )

  it.effect("may settle on TRON alone, without any key", () =>
    Effect.gen(function* () {
      const { evm, ton, tron } = yield* read(tronEnough)
      assert.deepStrictEqual([evm, ton], [[], undefined])
      const { rpcUrl, ...rest } = tron ?? assert.fail("there is TRON")
      assert.strictEqual(Redacted.value(rpcUrl), "https://tron.example/secret")
      assert.deepStrictEqual(rest, {
        apiKey: undefined,
        terms: {},
        sponsor: undefined,
        minimumGas: 1_000_000n,
        gasCeiling: undefined
      })
    })
  )

  it.effect("reads every variable of TRON", () =>
    Effect.gen(function* () {
      const { tron } = yield* read({
        ...tronEnough,
        PONTAGE_TRON_API_KEY: "a-providers-key",
        PONTAGE_TRON_NETWORK: "tron:nile",
        PONTAGE_TRON_ASSETS: JSON.stringify([{ ...trc20, minFeeLimit: "40000000" }]),
        PONTAGE_TRON_FINALITY: "solidified",
        PONTAGE_TRON_MAX_FEE_LIMIT_SUN: "50000000",
        PONTAGE_TRON_PAYER_IN_FLIGHT: "3",
        PONTAGE_TRON_CALLER_IN_FLIGHT: "40",
        PONTAGE_TRON_SPONSOR_KEY: seed,
        PONTAGE_TRON_SPONSOR_ENERGY_PER_PAYMENT: "1",
        PONTAGE_TRON_SPONSOR_ENERGY_PER_DAY: "2",
        PONTAGE_TRON_SPONSOR_PAYMENTS_PER_PAYER: "3",
        PONTAGE_TRON_SPONSOR_ENERGY_PER_PAYER: "210000",
        PONTAGE_TRON_SPONSOR_ENERGY_PER_CALLER: "800000",
        PONTAGE_TRON_SPONSOR_ENERGY_LOST: "400000",
        PONTAGE_TRON_SPONSOR_BAN_MS: "31536000000",
        PONTAGE_TRON_MIN_GAS_SUN: "4",
        PONTAGE_TRON_GAS_CEILING_SUN: "5"
      })
      assert.deepStrictEqual(tron?.terms, {
        network: "tron:nile",
        assets: [{ ...trc20, minFeeLimit: 40_000_000n }],
        finality: "solidified",
        maxFeeLimit: 50_000_000n,
        maxPendingPerPayer: 3,
        maxPendingPerCaller: 40
      })
      assert.deepStrictEqual(tron?.sponsor?.limits, {
        maxEnergyPerPayment: 1n,
        maxEnergyPerDay: 2n,
        maxPaymentsPerPayer: 3,
        maxEnergyPerPayer: 210_000n,
        maxEnergyPerCaller: 800_000n,
        maxEnergyLost: 400_000n,
        banMillis: 31_536_000_000
      })
      assert.strictEqual(tron?.sponsor && Redacted.value(tron.sponsor.key), seed)
      assert.strictEqual(tron?.apiKey && Redacted.value(tron.apiKey), "a-providers-key")
      assert.deepInclude(tron, { minimumGas: 4n, gasCeiling: 5n })
      const said = inspect(tron, { depth: 9, showHidden: true })
      for (const hidden of [seed, "a-providers-key", "tron.example"]) assert.notInclude(said, hidden)
    })
  )

  it.effect("may settle on all three", () =>
    Effect.gen(function* () {
      const { evm, ton, tron } = yield* read({ ...enough, ...tonEnough, ...tronEnough })
      assert.deepStrictEqual([evm.length, ton?.signerKeys.length, tron?.terms], [1, 1, {}])
    })
  )
})

describe("the README", () => {
  it("has a row for each setting, and no other", () => {
    const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8")
    const rows = [...readme.matchAll(/^\| `((?:PONTAGE_)?[A-Z_0-9]+)` +\|.*\|.*\|/gm)].map(([, name]) => name)
    assert.deepStrictEqual(
      rows.filter((name) => name !== undefined).toSorted(),
      ServiceVariables.variableNames.toSorted()
    )
  })
})

describe("the store", () => {
  it.effect("is a file, or a database whose address is kept secret", () =>
    Effect.gen(function* () {
      const file = yield* read({ ...enough, PONTAGE_STORE: "sqlite:/var/lib/pontage/payments.sqlite" })
      assert.deepStrictEqual(file.store, { kind: "sqlite", filename: "/var/lib/pontage/payments.sqlite" })
      for (const url of ["postgres://pontage:5ecret@db.example:5432/pontage", "postgresql://db.example/pontage"]) {
        const { store } = yield* read({ ...enough, PONTAGE_STORE: url })
        assert.isTrue(store.kind === "postgres" && Redacted.value(store.url) === url)
        assert.notInclude(JSON.stringify(store), "5ecret")
        assert.notInclude(inspect(store, { depth: 9, showHidden: true }), "5ecret")
      }
    })
  )
})

describe("callers", () => {
  it.effect("come from a file, with everything that is granted to them", () =>
    Effect.gen(function* () {
      const callers = [
        {
          ...shop,
          keys: [hash("a"), hash("B")],
          networks: { "eip155:8453": { payees: ["0x1", "0x2"], assets: ["0x3"] }, "eip155:1": {} },
          rate: "5/10",
          payerRate: "1/3",
          gasCeilings: { "eip155:8453": "1000000000000000000000", "ton:-239": "5" },
          webhook: { url: "https://shop.example/payments?token=1", secret: "a-secret-of-the-shop" }
        },
        { name: "audit", keys: [hash("c")], operator: true, networks: {} }
      ]
      const settings = yield* read({
        ...enough,
        PONTAGE_CALLERS_FILE: callersFile(JSON.stringify({ callers })),
        PONTAGE_API_KEYS: '["abcdefghijklmnop"]',
        PONTAGE_RATE: "7/9"
      })
      const [first, second, third] = settings.callers
      assert.deepInclude(first, {
        name: "shop",
        operator: false,
        registrations: [{ network: "eip155:8453", payees: ["0x1", "0x2"], assets: ["0x3"] }, { network: "eip155:1" }],
        rates: { rate: { perSecond: 5, burst: 10 }, payerRate: { perSecond: 1, burst: 3 } },
        gasCeilings: new Map([
          ["eip155:8453", 10n ** 21n],
          ["ton:mainnet", 5n]
        ])
      })
      assert.strictEqual(first?.keys.length, 2)
      const { secret, url } = first?.webhook ?? {}
      assert.strictEqual(url && Redacted.value(url), "https://shop.example/payments?token=1")
      assert.strictEqual(secret && Redacted.value(secret), "a-secret-of-the-shop")
      assert.deepInclude(second, { name: "audit", operator: true, registrations: [] })
      assert.deepStrictEqual(second?.rates?.rate, { perSecond: 7, burst: 9 })
      assert.match(third?.name ?? "", /^key-[0-9a-f]{12}$/)
      assert.notInclude(JSON.stringify(settings.callers), "a-secret-of-the-shop")
    })
  )

  it.effect("refuse requests without a key, on any address", () =>
    Effect.gen(function* () {
      const file = callersFile(JSON.stringify({ callers: [shop] }))
      const settings = yield* read({ ...enough, HOST: "0.0.0.0", PONTAGE_CALLERS_FILE: file })
      assert.strictEqual(settings.callers.length, 1)
    })
  )

  it.effect("may be told in a private network only where it is said", () =>
    Effect.gen(function* () {
      const webhook = { url: "http://10.0.0.1/payments", secret: "a-secret-of-the-shop" }
      const file = callersFile(JSON.stringify({ callers: [{ ...shop, webhook }] }))
      const environment = { ...enough, PONTAGE_CALLERS_FILE: file }
      const { message } = yield* Effect.flip(read(environment))
      assert.match(message, /^PONTAGE_CALLERS_FILE: the webhook of shop: the url is not https; PONTAGE_WEBHOOK_ALLOW/)
      const settings = yield* read({ ...environment, PONTAGE_WEBHOOK_ALLOW_PRIVATE: "true" })
      assert.isTrue(settings.webhooksToPrivate)
    })
  )

  it.effect("may list resources of public origins, of private ones only where it is said", () =>
    Effect.gen(function* () {
      assert.isUndefined((yield* read(enough)).discovery)
      const origins = ["https://shop.example", "https://api.example"]
      const listed = yield* read({ ...enough, PONTAGE_DISCOVERY_ORIGINS: origins.join(",") })
      assert.deepStrictEqual(listed.discovery, { origins, allowPrivate: false })
      const environment = {
        ...enough,
        PONTAGE_DISCOVERY_ORIGINS: "https://shop.example,http://10.0.0.1,https://a:b@c.example"
      }
      const { message } = yield* Effect.flip(read(environment))
      assert.strictEqual(
        message,
        "PONTAGE_DISCOVERY_ORIGINS: origin 2 is not https; origin 3 is not an origin; write scheme and host alone, for example https://shop.example; PONTAGE_DISCOVERY_ALLOW_PRIVATE=true allows private networks and http"
      )
      const PONTAGE_DISCOVERY_ALLOW_PRIVATE = "true"
      const near = { PONTAGE_DISCOVERY_ORIGINS: "http://10.0.0.1", PONTAGE_DISCOVERY_ALLOW_PRIVATE }
      assert.isTrue((yield* read({ ...enough, ...near })).discovery?.allowPrivate)
      const alone = yield* Effect.flip(read({ ...enough, PONTAGE_DISCOVERY_ALLOW_PRIVATE }))
      assert.match(alone.message, /^PONTAGE_DISCOVERY_ALLOW_PRIVATE: it has no effect without origins/)
      const withPosts = (PONTAGE_DISCOVERY_POSTS: string) =>
        read({ ...enough, PONTAGE_DISCOVERY_ORIGINS: "https://shop.example", PONTAGE_DISCOVERY_POSTS })
      const posts = ["https://shop.example/render", "https://shop.example/a/"]
      assert.deepStrictEqual((yield* withPosts(posts.join(","))).discovery?.posts, posts)
      const other = yield* Effect.flip(withPosts("https://shop.example/a?b,https://other.example/a,/a"))
      assert.match(
        other.message,
        /^PONTAGE_DISCOVERY_POSTS: URL 1 is not a URL without.*; URL 2 is not of an origin.*; URL 3/
      )
    })
  )

  it.effect.each([
    ["{", /^PONTAGE_CALLERS_FILE: the file is not a JSON object with a list of callers$/],
    ["[]", /the file is not a JSON object with a list of callers/],
    ['{"callers":[]}', /PONTAGE_CALLERS_FILE: callers/],
    ['{"callers":[{"name":"shop"}]}', /callers\.0\.keys is missing or not as described/],
    [{ ...shop, name: "" }, /callers\.0\.name is missing or not as described/],
    [{ ...shop, keys: [] }, /callers\.0\.keys/],
    [{ ...shop, keys: ["sEcReT-value-in-plain"] }, /callers\.0\.keys\.0/],
    [{ ...shop, rate: "5" }, /callers\.0\.rate/],
    [{ ...shop, payerRate: "0/1" }, /callers\.0\.payerRate/],
    [{ ...shop, networks: { bass: {} } }, /callers\.0\.networks/],
    [{ ...shop, networks: { "ton:mainet": {} } }, /callers\.0\.networks/],
    [{ ...shop, gasCeilings: { "tron:mainet": "5" } }, /callers\.0\.gasCeilings/],
    [{ ...shop, payees: ["0x1"] }, /callers\.0\.payees: unknown key; the keys are name, keys, operator, networks/],
    [{ ...shop, webhok: {} }, /callers\.0\.webhok: unknown key; did you mean webhook\?/],
    [{ ...shop, gasceilings: {} }, /callers\.0\.gasceilings: unknown key; did you mean gasCeilings\?/],
    [
      { ...shop, networks: { "eip155:1": { payee: ["0x1"] } } },
      /callers\.0\.networks\.eip155:1\.payee: unknown key; did you mean payees\?/
    ],
    [{ ...shop, gasCeilings: { "eip155:1": 5 } }, /callers\.0\.gasCeilings\.eip155:1/],
    [{ ...shop, webhook: { url: "ftp://sEcReT-value", secret: "sEcReT-value-sEcReT" } }, /callers\.0\.webhook\.url/],
    [{ ...shop, webhook: { url: "https://u:sEcReT-value@shop.example", secret: "x".repeat(16) } }, /webhook\.url/],
    [{ ...shop, webhook: { url: "https://shop.example", secret: "sEcReT-value" } }, /callers\.0\.webhook\.secret/]
  ] as const)("a mistake in the file is told by its place and never its value: %j", ([content, expected]) =>
    Effect.gen(function* () {
      const text = typeof content === "string" ? content : JSON.stringify({ callers: [content] })
      const { message } = yield* Effect.flip(read({ ...enough, PONTAGE_CALLERS_FILE: callersFile(text) }))
      assert.match(message, expected)
      assert.notInclude(message, "sEcReT-value")
    })
  )

  it.effect("all mistakes of the file are told at once, among those of the environment", () =>
    Effect.gen(function* () {
      const file = callersFile(JSON.stringify({ callers: [{ ...shop, rate: "x" }, { name: "?" }] }))
      const { message } = yield* Effect.flip(read({ ...enough, PORT: "x", PONTAGE_CALLERS_FILE: file }))
      for (const place of ["PORT: expected", "callers.0.rate is", "callers.1.name is", "callers.1.keys is"])
        assert.include(message, place)
    })
  )

  it.effect("of one name or with one key are a mistake", () =>
    Effect.gen(function* () {
      const key = "abcdefghijklmnop"
      const digest = "sha256:f39dac6cbaba535e2c207cd0cd8f154974223c848f727f98b3564cea569b41cf"
      const callers = [shop, { name: "shop", keys: [hash("b")] }, { name: "other", keys: [hash("A"), digest] }]
      const file = callersFile(JSON.stringify({ callers }))
      const { message } = yield* Effect.flip(
        read({ ...enough, PONTAGE_CALLERS_FILE: file, PONTAGE_API_KEYS: JSON.stringify([key]) })
      )
      assert.include(message, "two callers have the name shop")
      assert.include(message, "other has a key that is given twice")
      assert.match(message, /^PONTAGE_CALLERS_FILE: key-[0-9a-f]{12} has a key that is given twice$/m)
    })
  )

  it.effect("are a mistake where their file cannot be read", () =>
    Effect.gen(function* () {
      for (const path of [join(directory, "none.json"), directory]) {
        const { message } = yield* Effect.flip(read({ ...enough, PONTAGE_CALLERS_FILE: path }))
        assert.match(message, /^PONTAGE_CALLERS_FILE: the file cannot be read/)
      }
    })
  )
})

const secret = "sEcReT-value"

describe("a mistake names the variable, shows an example and never the value", () => {
  it.effect.each([
    ["HOST", ""],
    ["PORT", ""],
    ["PORT", "http"],
    ["PORT", "65536"],
    ["PORT", "-1"],
    ["PORT", "80.5"],
    ["PONTAGE_EVM_RPC_URL", ""],
    ["PONTAGE_EVM_RPC_URL", `ftp://${secret}`],
    ["PONTAGE_EVM_RPC_URL", secret],
    ["PONTAGE_EVM_NETWORK", "bass"],
    ["PONTAGE_EVM_NETWORK", "ton:mainnet"],
    ["PONTAGE_EVM", "[]"],
    ["PONTAGE_EVM", secret],
    ["PONTAGE_EVM", `[{"rpcUrl":"${secret}"}]`],
    ["PONTAGE_EVM", '[{"network":"eip155:1"}]'],
    ["PONTAGE_EVM", '[{"rpcUrl":"http://x","finalityDepth":0}]'],
    ["PONTAGE_EVM", '[{"rpcUrl":"http://x","batches":{"maximum":50}}]'],
    ["PONTAGE_EVM", `[{"rpcUrl":"http://x","batches":{"settler":"${euro.address}","maximumCost":"0"}}]`],
    ["PONTAGE_EVM", '[{"rpcUrl":"http://x","finalityDeep":9}]'],
    ["PONTAGE_EVM", '[{"rpcUrl":"http://x","verifyWindowMillis":1001}]'],
    ["PONTAGE_EVM_MAX_FEE_PER_GAS_WEI", "1.5"],
    ["PONTAGE_EVM_MAX_FEE_PER_GAS_WEI", "1 gwei"],
    ["PONTAGE_EVM_FINALITY_DEPTH", "0"],
    ["PONTAGE_EVM_FINALITY_DEPTH", "100001"],
    ["PONTAGE_EVM_VERIFY_WINDOW_MS", "1001"],
    ["PONTAGE_EVM_VERIFY_WINDOW_MS", ""],
    ["PONTAGE_EVM_MINIMUM_PRICE", "0"],
    ["PONTAGE_EVM_MINIMUM_PRICE", ""],
    ["PONTAGE_EVM_MINIMUM_PRICE", "2 cents"],
    ["PONTAGE_EVM_MINIMUM_PRICE", "$$1"],
    ["PONTAGE_EVM", '[{"rpcUrl":"http://x","minimumPrice":0.02}]'],
    ["PONTAGE_EVM_MINIMUM_AMOUNTS", '{"GOLD":"0"}'],
    ["PONTAGE_EVM_MINIMUM_AMOUNTS", '{"GOLD":5}'],
    ["PONTAGE_EVM", '[{"rpcUrl":"http://x","minimumAmounts":{"GOLD":"0.5"}}]'],
    ["PONTAGE_EVM_CONTRACT_PAYERS", "no"],
    ["PONTAGE_EVM_CONTRACT_PAYERS", "true"],
    ["PONTAGE_EVM_KNOWN_IMPLEMENTATIONS", "Safe"],
    ["PONTAGE_EVM_KNOWN_IMPLEMENTATIONS", "0x60A3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"],
    ["PONTAGE_EVM_LOSS_BUDGET_WEI", "0"],
    ["PONTAGE_EVM_LOSS_BUDGET_PER_CALLER_WEI", "0"],
    ["PONTAGE_EVM_BAN_MS", "86400001"],
    ["PONTAGE_EVM", '[{"rpcUrl":"http://x","contractPayers":true}]'],
    ["PONTAGE_EVM", '[{"rpcUrl":"http://x","lossBudget":"0"}]'],
    ["PONTAGE_EVM_BATCH_SETTLER", "0x12"],
    ["PONTAGE_EVM_OPERATION_SETTLER", "0x12"],
    ["PONTAGE_EVM_USER_OPERATIONS", "0.6"],
    ["PONTAGE_EVM_DELEGATIONS", "any"],
    ["PONTAGE_EVM_USER_OPERATIONS", "0.7,"],
    ["PONTAGE_EVM_PERMIT2", "yes"],
    ["PONTAGE_EVM_BATCH_SETTLER", "0x60A3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"],
    ["PONTAGE_EVM_BATCH_MAXIMUM", "1"],
    ["PONTAGE_EVM_BATCH_MAXIMUM", "101"],
    ["PONTAGE_EVM_BATCH_MAXIMUM_COST_WEI", "0"],
    ["PONTAGE_EVM_BATCH_MAXIMUM_COST_WEI", "1 ether"],
    ["PONTAGE_EVM_BATCH_WINDOW_MS", "10001"],
    ["PONTAGE_EVM_SIGNER_KEY", ""],
    ["PONTAGE_EVM_SIGNER_KEY", key.slice(0, -1)],
    ["PONTAGE_EVM_SIGNER_KEY", `${key}00`],
    ["PONTAGE_EVM_SIGNER_KEY", key.slice(2)],
    ["PONTAGE_EVM_SIGNER_KEY", `${key},`],
    ["PONTAGE_EVM_ASSETS", "[]"],
    ["PONTAGE_EVM_ASSETS", `[{"symbol":"${secret}"}]`],
    ["PONTAGE_EVM_MIN_GAS_WEI", "0.5"],
    ["PONTAGE_EVM_MIN_GAS_WEI", "-1"],
    ["PONTAGE_API_KEYS", ""],
    ["PONTAGE_API_KEYS", "[]"],
    ["PONTAGE_API_KEYS", secret],
    ["PONTAGE_API_KEYS", `["${secret}"]`],
    ["PONTAGE_API_KEYS", `[{"key":"${secret}${secret}","payees":[]}]`],
    ["PONTAGE_API_KEYS", '["sha256:abcdef0123456789"]'],
    ["PONTAGE_ALLOW_ANONYMOUS", "yes"],
    ["PONTAGE_WEBHOOK_ALLOW_PRIVATE", "1"],
    ["PONTAGE_DISCOVERY_ORIGINS", ""],
    ["PONTAGE_DISCOVERY_ALLOW_PRIVATE", "1"],
    ["PONTAGE_CALLERS_FILE", ""],
    ["PONTAGE_RATE", "100"],
    ["PONTAGE_RATE", "0/1"],
    ["PONTAGE_RATE", "1/1000000"],
    ["PONTAGE_PAYER_RATE", "1.5/2"],
    ["PONTAGE_EVM_GAS_CEILING_WEI", "1e18"],
    ["PONTAGE_STORE", ""],
    ["PONTAGE_STORE", "sqlite"],
    ["PONTAGE_STORE", "sqlite:"],
    ["PONTAGE_STORE", "./payments.sqlite"],
    ["PONTAGE_STORE", `mysql://${secret}`],
    ["PONTAGE_STORE", `postgres://pontage:${secret}@`],
    ["PONTAGE_TON_RPC_URL", `ftp://${secret}`],
    ["PONTAGE_TON_API_KEY", `${secret} ${secret}`],
    ["PONTAGE_TON_API_KEY", ""],
    ["PONTAGE_TON_NETWORK", "tron:mainnet"],
    ["PONTAGE_TON_NETWORK", "ton:othernet"],
    ["PONTAGE_TON_SIGNER_KEY", ""],
    ["PONTAGE_TON_SIGNER_KEY", seed.slice(1)],
    ["PONTAGE_TON_SIGNER_KEY", `0x${seed}`],
    ["PONTAGE_TON_SIGNER_KEY", `${seed},`],
    ["PONTAGE_TON_SUBWALLET", "32768"],
    ["PONTAGE_TON_ASSETS", "[]"],
    ["PONTAGE_TON_ASSETS", `[{"network":"eip155:1","address":"${secret}","symbol":"A","decimals":6}]`],
    ["PONTAGE_TON_KINDS", "gasless"],
    ["PONTAGE_TON_KINDS", ""],
    ["PONTAGE_TON_ATTACHED_NANOTON", "0"],
    ["PONTAGE_TON_ATTACHED_NANOTON", "0.05"],
    ["PONTAGE_TON_LOSS_BUDGET_NANOTON", "-1"],
    ["PONTAGE_TON_LOSS_BUDGET_PER_CALLER_NANOTON", "0"],
    ["PONTAGE_TON_LOSS_BUDGET_PER_PAYER_NANOTON", "0"],
    ["PONTAGE_TON_EXTERNAL_MINIMUM", "$0.01"],
    ["PONTAGE_TON_BATCH_MAXIMUM", "0"],
    ["PONTAGE_TON_BATCH_MAXIMUM", "256"],
    ["PONTAGE_TON_BATCH_WINDOW_MS", "10001"],
    ["PONTAGE_TON_EMULATION", "yes"],
    ["PONTAGE_TON_MIN_GAS_NANOTON", "1e9"],
    ["PONTAGE_TON_GAS_CEILING_NANOTON", ""],
    ["PONTAGE_TRON_RPC_URL", secret],
    ["PONTAGE_TRON_API_KEY", `${secret}\n`],
    ["PONTAGE_TRON_NETWORK", "mainnet"],
    ["PONTAGE_TRON_ASSETS", `[{"symbol":"${secret}"}]`],
    ["PONTAGE_TRON_FINALITY", "final"],
    ["PONTAGE_TRON_MAX_FEE_LIMIT_SUN", "0"],
    ["PONTAGE_TRON_PAYER_IN_FLIGHT", "257"],
    ["PONTAGE_TRON_CALLER_IN_FLIGHT", "0"],
    ["PONTAGE_TRON_SPONSOR_KEY", `${seed},${seed}`],
    ["PONTAGE_TRON_SPONSOR_KEY", ""],
    ["PONTAGE_TRON_SPONSOR_ENERGY_PER_PAYMENT", "0"],
    ["PONTAGE_TRON_SPONSOR_ENERGY_PER_DAY", "many"],
    ["PONTAGE_TRON_SPONSOR_PAYMENTS_PER_PAYER", "0"],
    ["PONTAGE_TRON_SPONSOR_ENERGY_PER_PAYER", "0"],
    ["PONTAGE_TRON_SPONSOR_ENERGY_PER_CALLER", "-1"],
    ["PONTAGE_TRON_SPONSOR_ENERGY_LOST", "1.5"],
    ["PONTAGE_TRON_SPONSOR_BAN_MS", "-1"],
    ["PONTAGE_TRON_SPONSOR_BAN_MS", "31536000001"],
    ["PONTAGE_TRON_MIN_GAS_SUN", "-1"],
    ["PONTAGE_TRON_GAS_CEILING_SUN", "1.5"],
    ["PONTAGE_SETTLE_TIMEOUT_MS", "999"],
    ["PONTAGE_SETTLE_TIMEOUT_MS", "25s"]
  ] as const)("%s=%s", ([name, value]) =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(read({ ...enough, [name]: value }))
      assert.match(message, new RegExp(`^${name}: expected .*; for example ${name}=`, "m"))
      if (value.includes(secret)) assert.notInclude(message, secret)
      if (value.length > 40) assert.notInclude(message, value.slice(2, 40))
    })
  )

  it.effect.each([
    [{}, /^PONTAGE_EVM_RPC_URL: no chain to settle on; set it, PONTAGE_TON_RPC_URL or PONTAGE_TRON_RPC_URL to [^\n]*$/],
    [{ PONTAGE_EVM_SIGNER_KEY: key }, /^PONTAGE_EVM_RPC_URL: no chain to settle on; set it/],
    [
      { ...tronEnough, PONTAGE_EVM_SIGNER_KEY: key, PONTAGE_TON_BATCH_MAXIMUM: "9" },
      /^PONTAGE_EVM_SIGNER_KEY: .*; set PONTAGE_EVM_RPC_URL or PONTAGE_EVM too\nPONTAGE_TON_BATCH_MAXIMUM: .*PONTAGE_TON_RPC_URL too$/
    ],
    [{ ...enough, PONTAGE_TRON_API_KEY: "key" }, /^PONTAGE_TRON_API_KEY: .*; set PONTAGE_TRON_RPC_URL too$/],
    [{ PONTAGE_TON_RPC_URL: "https://ton.example" }, /^PONTAGE_TON_SIGNER_KEY: no relayer; set it [^\n]*$/],
    [
      { ...tronEnough, PONTAGE_TRON_SPONSOR_ENERGY_PER_DAY: "9", PONTAGE_TRON_MIN_GAS_SUN: "9" },
      /^PONTAGE_TRON_SPONSOR_ENERGY_PER_DAY: .*_KEY; set that too\nPONTAGE_TRON_MIN_GAS_SUN: .*set that too$/
    ],
    [{ ...tronEnough, HOST: "0.0.0.0" }, /^HOST: other machines/],
    [{ PONTAGE_EVM_RPC_URL: "https://node.example" }, /^PONTAGE_EVM_SIGNER_KEY: no signer; set it/],
    [{ ...enough, PONTAGE_EVM: '[{"rpcUrl":"https://x.example"}]' }, /^PONTAGE_EVM: also PONTAGE_EVM_RPC_URL/],
    [
      { PONTAGE_EVM_SIGNER_KEY: key, PONTAGE_EVM: '[{"rpcUrl":"https://x.example"}]', PONTAGE_EVM_FINALITY_DEPTH: "9" },
      /^PONTAGE_EVM: also PONTAGE_EVM_FINALITY_DEPTH is set; move it into the entry/
    ],
    [
      { ...enough, PONTAGE_EVM_BATCH_MAXIMUM: "9", PONTAGE_EVM_BATCH_WINDOW_MS: "9" },
      /^PONTAGE_EVM_BATCH_MAXIMUM: .*_SETTLER or .*; set one .* too\nPONTAGE_EVM_BATCH_WINDOW_MS: .*set one .* too$/
    ],
    [
      { ...enough, PONTAGE_EVM_OPERATION_SETTLER: euro.address },
      /^PONTAGE_EVM_OPERATION_SETTLER: .*PONTAGE_EVM_USER_OPERATIONS; set that too$/
    ],
    [
      { ...enough, PONTAGE_EVM_PERMIT_SETTLER: permitSettlerAddress },
      /^PONTAGE_EVM_PERMIT_SETTLER: .*PONTAGE_EVM_PERMIT2=true; set that too$/
    ],
    [{ ...enough, HOST: "0.0.0.0" }, /^HOST: other machines could settle at your signer's cost; set PONTAGE_API_KEYS/],
    [
      { ...enough, PONTAGE_ALLOW_ANONYMOUS: "true", PONTAGE_API_KEYS: '["abcdefghijklmnop"]' },
      /^PONTAGE_ALLOW_ANONYMOUS: callers with keys are set/
    ],
    [{ ...enough, HOST: "facilitator", PONTAGE_ALLOW_ANONYMOUS: "false" }, /^HOST: other machines/],
    [
      { ...enough, PONTAGE_APIKEYS: secret },
      /^PONTAGE_APIKEYS: no such setting; did you mean PONTAGE_API_KEYS\? there are /
    ],
    [{ ...enough, pontage_api_keys: secret }, /^pontage_api_keys: no such setting; did you mean PONTAGE_API_KEYS\?/],
    [{ ...enough, PONTAGE_: secret }, /^PONTAGE_: no such setting; there are /]
  ] as const)("%j", ([environment, expected]) =>
    Effect.gen(function* () {
      const { _tag, message } = yield* Effect.flip(read(environment))
      assert.strictEqual(_tag, "Misconfigured")
      assert.match(message, expected)
      assert.notInclude(message, secret)
    })
  )

  it.effect("a list reports the places of all its mistakes", () =>
    Effect.gen(function* () {
      const batches = { settler: secret, maximum: 1, windowMillis: 10_001 }
      const chains = [{ rpcUrl: "http://x" }, { rpcUrl: secret, finalityDepth: 0, contractPayer: secret, batches }]
      const { message } = yield* Effect.flip(read({ PONTAGE_EVM_SIGNER_KEY: key, PONTAGE_EVM: JSON.stringify(chains) }))
      for (const field of ["rpcUrl", "finalityDepth", "batches.settler", "batches.maximum", "batches.windowMillis"])
        assert.include(message, `; 1.${field} is missing or not as described`)
      assert.include(message, "; 1.contractPayer: unknown key; did you mean contractPayers?")
      assert.notInclude(message, "; 0.")
      assert.notInclude(message, secret)
    })
  )

  it.effect("all mistakes are reported at once", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(read({ PORT: "x", PONTAGE_EVM_RPC_URL: "y", PONTAGE_TYPO: "z" }))
      assert.deepStrictEqual(
        message.split("\n").map((line) => line.slice(0, line.indexOf(":"))),
        ["PORT", "PONTAGE_EVM_RPC_URL", "PONTAGE_TYPO"]
      )
    })
  )
})
