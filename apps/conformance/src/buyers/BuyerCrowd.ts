/**
 * Buyers who buy when they are told to, so that a load comes from a process of its own. `GET /?buyers=8&millis=2000` lets
 * eight buyers buy for two seconds, each one thing after the other, and reports what they have seen.
 *
 * A rehearsal leaves out the network and everybody else: the shop is asked once, and from then on its 402 is repeated from
 * memory and every payment is taken. The rest is the buyer's own work.
 */
import { createServer } from "node:http"

import { listen } from "@pontage/devnet/LoopbackServer"
import * as BestCrypto from "@pontage/evm/crypto"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"

import { buyerNames, buyers } from "../matrix/Parties.ts"
import { BuyerOptions } from "../RoleOptions.ts"
import type { Buy } from "./Buyer.ts"

/** A crowd: as many buyers as there are keys, all of one kind. */
export const CrowdOptions = Schema.Struct({
  ...BuyerOptions.fields,
  buyer: Schema.Literals(buyerNames),
  rehearsal: Schema.optionalKey(Schema.Boolean),
  /** Our buyers sign with the fastest cryptography there is. */
  addons: Schema.optionalKey(Schema.Boolean)
})

/** Told to a crowd. */
export type CrowdOptions = typeof CrowdOptions.Type

/** The observations of the buyers. */
export interface Seen {
  /** The count of each response, by its status or by the name of the thrown error. */
  readonly answers: Record<string, number>
  /** Requests that went over the wire. */
  readonly requests: number
  /** The duration of each purchase, in milliseconds. */
  readonly millis: ReadonlyArray<number>
}

/** Lets it stand ready as long as the scope. */
export const start = Effect.fnUntraced(function* (options: CrowdOptions) {
  let requests = 0
  const send = options.rehearsal === true ? yield* Effect.promise(() => rehearsed(options.url)) : fetch
  const crypto = options.addons === true ? yield* Effect.provide(BestCrypto.make, Logger.layer([])) : undefined
  const counted: typeof fetch = (...request) => {
    requests++
    return send(...request)
  }
  const all = options.keys.map((key) =>
    buyers[options.buyer].start({ key, rpcUrl: options.rpcUrl, send: counted, crypto })
  )
  const buy = async (count: number, duration: number): Promise<Seen> => {
    const before = requests
    const until = performance.now() + duration
    const answers: Record<string, number> = {}
    const millis: Array<number> = []
    const bought = all.slice(0, count).map((one) => buyUntil(until, one, options.url, { answers, millis }))
    await Promise.all(bought)
    return { answers, requests: requests - before, millis }
  }
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? "", "http://crowd")
    void buy(Number(searchParams.get("buyers")), Number(searchParams.get("millis"))).then((seen) =>
      response.end(JSON.stringify(seen))
    )
  })
  return { url: yield* listen(server) }
})

interface Notes {
  readonly answers: Record<string, number>
  readonly millis: Array<number>
}

/** Buys at least once, and begins nothing when the time is over. */
const buyUntil = async (until: number, buy: Buy, url: string, { answers, millis }: Notes): Promise<void> => {
  let start = performance.now()
  do {
    // oxlint-disable-next-line no-await-in-loop -- a buyer buys one thing after the other
    const answer = await answerOf(buy, url)
    millis.push(performance.now() - start)
    answers[answer] = (answers[answer] ?? 0) + 1
    start = performance.now()
  } while (start < until)
}

const answerOf = async (buy: Buy, url: string): Promise<string> => {
  try {
    const response = await buy(url)
    await response.text()
    return `${response.status}`
  } catch (error) {
    return error instanceof Error ? error.name : "unknown"
  }
}

const paymentHeaders = ["x-payment", "payment-signature"]

const rehearsed = async (url: string): Promise<typeof fetch> => {
  const asked = await fetch(url)
  const { headers, status } = asked
  const body = await asked.text()
  return async (input, init) => {
    const request = new Request(input, init)
    if (paymentHeaders.some((name) => request.headers.has(name))) return new Response("paid", { status: 200 })
    return new Response(body, { headers, status })
  }
}
