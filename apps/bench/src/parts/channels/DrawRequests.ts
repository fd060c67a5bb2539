/**
 * Requests over HTTP that draw on payment channels, in x402's words: each brings the next voucher of its channel. A shop that names
 * another sum gets the voucher for that one, with the offer of the purchase's first response, as the published client does it.
 */
import { Agent, get, type IncomingHttpHeaders } from "node:http"

import * as Schema from "effect/Schema"

import * as ChannelLoad from "./ChannelLoad.ts"

const ChannelState = Schema.Struct({ chargedCumulativeAmount: Schema.String })
const Offer = Schema.StructWithRest(
  Schema.Struct({
    scheme: Schema.String,
    extra: Schema.StructWithRest(Schema.Struct({ channelState: Schema.optionalKey(ChannelState) }), [
      Schema.Record(Schema.String, Schema.Json)
    ])
  }),
  [Schema.Record(Schema.String, Schema.Json)]
)
const PaymentRequired = Schema.fromJsonString(
  Schema.Struct({ accepts: Schema.NonEmptyArray(Offer), error: Schema.optionalKey(Schema.String) })
)
const decodeRequired = Schema.decodeUnknownSync(PaymentRequired)

/** An offer as it came, and why it came. */
interface Refusal {
  readonly offer: typeof Offer.Type
  readonly error: string
}

/** A shop's goods, and the channels of its buyers. */
export interface DrawTarget {
  readonly url: string
  readonly load: ChannelLoad.ChannelLoad
  /** The sums that the channels owe by what their buyers know. */
  readonly owed: Map<number, bigint>
}

/** The observations of the buyers. */
export interface DrawsSeen {
  /** Milliseconds of each request that was served, to its response's end. */
  readonly millis: ReadonlyArray<number>
  readonly seconds: number
  /** Vouchers that were signed again for the sum that the shop named. */
  readonly corrected: number
  /** The requests that were not served, by the shop's reason. */
  readonly refused: ReadonlyMap<string, number>
}

interface Notes {
  readonly millis: Array<number>
  readonly refused: Map<string, number>
  corrected: number
}

/** Buyers at once with a channel each, who make one request after the other. Each has its offer from before; `requests` is the sum of all. */
export const onOwnChannels = (target: DrawTarget, together: number, requests: number): Promise<DrawsSeen> =>
  observed(target, together, async ({ buy, offered }) => {
    const offers = await Promise.all(Array.from({ length: together }, offered))
    let left = requests
    const buyer = async (first: Refusal, channel: number) => {
      // oxlint-disable-next-line no-await-in-loop -- a buyer makes one request after the other
      while (left-- > 0) await buy(channel, first)
    }
    return async () => void (await Promise.all(offers.map(buyer)))
  })

/**
 * Rounds of purchases at once on one channel: each asks for the offer, as a client does that knows nothing of the others, and signs for what
 * the channel owes as the round begins.
 */
export const onOneChannel = (target: DrawTarget, channel: number, together: number, rounds: number) =>
  observed(target, together, ({ buy, offered }) =>
    Promise.resolve(async () => {
      for (let round = 0; round < rounds; round++) {
        // oxlint-disable-next-line no-await-in-loop -- a round follows the other
        await Promise.all(Array.from({ length: together }, async () => buy(channel, await offered())))
      }
    })
  )

/** The acts of buyers: to ask for an offer, and to buy by it. */
interface Acts {
  readonly offered: () => Promise<Refusal>
  readonly buy: (channel: number, first: Refusal) => Promise<void>
}

/** Prepares buyers, and measures what they then do. */
const observed = async (
  target: DrawTarget,
  connections: number,
  prepare: (acts: Acts) => Promise<() => Promise<void>>
): Promise<DrawsSeen> => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const notes: Notes = { millis: [], refused: new Map(), corrected: 0 }
  const run = await prepare({
    offered: async () => refusalOf((await sent(target.url, agent, {})).headers),
    buy: (channel, first) => bought({ ...target, agent }, channel, first, notes)
  })
  const start = performance.now()
  await run()
  const seconds = (performance.now() - start) / 1_000
  agent.destroy()
  return { ...notes, seconds }
}

/** Attempts after which a buyer gives up: the published client corrects a voucher once. */
const attempts = 2

const bought = async (
  { agent, load, owed, url }: DrawTarget & { readonly agent: Agent },
  channel: number,
  first: Refusal,
  notes: Notes
): Promise<void> => {
  const began = performance.now()
  let base = owed.get(channel) ?? 0n
  for (let attempt = 1; ; attempt++) {
    const maximum = base + ChannelLoad.price
    // oxlint-disable-next-line no-await-in-loop -- a corrected voucher follows the refused one
    const { headers, status } = await sent(url, agent, headerOf(url, first.offer, load.payload(channel, maximum)))
    if (status === 200) {
      const before = owed.get(channel) ?? 0n
      owed.set(channel, maximum > before ? maximum : before)
      notes.millis.push(performance.now() - began)
      return
    }
    const refusal = status === 402 ? refusalOf(headers) : undefined
    const state = refusal?.offer.extra.channelState
    if (refusal === undefined || state === undefined || attempt === attempts) {
      const reason = refusal?.error ?? `${status}`
      notes.refused.set(reason, (notes.refused.get(reason) ?? 0) + 1)
      return
    }
    notes.corrected++
    base = BigInt(state.chargedCumulativeAmount)
  }
}

const refusalOf = (headers: IncomingHttpHeaders): Refusal => {
  const header = headers["payment-required"]
  const text = Buffer.from(typeof header === "string" ? header : "", "base64").toString()
  const { accepts, error = "payment_required" } = decodeRequired(text)
  const offer = accepts.find(({ scheme }) => scheme === "batch-settlement") ?? accepts[0]
  return { offer, error: error.replace(/^invalid_batch_settlement_evm_/, "") }
}

const headerOf = (url: string, accepted: Refusal["offer"], payload: object) => {
  const message = { x402Version: 2, resource: { url, description: "", mimeType: "" }, accepted, payload }
  return { "payment-signature": Buffer.from(JSON.stringify(message)).toString("base64") }
}

const sent = (url: string, agent: Agent, headers: Readonly<Record<string, string>>) =>
  new Promise<{ readonly status: number; readonly headers: IncomingHttpHeaders }>((resolve, reject) => {
    get(url, { agent, headers }, (response) => {
      response.resume()
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers }))
      response.on("error", reject)
    }).on("error", reject)
  })
