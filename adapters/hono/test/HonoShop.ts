/** A shop on Hono over a ledger in memory, behind a real server of Node. */
import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"

import type { Seller } from "@pontage/core"
import type { Hono, MiddlewareHandler } from "hono"

import * as LedgerSeller from "../../../core/test/server/LedgerSeller.ts"
import * as HonoSubject from "./HonoSubject.ts"

/** A signer whose signatures have the form of one; no test verifies them. */
const receipts = {
  address: "0x1111111111111111111111111111111111111111",
  signTypedData: () => Promise.resolve(`0x${"ab".repeat(65)}` as const)
} as const

/** A request. Its body is sent in chunks, so that its head tells no length. */
interface Sent {
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** A response; `text` is what came of it, `isWhole` whether that was all. */
export interface Got {
  readonly status: number | undefined
  readonly cookies: ReadonlyArray<string> | undefined
  readonly front: string | ReadonlyArray<string> | undefined
  readonly hasReceipt: boolean
  readonly text: string
  readonly isWhole: boolean
}

const cutOff: Got = {
  status: undefined,
  cookies: undefined,
  front: undefined,
  hasReceipt: false,
  text: "",
  isWhole: false
}

const gotOf = async (response: IncomingMessage): Promise<Got> => {
  const chunks: Array<Buffer> = []
  try {
    for await (const chunk of response) chunks.push(chunk)
  } catch {
    // `complete` tells it.
  }
  return {
    status: response.statusCode,
    cookies: response.headers["set-cookie"],
    front: response.headers["x-front"],
    hasReceipt: response.headers["x-payment-response"] !== undefined,
    text: Buffer.concat(chunks).toString(),
    isWhole: response.complete
  }
}

/** The gates of an application: all of its shop's, which is opened with these options. */
export type Gate = (
  options: Seller.SellerOptions,
  terms: ReturnType<typeof LedgerSeller.open>["terms"]
) => MiddlewareHandler & { readonly ready: () => Promise<void>; readonly close: () => Promise<void> }

export interface Served {
  /** Sends a request, for `/report` by default: `POST` if it has a body, otherwise `GET`. */
  readonly ask: (sent?: Sent) => Promise<Got>
  readonly close: () => Promise<void>
}

/** Serves an application that sells nothing. */
export const serve = async (app: Pick<Hono, "fetch">, close = () => Promise.resolve()): Promise<Served> => {
  const server = await HonoSubject.listen((asked, beside) => app.fetch(asked, beside), {
    ready: () => Promise.resolve(),
    close
  })
  const ask: Served["ask"] = async ({ body, headers, path = "/report" } = {}) => {
    const method = body === undefined ? "GET" : "POST"
    const chunked = body === undefined ? undefined : { "Transfer-Encoding": "chunked" }
    const asking = request({
      host: "127.0.0.1",
      port: server.port,
      path,
      agent: false,
      method,
      headers: { ...chunked, ...headers }
    })
    asking.end(body)
    const response = await once(asking, "response").catch(() => undefined)
    return response === undefined ? cutOff : gotOf(response[0])
  }
  return { ask, close: server.close }
}

/** Serves an application and its shop; `build` adds to it the gate and what stands in front of it and behind it. */
export const open = async (app: Hono, gate: Gate, build: (gate: MiddlewareHandler) => void) => {
  const { ledger, options, terms, transfers } = LedgerSeller.open()
  ledger.deposit("acct-alice", 10n ** 9n)
  const shop = gate({ ...options, receipts }, terms)
  build(shop)
  const { ask, close } = await serve(app, shop.close)
  await shop.ready()
  /** The response once the run that goes meanwhile has ended. */
  const askOnceThere: Served["ask"] = async (sent) => {
    const got = await ask(sent)
    return got.status === 409 && got.text.includes("in_flight") ? askOnceThere(sent) : got
  }
  const payment = async (sent?: Sent) => LedgerSeller.payFor("acct-alice", (await ask(sent)).text)
  return { ask, askOnceThere, payment, transfers, close }
}
