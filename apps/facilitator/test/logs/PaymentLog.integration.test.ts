/** The log and the export of the service as a process, on a real chain, with a collector that keeps what it gets. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

import { assert, describe, layer } from "@effect/vitest"
import { FacilitatorClient } from "@pontage/core"
import { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"

import * as ServiceProcess from "../ServiceProcess.ts"
import * as TestPayment from "../TestPayment.ts"

const collector = Effect.gen(function* () {
  const received: Array<{ readonly path: string; readonly headers: string; readonly body: string }> = []
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString()
      received.push({ path: request.url ?? "", headers: JSON.stringify(request.headers), body })
      response.writeHead(200, { "content-type": "application/json" }).end("{}")
    })
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => server.close().closeAllConnections())
  )
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, received }
})

const until = (isThere: () => boolean) =>
  Effect.eventually(
    Effect.tapError(
      Effect.suspend(() => (isThere() ? Effect.void : Effect.fail("not yet"))),
      () => Effect.sleep("50 millis")
    )
  )

const linesOf = (output: ReadonlyArray<string>) => output.join("").trim().split("\n")

const environmentOf = (chain: EvmTestChain.Shape) => ({
  PORT: "0",
  PONTAGE_STORE: "memory",
  PONTAGE_EVM_RPC_URL: chain.rpcUrl,
  PONTAGE_EVM_SIGNER_KEY: chain.accounts.signers[0].privateKey
})

describe("the service's log", () => {
  layer(EvmTestChain.layer({ payers: 3 }), { excludeTestServices: true })((it) => {
    it.effect("has one line of JSON for a payment, and its traces and metrics reach a collector", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { received, url: otlp } = yield* collector
        const { exited, output, process, url } = yield* ServiceProcess.run({
          ...environmentOf(chain),
          PONTAGE_LOG: "json",
          PONTAGE_OTLP_URL: otlp,
          PONTAGE_OTLP_HEADERS: "x-api-key=collector-s3cret"
        })
        const client = yield* FacilitatorClient.make({ url: yield* url })
        const request = yield* TestPayment.sign(chain, 0)
        const settled = yield* client.settle(request, TestPayment.claim(0))
        process.kill("SIGTERM")
        assert.strictEqual(yield* exited, 0)

        const entries = linesOf(output).map((line): Record<string, unknown> => JSON.parse(line))
        for (const { level, message, time } of entries) {
          assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
          assert.include(["INFO", "WARN"], level)
          assert.isString(message)
        }
        const ends = entries.filter((entry) => "payment.id" in entry)
        assert.strictEqual(ends.length, 1)
        assert.deepInclude(ends[0], {
          level: "INFO",
          message: "a payment has moved its money",
          "payment.id": settled.paymentId,
          "payment.network": chain.network,
          "payment.scheme": "exact",
          "payment.state": "included",
          "payment.amount": `${TestPayment.amount}`,
          "payment.transaction": settled.transaction
        })

        const traces = received.filter(({ path }) => path === "/v1/traces").map(({ body }) => body)
        const said = traces.join("\n")
        for (const text of [
          "Facilitator.settle",
          "payment.id",
          settled.paymentId,
          "payment.network",
          "payment.scheme"
        ]) {
          assert.include(said, text)
        }
        assert.match(said, /"payment\.state","value":\{"stringValue":"included"\}/)
        const metrics = received.filter(({ path }) => path === "/v1/metrics").map(({ body }) => body)
        assert.include(metrics.join("\n"), "pontage_payment_transitions_total")
        assert.isTrue(received.every(({ headers }) => headers.includes("collector-s3cret")))

        const signer = chain.accounts.signers[0].privateKey.slice(2)
        const payload = Buffer.from(request.paymentPayload.payload, "base64").toString()
        const [, signature = assert.fail("no signature")] = /"signature":"0x([0-9a-f]{64})/.exec(payload) ?? []
        for (const secret of [signer, signature, "collector-s3cret"]) {
          assert.notInclude(output.join(""), secret)
          assert.notInclude(received.map(({ body }) => body).join(""), secret)
        }
      }).pipe(Effect.scoped)
    )

    it.effect("is text by default, and keeps quiet below its level", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { output, url } = yield* ServiceProcess.run(environmentOf(chain))
        const client = yield* FacilitatorClient.make({ url: yield* url })
        const { paymentId } = yield* client.settle(yield* TestPayment.sign(chain, 1), TestPayment.claim(1))
        yield* until(() => output.join("").includes(paymentId))
        const line = linesOf(output).find((one) => one.includes(paymentId)) ?? ""
        assert.match(
          line,
          /^\d{4}-\d\d-\d\dT\S+Z INFO a payment has moved its money payment\.id=pay_\S+ payment\.network=/
        )

        const quiet = yield* ServiceProcess.run({ ...environmentOf(chain), PORT: "70000", PONTAGE_LOG_LEVEL: "error" })
        assert.strictEqual(yield* quiet.exited, 1)
        assert.match(quiet.output.join(""), /^\S+Z ERROR the facilitator cannot start\nPORT: expected/)
      }).pipe(Effect.scoped)
    )

    it.effect("goes on without its collector", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { exited, process, url } = yield* ServiceProcess.run({
          ...environmentOf(chain),
          PONTAGE_OTLP_URL: "http://127.0.0.1:1"
        })
        const client = yield* FacilitatorClient.make({ url: yield* url })
        const settled = yield* client.settle(yield* TestPayment.sign(chain, 2), TestPayment.claim(2))
        assert.strictEqual(settled.status, "included")
        process.kill("SIGTERM")
        assert.strictEqual(yield* exited, 0)
      }).pipe(Effect.scoped)
    )
  })
})
