/**
 * The draws of a facilitator inside the shop's process, on SQLite: from the payment as it came to the charge, on a hundred channels with
 * 64 at once; and how long a claim waits for its grant at half of that load.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Facilitator, type PaymentRequest } from "@pontage/core"
import type { EvmCrypto } from "@pontage/evm"
import type { EvmTestChain } from "@pontage/evm/testing"
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

/** The rate, the CPU time of a draw, and the wait at half load. */
export const measure = Effect.fnUntraced(function* (chain: EvmTestChain.Shape) {
  const [fastest] = yield* CryptoLayers.all
  if (fastest === undefined) return yield* Effect.die("no cryptography")
  const { crypto } = fastest
  const load = yield* ChannelLoad.make(chain, channels, crypto)
  const facilitator = yield* embedded(chain, crypto)
  const all = Array.from({ length: channels * (rounds.warmUp + rounds.measured + rounds.calm) }, (_, index) =>
    load.request(index % channels, Math.floor(index / channels))
  )
  const [begun, end] = [channels * rounds.warmUp, channels * (rounds.warmUp + rounds.measured)]
  const sell = selling(facilitator)
  yield* Effect.forEach(all.slice(0, begun), sell, { concurrency, discard: true })
  const start = process.hrtime.bigint()
  const cpu = process.cpuUsage()
  yield* Effect.forEach(all.slice(begun, end), sell, { concurrency, discard: true })
  const { system, user } = process.cpuUsage(cpu)
  const count = end - begun
  const rate = count / (Number(process.hrtime.bigint() - start) / 1e9)
  const waits = yield* OpenLoop.atRate(all.slice(end), rate / 2, sell)
  const name = `facilitator in the shop, ${channels} channels, ${crypto.name}`
  const micros = (user + system) / count
  return [
    { name: `draws, ${name}`, value: 1e6 / micros, unit: "per CPU s", note: "target at least 5000" },
    { name: `draws, ${name}, wall time`, value: rate, unit: "per second", note: `${concurrency} at once` },
    { name: `draw, ${name}`, value: micros, unit: "µs CPU" },
    { name: `grant at half load, ${name}, p99`, value: percentile(waits, 99), unit: "ms", note: noteOf(rate) }
  ] satisfies ReadonlyArray<Row>
})

const noteOf = (rate: number) => `${(rate / 2).toFixed(0)} a second in an open loop, target below 5`

/** A facilitator as a shop has it in its own process. */
const embedded = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, crypto: EvmCrypto.Shape) {
  const [, sender, authorizer] = chain.accounts.signers
  const folder = yield* BenchFolder.make
  const layer = EmbeddedFacilitator.layer({ rpcUrl: chain.rpcUrl, sender, authorizer, crypto, folder })
  return Context.get(yield* Layer.build(layer), Facilitator)
})

/** Sells one request; returns the milliseconds to its grant. */
const selling =
  ({ claim, finish }: Facilitator["Service"]) =>
  (request: PaymentRequest, index: number, began = performance.now()) =>
    Effect.gen(function* () {
      const id = `run ${index} ${began}`
      const { execution, paymentId } = yield* claim(request, { id, resource: "report" })
      if (execution !== "granted") return yield* Effect.die(`a good draw is ${execution}`)
      const wait = performance.now() - began
      yield* finish(paymentId, id, "served")
      return wait
    })
