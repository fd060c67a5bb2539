import { EvmTestChain } from "@pontage/evm/testing"
/**
 * Streams of server-sent events that stay open, with a tick a second on each: at a metered shop, where each stream is paid by a channel of
 * its own, and at the same handler on Express alone. Shop and readers are processes of their own.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

import * as BenchFolder from "../../BenchFolder.ts"
import * as DescriptorLimit from "../../DescriptorLimit.ts"
import * as MeasuredProcess from "../../roles/MeasuredProcess.ts"
import * as ProcessMemory from "../../roles/ProcessMemory.ts"
import * as RoleProcess from "../../roles/RoleProcess.ts"
import { decodeHeard, type Heard } from "../../roles/StreamReading.ts"
import type { Row } from "../../Row.ts"
import * as CryptoLayers from "../CryptoLayers.ts"
import * as ChannelLoad from "./ChannelLoad.ts"

/** The streams, unless `--streams` says another number. */
export const usual = 10_000

/** Ticks that one voucher covers, and the seconds for which all streams are watched: each needs one more voucher in that time. */
const windowTicks = 60
const seconds = 60

const dollars = (units: bigint): string => `$${Number(units) / 1e6}`
const window = ChannelLoad.price * BigInt(windowTicks)

/** Both shops, one after the other. Fails before anything is opened if the system allows too few descriptors. */
export const measure = Effect.fnUntraced(function* (
  streams: number
): Effect.fn.Return<ReadonlyArray<Row>, unknown, Scope.Scope> {
  const refusal = DescriptorLimit.refusal(streams, DescriptorLimit.read())
  if (refusal !== undefined) return yield* Effect.die(new Error(refusal))
  const [fastest] = yield* CryptoLayers.all
  if (fastest === undefined) return yield* Effect.die("no cryptography")
  const chain = yield* EvmTestChain.make({ payers: 1, payerBalance: 10n ** 12n })
  yield* ChannelLoad.make(chain, streams, fastest.crypto)
  const rows: Array<Row> = []
  for (const kind of ["bare", "metered"] as const) rows.push(...(yield* Effect.scoped(shopRows(chain, kind, streams))))
  return rows
})

type Kind = "bare" | "metered"

const started = (role: string, options: object) =>
  Effect.acquireRelease(
    Effect.promise(() => MeasuredProcess.start(role, JSON.stringify(options))),
    ({ stop }) => Effect.promise(stop)
  )

const shopRows = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, kind: Kind, streams: number) {
  const { accounts, network, rpcUrl } = chain
  const [, sender, authorizer] = accounts.signers
  const shop = yield* started("StreamShopRole.js", {
    kind,
    port: yield* Effect.promise(() => RoleProcess.freePort()),
    rpcUrl,
    network,
    payTo: accounts.payee.address,
    tick: dollars(ChannelLoad.price),
    window: dollars(window),
    senderKey: sender.privateKey,
    authorizerKey: authorizer.privateKey,
    folder: yield* BenchFolder.make
  })
  const paid = kind === "metered" ? Number(window) : 0
  const template = ChannelLoad.templateOf(chain)
  const readers = yield* started("StreamReaderRole.js", { url: shop.url, template, window: paid })
  const seen = yield* Effect.promise(() => watched(shop, readers, streams))
  if (seen.heard.ended > 0 || seen.heard.refused > 0)
    return yield* Effect.die(
      new Error(`${kind}: ${seen.heard.ended} streams ended, ${seen.heard.refused} vouchers were not taken`)
    )
  return rowsOf(kind === "bare" ? "Express alone" : "metered, a channel each", streams, seen)
})

interface Seen {
  /** Before the first stream, with all of them, and at the end. */
  readonly memory: Readonly<Record<"before" | "open" | "end", ProcessMemory.Memory>>
  /** The shop's share of a core while all streams are open. */
  readonly share: number
  /** Milliseconds of CPU that the shop took to open one stream. */
  readonly opening: number
  readonly heard: Heard
}

const decodeMemory = Schema.decodeUnknownSync(ProcessMemory.Memory)

const watched = async (
  shop: MeasuredProcess.MeasuredProcess,
  readers: MeasuredProcess.MeasuredProcess,
  streams: number
): Promise<Seen> => {
  const memory = async () => decodeMemory(await shop.call("memory"))
  const micros = async () => (await shop.usage()).cpuMicros
  const before = await memory()
  const first = await micros()
  await readers.call({ open: streams })
  const opening = ((await micros()) - first) / streams / 1_000
  const open = await memory()
  const [begun, start] = [await micros(), performance.now()]
  const heard = decodeHeard(await readers.call({ seconds }))
  const share = ((await micros()) - begun) / 1_000 / (performance.now() - start)
  return { memory: { before, open, end: await memory() }, share, opening, heard }
}

const rowsOf = (shop: string, streams: number, { heard, memory, opening, share }: Seen): ReadonlyArray<Row> => {
  const name = `${streams} streams: ${shop}`
  const each = (figure: "heap" | "rss") => (memory.open[figure] - memory.before[figure]) / streams / 1_024
  const course = (figure: "heap" | "rss") =>
    `${megabytes(memory.before[figure])} MB before, ${megabytes(memory.open[figure])} with all, ${megabytes(memory.end[figure])} after ${seconds} s`
  const { longest, p50, p99, ticks, vouchers } = heard
  const missing = streams * seconds - ticks
  return [
    { name: `${name}: heap`, value: each("heap"), unit: "KB a stream", note: course("heap") },
    { name: `${name}: memory`, value: each("rss"), unit: "KB a stream", note: course("rss") },
    {
      name: `${name}: CPU of the shop`,
      value: share * 100,
      unit: "% of a core",
      note: `${vouchers} vouchers taken in ${seconds} s; to open a stream took ${opening.toFixed(2)} ms CPU`
    },
    { name: `${name}: descriptors of the shop`, value: memory.open.descriptors, unit: "open" },
    {
      name: `${name}: delay of a tick, p99`,
      value: p99,
      unit: "ms",
      note: `p50 ${p50.toFixed(1)}, longest ${longest.toFixed(0)}; ${ticks} ticks, ${missing} fewer than ${streams} × ${seconds}`
    }
  ]
}

const megabytes = (bytes: number): string => (bytes / 1_048_576).toFixed(0)
