/** The service on chains of the three families, set up by its environment: what holds on each, and that they share one. */
import { mkdtempSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { assert, describe, layer } from "@effect/vitest"
import { FacilitatorClient } from "@pontage/core"
import { EvmTestChain } from "@pontage/evm/testing"
import { TonTestChain } from "@pontage/ton/testing"
import { TronAddress } from "@pontage/tron"
import { TronTestChain } from "@pontage/tron/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"

import { ApiKey, FacilitatorProcess, FacilitatorSettings } from "../src/index.ts"
import * as ServiceProcess from "./ServiceProcess.ts"
import * as TestPayment from "./TestPayment.ts"

const chains = Layer.mergeAll(
  EvmTestChain.layer({ payers: 2 }),
  TonTestChain.layer({ payers: 4 }),
  TronTestChain.layer({ payers: 4 })
)

/** Environment variables of each chain. */
const environments = Effect.gen(function* () {
  const evm = yield* EvmTestChain.EvmTestChain
  const ton = yield* TonTestChain.TonTestChain
  const tron = yield* TronTestChain.TronTestChain
  return {
    evm: { PONTAGE_EVM_RPC_URL: evm.rpcUrl, PONTAGE_EVM_SIGNER_KEY: evm.accounts.signers[0].privateKey },
    ton: {
      PONTAGE_TON_RPC_URL: ton.rpcUrl,
      PONTAGE_TON_NETWORK: "ton:-217",
      PONTAGE_TON_SIGNER_KEY: ton.accounts.relayers[0].seed.toString("hex"),
      PONTAGE_TON_BATCH_WINDOW_MS: "10"
    },
    tron: { PONTAGE_TRON_RPC_URL: tron.rpcUrl, PONTAGE_TRON_NETWORK: "tron:local" }
  }
})

/** The service in this process, with what it logs; gone with the scope. */
const start = Effect.fnUntraced(function* (
  environment: Readonly<Record<string, string>>,
  headers?: Record<string, string>
) {
  const said: Array<string> = []
  const logging = Logger.layer([Logger.make(({ message }) => void said.push(String(message)))])
  const settings = yield* FacilitatorSettings.fromEnvironment({ PORT: "0", PONTAGE_STORE: "memory", ...environment })
  const { url } = yield* Effect.provide(FacilitatorProcess.start(settings), yield* Layer.build(logging))
  const client = yield* FacilitatorClient.make({ url, ...(headers && { headers }) })
  const get = (path: string) =>
    Effect.promise(async () => {
      const answer = await fetch(url + path)
      return { status: answer.status, text: await answer.text() }
    })
  return { client, get, said }
})

type Client = Effect.Success<ReturnType<typeof start>>["client"]

/** The facilitator's `extra` for offers on TON. */
const extraOf = (client: Client) =>
  Effect.map(client.supported, ({ kinds }) => kinds.find(({ network }) => network === "ton:local")?.extra ?? {})

/** A node behind a front that sees its keys. */
const keyedFront = Effect.fnUntraced(function* (target: string, header: string) {
  const seen = new Set<string | undefined>()
  const server = createServer((request, response) => {
    seen.add(String(request.headers[header]))
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const init = { method: "POST", headers: { "content-type": "application/json" }, body: Buffer.concat(chunks) }
      void fetch(target + (request.url ?? ""), init)
        .then((answer) => answer.text())
        .then((text) => response.writeHead(200, { "content-type": "application/json" }).end(text))
    })
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => server.close().closeAllConnections())
  )
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
})

const callersFile = (content: object): string => {
  const path = join(mkdtempSync(join(tmpdir(), "pontage-families-")), "callers.json")
  writeFileSync(path, JSON.stringify(content))
  return path
}

describe("the service on three chains", () => {
  layer(chains, { excludeTestServices: true })((it) => {
    it.effect("settles on each of them, plays TON's payments through, and shows all in /ready and the metrics", () =>
      Effect.gen(function* () {
        const evm = yield* EvmTestChain.EvmTestChain
        const ton = yield* TonTestChain.TonTestChain
        const tron = yield* TronTestChain.TronTestChain
        const each = yield* environments
        const required = { PONTAGE_TON_EMULATION: "true" }
        const { client, get } = yield* start({ ...each.evm, ...each.ton, ...each.tron, ...required })
        const requests = [
          yield* TestPayment.sign(evm, 0),
          yield* TestPayment.signOnTon(ton, 0, yield* extraOf(client)),
          yield* TestPayment.signOnTron(tron, 0)
        ]
        const settled = yield* Effect.forEach(
          requests,
          (request, index) => client.settle(request, TestPayment.claim(index)),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          settled.map(({ execution, network, payer }) => [execution, network, payer]),
          [
            ["granted", evm.network, evm.accounts.payers[0].address],
            ["granted", ton.network, ton.accounts.payers[0].raw],
            ["granted", tron.network, tron.accounts.payers[0].address]
          ]
        )
        assert.strictEqual(yield* evm.balanceOf(evm.accounts.payee.address), TestPayment.amount)
        assert.strictEqual(yield* ton.balanceOf(ton.accounts.payee.address), TestPayment.amount)
        assert.strictEqual(yield* tron.balanceOf(tron.accounts.payee.address), TestPayment.amount)
        const ready = yield* get("/ready")
        assert.strictEqual(ready.status, 200, ready.text)
        for (const network of [evm.network, ton.network, tron.network])
          assert.include(ready.text, `"network":"${network}","reachable":true`)
        const metrics = (yield* get("/metrics")).text
        // On a slow machine bytes that are in no block yet are sent again, so that only the first count is certain.
        for (const [network, method] of [
          ["ton:local", "sendBoc"],
          ["tron:local", "wallet/broadcasthex"],
          ["ton:local", "getConfigAll"]
        ])
          assert.match(
            metrics,
            new RegExp(`pontage_rpc_requests_total\\{network="${network}",method="${method}"\\} [1-9]`)
          )
      }).pipe(Effect.scoped)
    )

    it.effect("is fine with any one of them", () =>
      Effect.gen(function* () {
        const each = yield* environments
        for (const [environment, network] of [
          [each.ton, "ton:local"],
          [each.tron, "tron:local"]
        ] as const) {
          const { client, get } = yield* start(environment)
          const { kinds } = yield* client.supported
          assert.deepStrictEqual(
            kinds.map((kind) => kind.network),
            [network]
          )
          assert.strictEqual((yield* get("/ready")).status, 200)
        }
      }).pipe(Effect.scoped)
    )

    it.effect("is ready only where each family's signers hold that family's minimum", () =>
      Effect.gen(function* () {
        const each = yield* environments
        const tron = yield* TronTestChain.TronTestChain
        const sponsor = { PONTAGE_TRON_SPONSOR_KEY: tron.accounts.signers[0].privateKey }
        const all = { ...each.evm, ...each.ton, ...each.tron, ...sponsor }
        assert.strictEqual((yield* (yield* start(all)).get("/ready")).status, 200)
        for (const [variable, network] of [
          ["PONTAGE_EVM_MIN_GAS_WEI", "eip155:31337"],
          ["PONTAGE_TON_MIN_GAS_NANOTON", "ton:local"],
          ["PONTAGE_TRON_MIN_GAS_SUN", "tron:local"]
        ] as const) {
          const { get } = yield* start({ ...all, [variable]: `${10n ** 26n}` })
          const { status, text } = yield* get("/ready")
          assert.strictEqual(status, 503, variable)
          const { chains: seen } = JSON.parse(text)
          const short = seen.filter(({ signers }: { signers: ReadonlyArray<{ sufficient: boolean }> }) =>
            signers.some(({ sufficient }) => !sufficient)
          )
          assert.deepStrictEqual(
            short.map((chain: { network: string }) => chain.network),
            [network]
          )
        }
      }).pipe(Effect.scoped)
    )

    it.effect("takes in nothing above a family's ceiling", () =>
      Effect.gen(function* () {
        const ton = yield* TonTestChain.TonTestChain
        const tron = yield* TronTestChain.TronTestChain
        const each = yield* environments
        const { client } = yield* start({ ...each.ton, ...each.tron, PONTAGE_TON_GAS_CEILING_NANOTON: "1" })
        const onTon = yield* TestPayment.signOnTon(ton, 1, yield* extraOf(client))
        const refused = yield* Effect.flip(client.settle(onTon, TestPayment.claim(1)))
        assert.strictEqual(refused._tag, "FacilitatorUnavailable")
        const onTron = yield* TestPayment.signOnTron(tron, 1)
        assert.strictEqual((yield* client.settle(onTron, TestPayment.claim(1))).execution, "granted")
      }).pipe(Effect.scoped)
    )

    it.effect("knows a caller's payees and assets in any spelling, and no others", () =>
      Effect.gen(function* () {
        const ton = yield* TonTestChain.TonTestChain
        const tron = yield* TronTestChain.TronTestChain
        const each = yield* environments
        const { payee } = ton.accounts
        const friendly = payee.address.toString({ bounceable: false, testOnly: true })
        const hexadecimal = TronAddress.fromText(tron.accounts.payee.address) ?? ""
        const key = "key-of-the-shop-0001"
        const caller = (payees: { readonly ton: string; readonly tron: string }) =>
          callersFile({
            callers: [
              {
                name: "shop",
                keys: [`sha256:${Redacted.value(ApiKey.digestOf(key)).toString("hex")}`],
                networks: {
                  "ton:-217": { payees: [payees.ton], assets: [ton.jetton.address.toString()] },
                  "tron:local": { payees: [payees.tron], assets: [tron.token.address] }
                }
              }
            ]
          })
        const open = (file: string) =>
          start({ ...each.ton, ...each.tron, PONTAGE_CALLERS_FILE: file }, { authorization: `Bearer ${key}` })
        const { client } = yield* open(caller({ ton: friendly, tron: hexadecimal }))
        const onTon = yield* TestPayment.signOnTon(ton, 2, yield* extraOf(client))
        const onTron = yield* TestPayment.signOnTron(tron, 2)
        for (const request of [onTon, onTron]) yield* client.verify(request)
        const { client: other } = yield* open(
          caller({ ton: ton.accounts.stranger.raw, tron: tron.accounts.stranger.address })
        )
        for (const request of [onTon, onTron]) {
          const refused = yield* Effect.flip(other.verify(request))
          assert.include(refused.message, "403")
        }
      }).pipe(Effect.scoped)
    )

    it.effect("shows its providers' keys to their nodes, in the headers they read", () =>
      Effect.gen(function* () {
        const ton = yield* TonTestChain.TonTestChain
        const tron = yield* TronTestChain.TronTestChain
        const each = yield* environments
        const tonFront = yield* keyedFront(new URL(ton.rpcUrl).origin, "x-api-key")
        const tronFront = yield* keyedFront(tron.rpcUrl, "tron-pro-api-key")
        const { said } = yield* start({
          ...each.ton,
          PONTAGE_TON_RPC_URL: tonFront.url + new URL(ton.rpcUrl).pathname,
          PONTAGE_TON_API_KEY: "key-of-the-ton-node",
          PONTAGE_TRON_NETWORK: "tron:local",
          PONTAGE_TRON_RPC_URL: tronFront.url,
          PONTAGE_TRON_API_KEY: "key-of-the-tron-node"
        })
        assert.deepStrictEqual([...tonFront.seen], ["key-of-the-ton-node"])
        assert.deepStrictEqual([...tronFront.seen], ["key-of-the-tron-node"])
        assert.notInclude(said.join("\n"), "key-of-the")
      }).pipe(Effect.scoped)
    )

    it.effect("ends at once where a node serves another network or a relayer is not deployed, telling no secret", () =>
      Effect.gen(function* () {
        const each = yield* environments
        const stranger = "9d".repeat(32)
        for (const [environment, words] of [
          [{ ...each.ton, PONTAGE_TON_NETWORK: "ton:mainnet" }, "ton:mainnet"],
          [{ ...each.ton, PONTAGE_TON_SIGNER_KEY: stranger }, "is not a deployed W5 wallet"],
          [{ ...each.tron, PONTAGE_TRON_NETWORK: "tron:mainnet" }, "tron:mainnet"],
          [
            { ...each.tron, PONTAGE_TRON_SPONSOR_KEY: "f".repeat(64) },
            "PONTAGE_TRON_SPONSOR_KEY: the key is not a valid private key"
          ]
        ] as const) {
          const { exited, output } = yield* ServiceProcess.run({ PORT: "0", PONTAGE_STORE: "memory", ...environment })
          assert.strictEqual(yield* exited, 1, words)
          const text = output.join("")
          assert.include(text, words)
          for (const secret of [stranger, "f".repeat(64), each.ton.PONTAGE_TON_SIGNER_KEY])
            assert.notInclude(text, secret)
        }
      }).pipe(Effect.scoped)
    )
  })
})
