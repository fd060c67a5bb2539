/**
 * The readers of a shop's streams, as a process of its own: each stream is paid by a channel of its own, and whenever the shop asks for a
 * voucher its reader signs it then and posts it.
 */
import { Agent, get, type IncomingMessage, request } from "node:http"

import * as BestCrypto from "@pontage/evm/crypto"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { percentile } from "../Median.ts"
import * as ChannelLoad from "../parts/channels/ChannelLoad.ts"
import { report } from "./MeasuredProcess.ts"
import * as SharedClock from "./SharedClock.ts"
import { type Asked, decodeAsked, type Heard } from "./StreamReading.ts"

const Options = Schema.fromJsonString(
  Schema.Struct({
    url: Schema.String,
    template: ChannelLoad.Template,
    /** The sum of the first voucher; 0 where nothing is paid. */
    window: Schema.Number
  })
)
const { template, url, window } = Schema.decodeUnknownSync(Options)(process.argv[2])
const crypto = await Effect.runPromise(BestCrypto.make)
const write = ChannelLoad.vouchersOf(template, crypto)

const opening = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
const posting = new Agent({ keepAlive: true, maxSockets: 64 })

const Required = Schema.fromJsonString(Schema.Struct({ accepts: Schema.NonEmptyArray(Schema.Json) }))
const Need = Schema.fromJsonString(Schema.Struct({ requiredCumulative: Schema.String }))
const decodeRequired = Schema.decodeUnknownSync(Required)
const decodeNeed = Schema.decodeUnknownSync(Need)

const counts = { opened: 0, ended: 0, vouchers: 0, refused: 0, ticks: 0 }
let delays: Array<number> | undefined

const answered = (path: string, agent: Agent, method: string, headers: Readonly<Record<string, string>>) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const sent = method === "GET" ? get(`${url}${path}`, { agent, headers }) : undefined
    const asked = sent ?? request(`${url}${path}`, { agent, headers, method }).end()
    asked.on("response", resolve).on("error", reject)
  })

const offerOf = async (): Promise<Schema.Json> => {
  const refusal = await answered("/ticks", opening, "GET", {})
  refusal.resume()
  const text = String(refusal.headers["payment-required"])
  return decodeRequired(Buffer.from(text, "base64").toString()).accepts[0]
}

const offer = window === 0 ? undefined : await offerOf()

const headersOf = (payload: object): Readonly<Record<string, string>> => {
  if (offer === undefined) return {}
  const resource = { url: `${url}/ticks`, description: "", mimeType: "" }
  const message = { x402Version: 2, resource, accepted: offer, payload }
  return { "payment-signature": Buffer.from(JSON.stringify(message)).toString("base64") }
}

const post = async (channel: number, maximum: bigint): Promise<void> => {
  const headers = headersOf(write(channel, maximum))
  const response = await answered("/payment-voucher", posting, "POST", headers)
  response.resume()
  if (response.statusCode === 200) counts.vouchers++
  else counts.refused++
}

/** Reads a stream's events as they come whole. */
const read = (channel: number, response: IncomingMessage): void => {
  let rest = ""
  response.setEncoding("utf8")
  response.on("data", (text: string) => {
    const events = (rest + text).split("\n\n")
    rest = events.pop() ?? ""
    for (const event of events) take(channel, event)
  })
  response.on("close", () => counts.ended++)
  response.on("error", () => undefined)
}

const take = (channel: number, event: string): void => {
  if (event.startsWith("data: ")) {
    counts.ticks++
    delays?.push(SharedClock.now() - Number(event.slice(6)))
  } else if (event.startsWith("event: payment-need-voucher")) {
    const { requiredCumulative } = decodeNeed(event.slice(event.indexOf("data: ") + 6))
    void post(channel, BigInt(requiredCumulative)).catch(() => counts.refused++)
  }
}

const openOne = async (channel: number): Promise<void> => {
  const headers = window === 0 ? {} : headersOf({ ...write(channel, BigInt(window)), follows: true })
  const response = await answered("/ticks", opening, "GET", headers)
  if (response.statusCode !== 200) throw new Error(`the stream ${channel} was answered ${response.statusCode}`)
  counts.opened++
  read(channel, response)
}

/** Streams that are opened at once: a shop's load, not the number that it holds. */
const atOnce = 32

const openAll = async (streams: number): Promise<void> => {
  let next = 0
  const opener = async () => {
    // oxlint-disable-next-line no-await-in-loop -- a stream is opened once another one is open
    while (next < streams) await openOne(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, opener))
}

const listen = async (seconds: number): Promise<void> => {
  const before = { ...counts }
  const heard: Array<number> = []
  delays = heard
  await new Promise((resolve) => {
    setTimeout(resolve, seconds * 1_000)
  })
  delays = undefined
  const difference = (name: "ticks" | "vouchers" | "refused") => counts[name] - before[name]
  process.send?.({
    opened: counts.opened,
    ended: counts.ended,
    ticks: difference("ticks"),
    vouchers: difference("vouchers"),
    refused: counts.refused,
    p50: percentile(heard, 50),
    p99: percentile(heard, 99),
    longest: percentile(heard, 100)
  } satisfies Heard)
}

const act = (asked: Asked): Promise<void> =>
  "open" in asked ? openAll(asked.open).then(() => void process.send?.({})) : listen(asked.seconds)

process.on("message", (message) => {
  if (message === "usage") return
  act(decodeAsked(message)).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`)
    process.exit(1)
  })
})
report(url)
