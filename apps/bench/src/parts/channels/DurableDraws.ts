/**
 * The durable draws on payment channels a second, in one process on SQLite, 64 at once: the voucher's signature is checked, the
 * draw is on the disk before it is granted, then it is charged. On one channel, where each draw has a name of its own, and on a
 * thousand, where each voucher is for exactly what its channel owes. Then the latency at half of that rate, in an open loop.
 */
import { join } from "node:path"

import { type ChannelStore, type Draw, Network } from "@pontage/core"
import { EvmAddress, type EvmCrypto, Voucher } from "@pontage/evm"
import { SqliteChannelStore } from "@pontage/sql/sqlite"
import * as Effect from "effect/Effect"
import { privateKeyToAccount } from "viem/accounts"

import * as BenchFolder from "../../BenchFolder.ts"
import { percentile } from "../../Median.ts"
import * as OpenLoop from "../../OpenLoop.ts"
import type { Row } from "../../Row.ts"
import * as CryptoLayers from "../CryptoLayers.ts"
import * as VoucherSigning from "./VoucherSigning.ts"

const chainId = 31_337
const amount = 100n
const concurrency = 64
const warmUp = 500
const count = 4_000
const calm = 2_000
const privateKey = new Uint8Array(32).fill(7)
const limits = { lease: 600_000, open: 10_000 }

interface Signed {
  readonly draw: Draw
  readonly voucher: Voucher.Voucher
}

/** Both kinds, by the fastest cryptography of this machine. */
export const measure = Effect.gen(function* () {
  const [fastest] = yield* CryptoLayers.all
  if (fastest === undefined) return yield* Effect.die("no cryptography")
  const folder = yield* BenchFolder.make
  const rows: Array<Row> = []
  for (const channels of [1, 1_000]) {
    const store = yield* SqliteChannelStore.make({ filename: join(folder, `channels-${channels}.sqlite`) })
    rows.push(...(yield* drawing(store, channels, fastest.crypto)))
  }
  return rows
})

const drawing = Effect.fnUntraced(function* (
  store: ChannelStore["Service"],
  channels: number,
  crypto: EvmCrypto.Shape
) {
  const payer = EvmAddress.fromText(privateKeyToAccount(`0x${hex(privateKey)}`).address)
  if (payer === undefined) return yield* Effect.die("the payer's address cannot be read")
  const ids = Array.from({ length: channels }, (_, index) => channelId(index))
  yield* Effect.forEach(ids, (id) => store.open(fundedChannel(id)), { concurrency, discard: true })
  const signed = Array.from({ length: warmUp + count + calm }, (_, index) => sign(index, channels, crypto))
  const sell = selling(store, payer, crypto)
  yield* Effect.forEach(signed.slice(0, warmUp), sell, { concurrency, discard: true })
  const start = process.hrtime.bigint()
  const cpu = process.cpuUsage()
  yield* Effect.forEach(signed.slice(warmUp, warmUp + count), sell, { concurrency, discard: true })
  const { system, user } = process.cpuUsage(cpu)
  const rate = count / (Number(process.hrtime.bigint() - start) / 1e9)
  const sold = yield* OpenLoop.atRate(signed.slice(warmUp + count), rate / 2, sell)
  const granted = sold.map(({ grant }) => grant)
  const name = `${channels === 1 ? "one channel" : `${channels} channels`}, ${crypto.name}`
  const micros = (user + system) / count
  const note = `grant p50 ${percentile(granted, 50).toFixed(2)}, p99 ${percentile(granted, 99).toFixed(2)}; ${(rate / 2).toFixed(0)} a second in an open loop, target below 5`
  const value = percentile(
    sold.map(({ charge }) => charge),
    99
  )
  return [
    { name: `durable draws, ${name}`, value: 1e6 / micros, unit: "per CPU s", note: "target at least 5000" },
    { name: `durable draws, ${name}, wall time`, value: rate, unit: "per second", note: `${concurrency} at once` },
    { name: `durable draw, ${name}`, value: micros, unit: "µs CPU", note: "target at most 200" },
    { name: `durable draw at half load, ${name}, p99 to its charge`, value, unit: "ms", note }
  ] satisfies ReadonlyArray<Row>
})

/** Sells a draw; returns the milliseconds from its planned instant to its grant and to its charge, both of them on the disk. */
const selling =
  (store: ChannelStore["Service"], payer: EvmAddress.Address, crypto: EvmCrypto.Shape) =>
  ({ draw, voucher }: Signed, _index: number, planned = performance.now()) =>
    Effect.gen(function* () {
      if (Voucher.check(chainId, voucher, payer, crypto) !== "valid")
        return yield* Effect.die("a good voucher is invalid")
      const claimId = `${draw.channelId} ${draw.maximum}`
      const { _tag } = yield* store.accept(draw, claimId, limits)
      if (_tag !== "Granted") return yield* Effect.die(`a good draw is ${_tag}`)
      const grant = performance.now() - planned
      yield* store.commit(draw.channelId, claimId, amount)
      return { grant, charge: performance.now() - planned }
    })

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

const channelId = (index: number): `0x${string}` => `0x${(index + 1).toString(16).padStart(64, "0")}`

const fundedChannel = (id: string) => ({
  channelId: id,
  network: Network.make(`eip155:${chainId}`),
  config: { salt: id },
  balance: 10n ** 12n,
  claimed: 0n,
  withdrawRequestedAt: undefined,
  refundNonce: 0n,
  block: { number: 1n, hash: "0x1" }
})

/** On one channel the draws overtake each other, so each voucher covers all that run beside it. */
const sign = (index: number, channels: number, crypto: EvmCrypto.Shape): Signed => {
  const ceiling = {
    channelId: channelId(index % channels),
    maxClaimableAmount: amount * BigInt(channels === 1 ? index + 1 + concurrency : Math.floor(index / channels) + 1)
  }
  const voucher = VoucherSigning.sign(chainId, ceiling, privateKey, crypto)
  const unique = channels === 1 ? `${index}` : undefined
  const draw = { channelId: ceiling.channelId, maximum: ceiling.maxClaimableAmount, amount, unique }
  return { voucher, draw: { ...draw, voucher: Voucher.onWire(voucher) } }
}
