/**
 * The draws of a facilitator on SQLite, inside the shop's process and behind HTTP: from the payment as it came to the charge, on a hundred
 * channels with 64 at once; and how long a claim waits for its grant at half of that load.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Facilitator, FacilitatorClient, type PaymentRequest } from "@pontage/core"
import type { EvmCrypto } from "@pontage/evm"
import type { EvmTestChain } from "@pontage/evm/testing"
import * as FacilitatorService from "@pontage/facilitator"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as BenchFolder from "../../BenchFolder.ts"
import * as EmbeddedFacilitator from "../../EmbeddedFacilitator.ts"
import { percentile } from "../../Median.ts"
import * as OpenLoop from "../../OpenLoop.ts"
import type { Row } from "../../Row.ts"
import * as CryptoLayers from "../CryptoLayers.ts"
import * as ChannelLoad from "./ChannelLoad.ts"

const channels = 100
const concurrency = 64
const rounds = { warmUp: 10, measured: 40, calm: 20 }

/** The rate, the CPU time of a draw, in the shop's process, with the wait at half load, and over HTTP with both ends in this one. */
export const measure = Effect.fnUntraced(function* (chain: EvmTestChain.Shape) {
  const [fastest] = yield* CryptoLayers.all
  if (fastest === undefined) return yield* Effect.die("no cryptography")
  const { crypto } = fastest
  const load = yield* ChannelLoad.make(chain, channels, crypto)
  const all = Array.from({ length: channels * (rounds.warmUp + rounds.measured + rounds.calm) }, (_, index) =>
    load.request(index % channels, Math.floor(index / channels))
  )
  const name = `${channels} channels, ${crypto.name}`
  const inShop = Effect.map(embedded(chain, crypto), (context) => Context.get(context, Facilitator))
  const byUrl = Effect.flatMap(embedded(chain, crypto), remote)
  const near = yield* Effect.scoped(
    Effect.flatMap(inShop, (one) => waited(`facilitator in the shop, ${name}`, one, all))
  )
  const far = yield* Effect.scoped(
    Effect.flatMap(byUrl, (one) => drawn(`facilitator over HTTP, both ends, ${name}`, one, all))
  )
  return [...near, ...far.rows] satisfies ReadonlyArray<Row>
})

type Requests = ReadonlyArray<PaymentRequest>

/** Sells requests through one facilitator; those that are left are for a calm load. */
const drawn = Effect.fnUntraced(function* (name: string, facilitator: Facilitator["Service"], all: Requests) {
  const [begun, end] = [channels * rounds.warmUp, channels * (rounds.warmUp + rounds.measured)]
  const sell = selling(facilitator)
  yield* Effect.forEach(all.slice(0, begun), sell, { concurrency, discard: true })
  const start = process.hrtime.bigint()
  const cpu = process.cpuUsage()
  yield* Effect.forEach(all.slice(begun, end), sell, { concurrency, discard: true })
  const { system, user } = process.cpuUsage(cpu)
  const count = end - begun
  const rate = count / (Number(process.hrtime.bigint() - start) / 1e9)
  const micros = (user + system) / count
  const rows: ReadonlyArray<Row> = [
    { name: `draws, ${name}`, value: 1e6 / micros, unit: "per CPU s", note: "target at least 5000 in the shop" },
    { name: `draws, ${name}, wall time`, value: rate, unit: "per second", note: `${concurrency} at once` },
    { name: `draw, ${name}`, value: micros, unit: "µs CPU" }
  ]
  return { rows, rate, calm: all.slice(end) }
})

/** The wait at half load. */
const waited = Effect.fnUntraced(function* (name: string, facilitator: Facilitator["Service"], all: Requests) {
  const { calm, rate, rows } = yield* drawn(name, facilitator, all)
  const waits = yield* OpenLoop.atRate(calm, rate / 2, selling(facilitator))
  const p99 = { name: `grant at half load, ${name}, p99`, value: percentile(waits, 99), unit: "ms", note: noteOf(rate) }
  return [...rows, p99] satisfies ReadonlyArray<Row>
})

const noteOf = (rate: number) => `${(rate / 2).toFixed(0)} a second in an open loop, target below 5`

/** A facilitator as a shop has it in its own process. */
const embedded = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, crypto: EvmCrypto.Shape) {
  const [, sender, authorizer] = chain.accounts.signers
  const folder = yield* BenchFolder.make
  const layer = EmbeddedFacilitator.layer({ rpcUrl: chain.rpcUrl, sender, authorizer, crypto, folder })
  return yield* Layer.build(layer)
})

/** The same facilitator behind HTTP: draws that come together share a request, and so do their ends. */
const remote = Effect.fnUntraced(function* (context: Effect.Success<ReturnType<typeof embedded>>) {
  const { url } = yield* Effect.provide(FacilitatorService.serve({ port: 0 }), context)
  const facilitator = yield* FacilitatorClient.make({ url })
  yield* facilitator.supported
  return facilitator
})

/** Sells one request; returns the milliseconds to its grant. */
const selling =
  ({ claim, finish }: Facilitator["Service"]) =>
  (request: PaymentRequest, index: number, began = performance.now()) =>
    Effect.gen(function* () {
      const id = `run-${index}-${began}`.replace(".", "-").padEnd(22, "-")
      const { execution, paymentId } = yield* claim(request, { id, resource: "report".padEnd(43, "-") })
      if (execution !== "granted") return yield* Effect.die(`a good draw is ${execution}`)
      const wait = performance.now() - began
      yield* finish(paymentId, id, "served")
      return wait
    })
