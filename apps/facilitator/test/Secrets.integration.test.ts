/**
 * Secrets leave by no door: the service runs with secrets that can be told from everything else, through success and
 * through each kind of failure, and everything that comes out of it is searched for them.
 */
import { mkdtempSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inspect } from "node:util"

import { assert, describe, layer } from "@effect/vitest"
import { PaymentPayload, type PaymentRequest } from "@pontage/core"
import { EvmTestChain } from "@pontage/evm/testing"
import { TonTestChain } from "@pontage/ton/testing"
import { TronTestChain } from "@pontage/tron/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"

import * as ApiKey from "../src/callers/ApiKey.ts"
import * as FacilitatorProcess from "../src/FacilitatorProcess.ts"
import * as FacilitatorSettings from "../src/settings/FacilitatorSettings.ts"
import * as ServiceProcess from "./ServiceProcess.ts"
import * as TestPayment from "./TestPayment.ts"

const directory = mkdtempSync(join(tmpdir(), "pontage-secrets-"))

const canary = {
  apiKey: "cAnArY-of-the-api-key",
  strangersKey: "cAnArY-of-a-strangers-key",
  rpcPath: "cAnArY-of-the-rpc-url",
  webhookSecret: "cAnArY-of-the-webhook-secret",
  webhookToken: "cAnArY-of-the-webhook-url",
  storePassword: "cAnArY-of-the-store",
  tonKey: "cAnArY-of-the-ton-provider",
  tronKey: "cAnArY-of-the-tron-provider"
}

const listen = (server: Server) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () => Effect.sync(() => server.close().closeAllConnections())
    ),
    () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  )

type Mood = "honest" | "gateway" | "hang-up" | "echo" | "nonsense"

/** The refusal of a node of each family, in these words. */
const refusals = {
  evm: (told: string, id: unknown) => ({ jsonrpc: "2.0", id, error: { code: -32_000, message: told, data: told } }),
  ton: (told: string) => ({ ok: false, error: told, code: 500 }),
  tron: (told: string) => ({ Error: told })
}

/**
 * A node behind an address with a secret in it, that repeats in its failures everything it was sent.
 * The path after the secret goes to the node behind it.
 */
const node = Effect.fnUntraced(function* (rpcUrl: string, family: keyof typeof refusals = "evm") {
  const state: { mood: Mood } = { mood: "honest" }
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const body = Buffer.concat(chunks)
      const told = `${request.url} ${inspect(request.headers)} ${body.toString()}`
      switch (state.mood) {
        case "gateway":
          return void response.writeHead(502).end(`<html>${told}</html>`)
        case "hang-up":
          return void request.socket.destroy()
        case "nonsense":
          return void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ told }))
        case "echo": {
          const { id = 1 } = JSON.parse(body.toString())
          return void response
            .writeHead(200, { "content-type": "application/json" })
            .end(JSON.stringify(refusals[family](`not now: ${told}`, id)))
        }
        case "honest": {
          const headers = { "content-type": "application/json" }
          const [, path = ""] = (request.url ?? "").split(canary.rpcPath)
          return void fetch(rpcUrl + path, { method: "POST", headers, body })
            .then((answer) => answer.text())
            .then((text) => response.end(text))
            // The chain may end while the service still asks it.
            .catch(() => response.destroy())
        }
      }
    })
  })
  const url = yield* listen(server)
  return { url: `${url}/v2/${canary.rpcPath}`, state }
})

/** A shop that refuses its first webhook. */
const shop = Effect.gen(function* () {
  const told = yield* Queue.unbounded<number>()
  let asked = 0
  const server = createServer((request, response) => {
    request.resume()
    request.on("end", () => {
      const status = asked++ === 0 ? 500 : 200
      response.writeHead(status).end(`${request.url} ${inspect(request.headers)}`)
      Queue.offerUnsafe(told, status)
    })
  })
  return { url: `${yield* listen(server)}/payments?token=${canary.webhookToken}`, told }
})

/** Everything that leaves the service: what is logged, traced and answered, its metrics among the answers. */
const doors = () => {
  const out: Array<string> = []
  const tell = (what: unknown) =>
    void out.push(inspect(what, { depth: 20, maxStringLength: null, breakLength: Infinity }))
  const spans: Array<Tracer.NativeSpan> = []
  const outside = Layer.mergeAll(
    Logger.layer([
      Logger.make((entry) => {
        tell({ message: entry.message, cause: entry.cause, level: entry.logLevel })
        tell(Logger.formatJson.log(entry))
      })
    ]),
    Layer.succeed(References.MinimumLogLevel, "All"),
    Layer.succeed(
      Tracer.Tracer,
      Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
    )
  )
  const tellSpans = () => {
    for (const { attributes, events, name, status } of spans)
      tell({ name, events, status, attributes: [...attributes] })
  }
  return { out, outside, tell, tellSpans, spans }
}

const callersFile = (webhookUrl: string, networks: object) => {
  const path = join(directory, "callers.json")
  const callers = [
    {
      name: "shop",
      keys: [`sha256:${Buffer.from(digestOf(canary.apiKey)).toString("hex")}`],
      networks,
      // So few a second that a slow machine is limited too.
      rate: "1/100",
      webhook: { url: webhookUrl, secret: canary.webhookSecret }
    }
  ]
  writeFileSync(path, JSON.stringify({ callers }))
  return path
}

const digestOf = (key: string): Buffer => {
  const digest = ApiKey.digestOf(key)
  return Redacted.value(digest)
}

/** The parts of a payment that only its payer and the chain may see before it is sent. */
const secretsOf = ({ paymentPayload }: PaymentRequest): ReadonlyArray<string> => {
  const { boc, signature, signedTransaction } = JSON.parse(Buffer.from(paymentPayload.payload, "base64").toString())
  const signed = boc ?? signature?.slice(2) ?? signedTransaction.signature[0].slice(2)
  return [paymentPayload.payload, String(signed)]
}

/** The nodes of the three families, as the service is told of them. */
interface Nodes {
  readonly evm: string
  readonly ton: string
  readonly tron: string
}

const settings = Effect.fnUntraced(function* (nodes: Nodes, webhookUrl: string) {
  const chain = yield* EvmTestChain.EvmTestChain
  const ton = yield* TonTestChain.TonTestChain
  const tron = yield* TronTestChain.TronTestChain
  return yield* FacilitatorSettings.fromEnvironment({
    PORT: "0",
    PONTAGE_STORE: `sqlite:${join(directory, "payments.sqlite")}`,
    PONTAGE_EVM_RPC_URL: nodes.evm,
    PONTAGE_EVM_SIGNER_KEY: chain.accounts.signers[0].privateKey,
    PONTAGE_TON_RPC_URL: nodes.ton,
    PONTAGE_TON_API_KEY: canary.tonKey,
    PONTAGE_TON_NETWORK: ton.network,
    PONTAGE_TON_SIGNER_KEY: ton.accounts.relayers[0].seed.toString("hex"),
    PONTAGE_TRON_RPC_URL: nodes.tron,
    PONTAGE_TRON_API_KEY: canary.tronKey,
    PONTAGE_TRON_NETWORK: tron.network,
    PONTAGE_TRON_SPONSOR_KEY: tron.accounts.signers[0].privateKey,
    PONTAGE_CALLERS_FILE: callersFile(webhookUrl, {
      [chain.network]: { payees: [chain.accounts.payee.address] },
      [ton.network]: { payees: [ton.accounts.payee.raw] },
      [tron.network]: { payees: [tron.accounts.payee.address] }
    }),
    PONTAGE_WEBHOOK_ALLOW_PRIVATE: "true",
    PONTAGE_SETTLE_TIMEOUT_MS: "2000",
    PONTAGE_RATE: "50/100",
    PONTAGE_PAYER_RATE: "5/10"
  })
})

const chains = Layer.mergeAll(
  EvmTestChain.layer({ payers: 8 }),
  TonTestChain.layer({ payers: 6 }),
  TronTestChain.layer({ payers: 6 })
)

describe("secrets", () => {
  layer(chains, { excludeTestServices: true })((it) => {
    it.effect("are in no log, trace, metric or answer, whatever goes well or wrong", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { out, outside, spans, tell, tellSpans } = doors()
        const ton = yield* TonTestChain.TonTestChain
        const tron = yield* TronTestChain.TronTestChain
        const nodes = {
          evm: yield* node(chain.rpcUrl),
          ton: yield* node(ton.rpcUrl, "ton"),
          tron: yield* node(tron.rpcUrl, "tron")
        }
        const { told, url: webhookUrl } = yield* shop
        const urls = { evm: nodes.evm.url, ton: nodes.ton.url, tron: nodes.tron.url }
        const service = FacilitatorProcess.start(yield* settings(urls, webhookUrl))
        const { url } = yield* Effect.provide(service, yield* Layer.build(outside))

        const ask = Effect.fnUntraced(function* (path: string, body: unknown, key: string | undefined = canary.apiKey) {
          const answer = yield* Effect.promise(() =>
            fetch(url + path, {
              ...(body !== undefined && {
                method: "POST",
                body: typeof body === "string" ? body : JSON.stringify(body)
              }),
              headers: { "content-type": "application/json", authorization: `Bearer ${key}` }
            })
          )
          const text = yield* Effect.promise(() => answer.text())
          tell({ path: path.split("?")[0], status: answer.status, headers: [...answer.headers], text })
          return answer.status
        })
        const signed: Array<PaymentRequest> = yield* Effect.forEach([0, 1, 2, 3, 4, 5, 6, 7], (payer) =>
          TestPayment.sign(chain, payer)
        )
        const extra = { kinds: ["w5-internal"], responseDestination: ton.accounts.relayers[0].raw }
        const others = yield* Effect.forEach([0, 1, 2, 3, 4], (payer) =>
          Effect.all([TestPayment.signOnTon(ton, payer, extra), TestPayment.signOnTron(tron, payer)])
        )
        signed.push(...others.flat())
        const envelope = (index: number) => {
          const request = signed[index]
          return { protocolVersion: PaymentPayload.protocolVersion, ...request, claim: TestPayment.claim(index) }
        }

        assert.strictEqual(yield* ask("/settle", envelope(0)), 200)
        assert.strictEqual(yield* Queue.take(told), 500)
        assert.strictEqual(yield* Queue.take(told), 200)
        for (const other of [8, 9]) assert.strictEqual(yield* ask("/settle", envelope(other)), 200)
        assert.strictEqual(yield* ton.balanceOf(ton.accounts.payee.address), TestPayment.amount)
        assert.strictEqual(yield* tron.balanceOf(tron.accounts.payee.address), TestPayment.amount)
        assert.strictEqual(yield* ask("/settle", envelope(1), canary.strangersKey), 401)
        assert.strictEqual(
          yield* ask("/verify", { ...envelope(1), paymentPayload: { ...signed[1]?.paymentPayload, scheme: 7 } }),
          200
        )
        assert.strictEqual(yield* ask("/settle", `{"${canary.apiKey}`), 400)
        assert.strictEqual(yield* ask("/payments?limit=many", undefined), 400)
        const elsewhere = { ...signed[1]?.paymentRequirements, payTo: chain.accounts.signers[1].address }
        assert.strictEqual(yield* ask("/settle", { ...envelope(1), paymentRequirements: elsewhere }), 403)
        const dearer = { ...signed[1]?.paymentRequirements, maxAmountRequired: "10001" }
        assert.strictEqual(yield* ask("/settle", { ...envelope(1), paymentRequirements: dearer }), 200)
        assert.strictEqual(
          yield* ask("/payments/pay_0123456789abcdefghijkl/finish", { claimId: "x".repeat(22), outcome: "served" }),
          404
        )
        for (const [index, mood] of (["gateway", "hang-up", "echo", "nonsense"] as const).entries()) {
          for (const { state } of Object.values(nodes)) state.mood = mood
          assert.include([200, 503], yield* ask("/verify", envelope(1)))
          assert.include([200, 503], yield* ask("/settle", envelope(2 + index)))
          for (const other of [10 + 2 * index, 11 + 2 * index]) {
            assert.include([200, 503], yield* ask("/verify", envelope(other)))
            assert.include([200, 503], yield* ask("/settle", envelope(other)))
          }
          yield* ask("/ready", undefined)
        }
        for (const { state } of Object.values(nodes)) state.mood = "honest"
        yield* ask("/settle", envelope(0))
        const many = Effect.forEach(
          Array.from({ length: 400 }),
          () => ask("/settle", { ...envelope(6), protocolVersion: 9 }),
          {
            concurrency: 4
          }
        )
        assert.include(yield* many, 429)
        for (const path of ["/metrics", "/ready", "/live", "/payments", "/supported", "/openapi.json"])
          yield* ask(path, undefined)
        tellSpans()

        const everything = out.join("\n")
        assert.isAbove(spans.length, 20)
        assert.include(everything, "it responded with 500")
        assert.include(everything, "pontage_payment_transitions_total")
        const secrets = [
          ...Object.values(canary).filter((one) => one !== canary.apiKey),
          canary.apiKey,
          chain.accounts.signers[0].privateKey.slice(2),
          ton.accounts.relayers[0].seed.toString("hex"),
          tron.accounts.signers[0].privateKey,
          digestOf(canary.apiKey).toString("hex"),
          ...signed.flatMap(secretsOf)
        ]
        const found = secrets.filter((secret) => everything.toLowerCase().includes(secret.toLowerCase()))
        assert.deepStrictEqual(
          found.map((secret) => excerpt(everything, secret)),
          []
        )
      }).pipe(Effect.scoped)
    )

    it.effect("are not told by a process that cannot start", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const enough = {
          PORT: "0",
          PONTAGE_STORE: "memory",
          PONTAGE_EVM_RPC_URL: chain.rpcUrl,
          PONTAGE_EVM_SIGNER_KEY: chain.accounts.signers[0].privateKey
        }
        const { storePassword } = canary
        for (const environment of [
          { ...enough, PONTAGE_STORE: `postgres://pontage:${storePassword}@127.0.0.1:1/pontage` },
          { ...enough, PONTAGE_STORE: `postgres://pontage:${storePassword}@/pontage` },
          { ...enough, PONTAGE_EVM_SIGNER_KEY: `0x${"0".repeat(64)},0x${storePassword}` },
          { ...enough, PONTAGE_EVM_SIGNER_KEY: `0x${"f".repeat(64)}` },
          { ...enough, PONTAGE_API_KEYS: `["${storePassword}", 7]` },
          { ...enough, PONTAGE_EVM_NETWORK: "eip155:1", PONTAGE_EVM_RPC_URL: `${chain.rpcUrl}/?key=${storePassword}` },
          { ...enough, PONTAGE_TON_RPC_URL: "http://127.0.0.1:1", PONTAGE_TON_SIGNER_KEY: storePassword },
          { ...enough, PONTAGE_TON_API_KEY: `${storePassword} ` },
          { ...enough, PONTAGE_TRON_RPC_URL: "http://127.0.0.1:1", PONTAGE_TRON_SPONSOR_KEY: "f".repeat(64) }
        ]) {
          const { exited, output } = yield* ServiceProcess.run(environment)
          assert.strictEqual(yield* exited, 1, inspect(environment))
          const said = output.join("")
          assert.include(said, "the facilitator cannot start")
          assert.notInclude(said, storePassword)
          assert.notInclude(said, "f".repeat(64))
        }
      }).pipe(Effect.scoped)
    )
  })
})

/** Where a secret was found, for whoever has to mend it. */
const excerpt = (text: string, secret: string) => {
  const at = text.toLowerCase().indexOf(secret.toLowerCase())
  return text.slice(Math.max(0, at - 200), at + secret.length + 50)
}
