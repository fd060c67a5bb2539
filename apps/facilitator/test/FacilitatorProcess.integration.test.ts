import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

import { assert, describe, layer } from "@effect/vitest"
import { FacilitatorClient, Network, PaymentId, PaymentPayload, type PaymentRequest } from "@pontage/core"
import { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"

import { ApiKey, FacilitatorProcess } from "../src/index.ts"
import * as ServiceProcess from "./ServiceProcess.ts"
import * as TestPayment from "./TestPayment.ts"

const payers = Array.from({ length: 64 }, (_, index) => index)

const settingsFor = (chain: EvmTestChain.Shape) => ({
  host: "127.0.0.1",
  port: 0,
  callers: [],
  allowedHosts: [],
  maximumConnections: 5000,
  requestTimeoutMillis: 15_000,
  retentionHours: undefined,
  anonymousRates: { rate: { perSecond: 100, burst: 200 }, payerRate: { perSecond: 20, burst: 40 } },
  store: { kind: "memory" as const },
  webhooksToPrivate: false,
  settleTimeoutMillis: 25_000,
  evm: [{ rpcUrl: Redacted.make(chain.rpcUrl), network: undefined }],
  evmSignerKeys: [Redacted.make<string>(chain.accounts.signers[0].privateKey)],
  evmAssets: [],
  evmMinimumGas: 1n,
  evmGasCeiling: undefined
})

/** A node that refuses its first requests, or all of them until it is opened. */
const lateNode = Effect.fnUntraced(function* (rpcUrl: string, refusals = 1) {
  let asked = 0
  let isOpen = false
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      if (asked++ < refusals && !isOpen) return void response.writeHead(502).end("<html>Bad gateway</html>")
      const headers = { "content-type": "application/json" }
      void fetch(rpcUrl, { method: "POST", headers, body: Buffer.concat(chunks) })
        .then((answer) => answer.text())
        .then((text) => response.end(text))
    })
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => server.close().closeAllConnections())
  )
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, asked: () => asked, open: () => void (isOpen = true) }
})

describe("the service on a chain", () => {
  layer(EvmTestChain.layer({ payers: 71 }), { excludeTestServices: true })((it) => {
    it.effect("settles for 64 payers at once on one signer, and for none of them twice", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { url } = yield* FacilitatorProcess.start(settingsFor(chain))
        const client = yield* FacilitatorClient.make({ url })
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        const requests = yield* Effect.forEach(payers, (payer) => TestPayment.sign(chain, payer))
        const settle = Effect.forEach(requests, (request, index) => client.settle(request, TestPayment.claim(index)), {
          concurrency: "unbounded"
        })
        const settled = yield* settle
        for (const { execution, status } of settled) {
          assert.strictEqual(execution, "granted")
          assert.include(["included", "final"], status)
        }
        assert.strictEqual(new Set(settled.map(({ paymentId }) => paymentId)).size, 64)
        const after = before + 64n * TestPayment.amount
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), after)
        // Their blocks may be final by then.
        const termsOf = (all: typeof settled) => all.map((one) => ({ ...one, status: "settled" }))
        assert.deepStrictEqual(termsOf(yield* settle), termsOf(settled))
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), after)
        const [first] = settled
        const record = yield* client.payment(first?.paymentId ?? "")
        assert.strictEqual(record?.transaction, first?.transaction)
        const metrics = yield* Effect.promise(async () => (await fetch(`${url}/metrics`)).text())
        assert.include(metrics, 'pontage_facilitator_responses_total{operation="settle",outcome="settled"} 128\n')
        assert.include(
          metrics,
          `pontage_rpc_requests_total{network="${chain.network}",method="eth_sendRawTransaction"}`
        )
        const ready = yield* Effect.promise(async () => (await fetch(`${url}/ready`)).status)
        assert.strictEqual(ready, 200)
      }).pipe(Effect.scoped)
    )

    it.effect("stops at a caller's gas ceiling, and the others notice nothing", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const callers = [
          {
            name: "capped",
            keys: [ApiKey.digestOf("key-of-capped-0001")],
            gasCeilings: new Map([[chain.network, 1n]])
          },
          { name: "free", keys: [ApiKey.digestOf("key-of-free-000001")] }
        ]
        const { url } = yield* FacilitatorProcess.start({ ...settingsFor(chain), callers })
        const clientOf = (key: string) => FacilitatorClient.make({ url, headers: { authorization: `Bearer ${key}` } })
        const capped = yield* clientOf("key-of-capped-0001")
        const free = yield* clientOf("key-of-free-000001")
        const request = yield* TestPayment.sign(chain, 68)
        const refused = yield* Effect.flip(capped.settle(request, TestPayment.claim(68)))
        assert.strictEqual(refused._tag, "FacilitatorUnavailable")
        const settled = yield* free.settle(yield* TestPayment.sign(chain, 69), TestPayment.claim(69))
        assert.strictEqual(settled.status, "included")
        assert.isUndefined(yield* capped.payment(settled.paymentId))
        assert.strictEqual((yield* free.payment(settled.paymentId))?.status, "included")
        // Another service of this process has counts of its own.
        const metrics = yield* Effect.promise(async () => (await fetch(`${url}/metrics`)).text())
        assert.include(metrics, 'pontage_facilitator_responses_total{operation="settle",outcome="settled"} 1\n')
      }).pipe(Effect.scoped)
    )

    it.effect("holds a part of a network's ceiling for each caller, without a setting of theirs", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const callers = [
          { name: "cheap", keys: [ApiKey.digestOf("key-of-cheap-00001")] },
          { name: "dear", keys: [ApiKey.digestOf("key-of-dear-000001")] }
        ]
        const { url } = yield* FacilitatorProcess.start({
          ...settingsFor(chain),
          callers,
          evmGasCeiling: 2_000_000_000_000_000n
        })
        const clientOf = (key: string) => FacilitatorClient.make({ url, headers: { authorization: `Bearer ${key}` } })
        const cheap = yield* clientOf("key-of-cheap-00001")
        const dear = yield* clientOf("key-of-dear-000001")
        const settle = Effect.fnUntraced(function* (client: typeof cheap, index: number) {
          return yield* Effect.result(client.settle(yield* TestPayment.sign(chain, index), TestPayment.claim(index)))
        })
        let index = 0
        let end = yield* settle(cheap, index)
        assert.isTrue(Result.isSuccess(end))
        while (Result.isSuccess(end) && index < 60) end = yield* settle(cheap, ++index)
        assert.include(Result.isFailure(end) ? end.failure.message : "", "this caller's share of the ceiling")
        assert.isTrue(Result.isSuccess(yield* settle(dear, 61)))
      }).pipe(Effect.scoped)
    )

    it.effect("asks no node about payments that can be seen to be bad", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const rates = { perSecond: 10_000, burst: 10_000 }
        const { url } = yield* FacilitatorProcess.start({
          ...settingsFor(chain),
          anonymousRates: { rate: rates, payerRate: rates },
          evm: [{ rpcUrl: Redacted.make(chain.rpcUrl), network: undefined, terms: { contractPayers: "none" } }]
        })
        const client = yield* FacilitatorClient.make({ url })
        const good = yield* TestPayment.sign(chain, 70)
        yield* client.verify(good)
        const { paymentPayload, paymentRequirements } = good
        const json = JSON.parse(Buffer.from(paymentPayload.payload, "base64").toString())
        const { authorization, signature } = json
        const sealed = (fields: object) => ({
          paymentRequirements,
          paymentPayload: PaymentPayload.sealPayload("exact", chain.network, { ...json, ...fields })
        })
        const bad: ReadonlyArray<PaymentRequest> = [
          sealed({ signature: `${signature.slice(0, 20)}${signature[20] === "0" ? "1" : "0"}${signature.slice(21)}` }),
          sealed({ signature: "0x" }),
          sealed({ authorization: { ...authorization, validBefore: "1700000000" } }),
          sealed({ authorization: { ...authorization, value: "1" } }),
          sealed({ authorization: { ...authorization, to: authorization.from } }),
          sealed({ authorization: { ...authorization, from: authorization.to } }),
          { paymentPayload: { ...paymentPayload, payload: "e30=" }, paymentRequirements },
          { paymentPayload, paymentRequirements: { ...paymentRequirements, network: Network.make("eip155:1") } },
          { paymentPayload, paymentRequirements: { ...paymentRequirements, asset: chain.accounts.payee.address } }
        ]
        const asked = Effect.promise(async () => {
          const text = await (await fetch(`${url}/metrics`)).text()
          return [...text.matchAll(/^pontage_rpc_requests_total\{.*method="eth_(?:call|getCode)"\} (\d+)$/gm)].reduce(
            (sum, [, count]) => sum + Number(count),
            0
          )
        })
        const before = yield* asked
        for (const request of bad) {
          const failure = yield* Effect.flip(client.verify(request))
          assert.include(["PaymentError", "ValidationError"], failure._tag)
          yield* Effect.flip(client.settle(request, TestPayment.claim(70)))
        }
        assert.isAbove(before, 0)
        assert.strictEqual(yield* asked, before)
      }).pipe(Effect.scoped)
    )

    it.effect("as a process: asked to stop, it finishes the settlement under way and ends well", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { privateKey } = chain.accounts.signers[1]
        const environment = {
          PORT: "0",
          PONTAGE_EVM_RPC_URL: chain.rpcUrl,
          PONTAGE_EVM_SIGNER_KEY: privateKey,
          PONTAGE_STORE: ServiceProcess.freshFile()
        }
        const { exited, output, process, url } = yield* ServiceProcess.run(environment)
        const address = yield* url
        const client = yield* FacilitatorClient.make({ url: address })
        const first = yield* client.settle(yield* TestPayment.sign(chain, 64), TestPayment.claim(64))
        assert.isTrue(PaymentId.isPaymentId(first.paymentId))
        yield* Effect.promise(() => chain.client.setAutomine(false))
        const settling = yield* Effect.forkChild(
          Effect.flatMap(TestPayment.sign(chain, 65), (request) => client.settle(request, TestPayment.claim(65)))
        )
        yield* Effect.repeat(
          Effect.promise(() => chain.client.getTxpoolStatus()),
          { until: ({ pending }) => pending > 0 }
        )
        process.kill("SIGTERM")
        yield* Effect.repeat(
          Effect.promise(() =>
            fetch(`${address}/live`).then(
              () => true,
              () => false
            )
          ),
          { until: (answers) => !answers }
        )
        yield* Effect.promise(() => chain.client.mine({ blocks: 1 }))
        assert.strictEqual((yield* Fiber.join(settling)).status, "included")
        assert.strictEqual(yield* exited, 0)
        yield* Effect.promise(() => chain.client.setAutomine(true))
        assert.notInclude(output.join(""), privateKey.slice(2))
      }).pipe(Effect.scoped)
    )

    it.effect("as a process: killed and started again, it knows its payments and goes on with what was under way", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const environment = {
          PORT: "0",
          PONTAGE_EVM_RPC_URL: chain.rpcUrl,
          PONTAGE_EVM_SIGNER_KEY: chain.accounts.signers[0].privateKey,
          PONTAGE_STORE: ServiceProcess.freshFile()
        }
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        const killed = yield* ServiceProcess.run(environment)
        const first = yield* FacilitatorClient.make({ url: yield* killed.url })
        const requests = [yield* TestPayment.sign(chain, 66), yield* TestPayment.sign(chain, 67)] as const
        const settled = yield* first.settle(requests[0], TestPayment.claim(66))
        yield* Effect.promise(() => chain.client.setAutomine(false))
        const cut = yield* Effect.forkChild(Effect.flip(first.settle(requests[1], TestPayment.claim(67))))
        yield* Effect.repeat(
          Effect.promise(() => chain.client.getTxpoolStatus()),
          { until: ({ pending }) => pending > 0 }
        )
        killed.process.kill("SIGKILL")
        assert.strictEqual((yield* Fiber.join(cut))._tag, "FacilitatorUnavailable")
        yield* killed.exited
        yield* Effect.promise(() => chain.client.setAutomine(true))
        yield* Effect.promise(() => chain.client.mine({ blocks: 1 }))
        const again = yield* ServiceProcess.run(environment)
        const second = yield* FacilitatorClient.make({ url: yield* again.url })
        assert.deepStrictEqual(yield* second.settle(requests[0], TestPayment.claim(66)), settled)
        assert.strictEqual((yield* second.settle(requests[1], TestPayment.claim(67))).status, "included")
        const after = yield* chain.balanceOf(chain.accounts.payee.address)
        assert.strictEqual(after, before + 2n * TestPayment.amount)
        assert.strictEqual((yield* second.payment(settled.paymentId))?.transaction, settled.transaction)
      }).pipe(Effect.scoped)
    )

    it.effect("waits for a node that is started together with it", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const node = yield* lateNode(chain.rpcUrl)
        const evm = [{ rpcUrl: Redacted.make(node.url), network: chain.network }]
        const { url } = yield* FacilitatorProcess.start({ ...settingsFor(chain), evm })
        const { kinds } = yield* Effect.flatMap(FacilitatorClient.make({ url }), ({ supported }) => supported)
        assert.deepStrictEqual(kinds, [{ protocolVersion: 2, scheme: "exact", network: chain.network }])
        assert.isAbove(node.asked(), 1)
      }).pipe(Effect.scoped)
    )

    it.effect("serves without a chain that does not respond, names it, and takes it in when it does", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const node = yield* lateNode(chain.rpcUrl, Infinity)
        const evm = [{ rpcUrl: Redacted.make(`${node.url}/v2/s3cret-key`), network: undefined }]
        const { url } = yield* FacilitatorProcess.start({ ...settingsFor(chain), evm })
        const supported = Effect.promise(async (): Promise<unknown> => (await fetch(`${url}/supported`)).json())
        assert.deepStrictEqual(yield* supported, { kinds: [], extensions: [], signers: {}, pending: ["eip155"] })
        const notReady = yield* Effect.promise(() => fetch(`${url}/ready`))
        assert.strictEqual(notReady.status, 503)
        const report = yield* Effect.promise(() => notReady.text())
        assert.include(report, `eip155 is missing: its node ${node.url} does not respond`)
        assert.notInclude(report, "s3cret-key")
        node.open()
        const client = yield* FacilitatorClient.make({ url })
        const there = Effect.flatMap(client.supported, ({ kinds }) =>
          kinds.length > 0 ? Effect.void : Effect.fail("none")
        )
        yield* Effect.eventually(Effect.tapError(there, () => Effect.sleep("100 millis")))
        const settled = yield* client.settle(yield* TestPayment.sign(chain, 67), TestPayment.claim(67))
        assert.strictEqual(settled.status, "included")
        assert.strictEqual((yield* Effect.promise(() => fetch(`${url}/ready`))).status, 200)
      }).pipe(Effect.scoped)
    )

    it.effect("settles on a chain beside one that does not respond", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const dead = yield* lateNode(chain.rpcUrl, Infinity)
        const evm = [...settingsFor(chain).evm, { rpcUrl: Redacted.make(dead.url), network: "eip155:8453" }]
        const { url } = yield* FacilitatorProcess.start({ ...settingsFor(chain), evm })
        const client = yield* FacilitatorClient.make({ url })
        const { kinds, pending } = yield* client.supported
        assert.deepStrictEqual([kinds.map(({ network }) => network), pending], [[chain.network], ["eip155:8453"]])
        const settled = yield* client.settle(yield* TestPayment.sign(chain, 66), TestPayment.claim(66))
        assert.strictEqual(settled.status, "included")
      }).pipe(Effect.scoped)
    )

    it.effect("takes a chain in beside one whose node has come back as another network's, and settles on", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const other = yield* EvmTestChain.make({ chainId: 31_338, payers: 1 })
        const wrong = yield* lateNode(chain.rpcUrl, Infinity)
        const right = yield* lateNode(other.rpcUrl, Infinity)
        const evm = [
          { rpcUrl: Redacted.make(chain.rpcUrl), network: chain.network },
          { rpcUrl: Redacted.make(wrong.url), network: "eip155:8453" },
          { rpcUrl: Redacted.make(right.url), network: other.network }
        ]
        const { url } = yield* FacilitatorProcess.start({ ...settingsFor(chain), evm })
        wrong.open()
        right.open()
        const client = yield* FacilitatorClient.make({ url })
        const there = Effect.flatMap(client.supported, ({ kinds }) =>
          kinds.some(({ network }) => network === other.network) ? Effect.void : Effect.fail("not yet")
        )
        yield* Effect.eventually(Effect.tapError(there, () => Effect.sleep("100 millis")))
        assert.deepStrictEqual((yield* client.supported).pending, ["eip155:8453"])
        const settled = yield* client.settle(yield* TestPayment.sign(chain, 66), TestPayment.claim(66))
        assert.strictEqual(settled.status, "included")
        const report = yield* Effect.promise(async () => (await fetch(`${url}/ready`)).text())
        assert.include(report, `eip155:8453 is missing: its node ${wrong.url} is of no use (the RPC configured for`)
      }).pipe(Effect.scoped)
    )

    it.effect("as a process: a mistake in the environment ends it at once, telling no secret", () =>
      Effect.gen(function* () {
        const environment = { PORT: "0", PONTAGE_EVM_RPC_URL: "https://x.example", PONTAGE_EVM_SIGNER_KEY: "0x5ecre7" }
        const { exited, output } = yield* ServiceProcess.run(environment)
        assert.strictEqual(yield* exited, 1)
        assert.include(output.join(""), "PONTAGE_EVM_SIGNER_KEY: expected the private key")
        assert.notInclude(output.join(""), "5ecre7")
      }).pipe(Effect.scoped)
    )

    it.effect("as a process: a port that is taken ends it at once", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { exited, output } = yield* ServiceProcess.run({
          PORT: new URL(chain.rpcUrl).port,
          PONTAGE_EVM_RPC_URL: chain.rpcUrl,
          PONTAGE_EVM_SIGNER_KEY: chain.accounts.signers[0].privateKey
        })
        assert.strictEqual(yield* exited, 1)
        const { port } = new URL(chain.rpcUrl)
        assert.include(output.join(""), `another program listens on port ${port} of 127.0.0.1: end it, or set PORT`)
        assert.notInclude(output.join(""), "    at ")
      }).pipe(Effect.scoped)
    )

    it.effect("as a process: a node of another network ends it at once", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { exited, output } = yield* ServiceProcess.run({
          PORT: "0",
          PONTAGE_EVM_RPC_URL: chain.rpcUrl,
          PONTAGE_EVM_NETWORK: "eip155:8453",
          PONTAGE_EVM_SIGNER_KEY: chain.accounts.signers[0].privateKey
        })
        assert.strictEqual(yield* exited, 1)
        assert.include(output.join(""), "eip155:8453")
      }).pipe(Effect.scoped)
    )
  })
})
