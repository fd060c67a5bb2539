/**
 * A shop in hostile hands: it asks for payments in x402 version 2 as it likes, keeps what it is shown, and handles that as it
 * likes.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"

import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as LoopbackServer from "@pontage/devnet/LoopbackServer"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Offer } from "./HostileWallet.ts"
import * as HostileWallet from "./HostileWallet.ts"

/** The shop's behaviour at a path. */
export interface Trick {
  /** Fields that differ from an honest offer of a cent. */
  readonly offer?: Partial<Offer>
  /** Its response to a payment. */
  readonly answer: (response: ServerResponse) => unknown
}

/** The shop. */
export interface HostileShop {
  readonly url: string
  /** Number of payment presentations at a path, and number of distinct payments that the shop can settle. */
  readonly shown: (path: string) => { readonly times: number; readonly payments: number }
}

/** An honest offer of a cent. */
const honest: Offer = {
  scheme: "exact",
  network: BaseSepolia.network,
  amount: "10000",
  asset: BaseSepolia.token,
  payTo: HostileWallet.make().address,
  maxTimeoutSeconds: 60,
  extra: { name: "USDC", version: "2" }
}

/** The 402 of this trick, for a request without payment and for one with it. */
export const refuse = (response: ServerResponse, offer: Partial<Offer> = {}): void => {
  const required = { x402Version: 2, error: "pay", resource: { url: "" }, accepts: [{ ...honest, ...offer }] }
  const header = Buffer.from(JSON.stringify(required)).toString("base64")
  response.writeHead(402, { "payment-required": header, "content-type": "application/json" }).end('{"error":"pay"}')
}

/** Serves the paid goods. */
export const serve = (response: ServerResponse): void => void response.end("goods")

const Payment = Schema.fromJsonString(
  Schema.Struct({ payload: Schema.Struct({ authorization: Schema.Struct({ nonce: Schema.String }) }) })
)
const decodePayment = Schema.decodeUnknownSync(Payment)

const nonceIn = ({ headers }: IncomingMessage): string | undefined => {
  const text = headers["payment-signature"]
  if (typeof text !== "string") return undefined
  return decodePayment(Buffer.from(text, "base64").toString("utf8")).payload.authorization.nonce
}

/** Opens it with these tricks by path. */
export const open = Effect.fnUntraced(function* (tricks: Readonly<Record<string, Trick>>) {
  const nonces = new Map<string, Array<string>>()
  const server = createServer((request, response) => {
    const path = request.url ?? "/"
    const nonce = nonceIn(request)
    if (nonce !== undefined) nonces.set(path, [...(nonces.get(path) ?? []), nonce])
    const trick = tricks[path]
    if (trick === undefined) response.writeHead(404).end()
    else if (nonce === undefined) refuse(response, trick.offer)
    else trick.answer(response)
  })
  const shown: HostileShop["shown"] = (path) => {
    const seen = nonces.get(path) ?? []
    return { times: seen.length, payments: new Set(seen).size }
  }
  return { url: yield* LoopbackServer.listen(server), shown } satisfies HostileShop
})
