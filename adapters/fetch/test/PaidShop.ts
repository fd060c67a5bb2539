/**
 * A shop on a real socket that speaks the dialect, and everything that arrived at it. Its response to a path can be
 * replaced, so that it can be as hostile as a test needs.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

import { Network, protocolSeller, type PaymentRequirements, type Settlement } from "@pontage/core"

export const network = Network.make("eip155:8453")
export const asset = "0x2222222222222222222222222222222222222222"

export const offer = (
  changes: Partial<PaymentRequirements.PaymentRequirements> = {}
): PaymentRequirements.PaymentRequirements => ({
  scheme: "exact",
  network,
  maxAmountRequired: "10000",
  resource: "https://shop.example/report",
  payTo: "0x1111111111111111111111111111111111111111",
  asset,
  ...changes
})

export const receipt: Settlement.Settlement = {
  success: true,
  transaction: "0xabc",
  network,
  payer: "0x4444444444444444444444444444444444444444",
  amount: "10000",
  paymentId: "pay_0123456789abcdefghijkl"
}

/** A request as it arrived. */
export interface Arrival {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly payment: string | undefined
}

export type Answer = (response: ServerResponse, arrival: Arrival) => void

export interface PaidShop {
  readonly origin: string
  readonly arrivals: ReadonlyArray<Arrival>
  /** The requests that carried a payment. */
  readonly paid: () => ReadonlyArray<Arrival>
  [Symbol.asyncDispose](): Promise<void>
}

/** Refuses as the dialect does. */
export const refuse =
  (status = 402, changes: object = {}, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) => {
    const body = { error: "pay", accepts: [offer()], ...changes }
    response.writeHead(status, { ...protocolSeller.refusal(body).headers, ...headers }).end(JSON.stringify(body))
  }

/** The headers of a receipt. */
export const receiptHeaders = (): Readonly<Record<string, string>> => ({
  ...protocolSeller.receiptHeaders(receipt, { now: 0 })
})

/** Serves what arrived, as JSON, with a receipt. */
export const serve: Answer = (response, { body, headers, method, url }) => {
  response.writeHead(200, receiptHeaders())
  response.end(JSON.stringify({ method, url, headers, body: body.toString("latin1") }))
}

/** A shop's behaviour: it demands a payment, and serves paid requests. */
export const sell: Answer = (response, arrival) =>
  arrival.payment === undefined ? refuse()(response, arrival) : serve(response, arrival)

/** Sells like `sell`, but does this with what is paid. */
export const paidWith =
  (answer: Answer): Answer =>
  (response, arrival) =>
    arrival.payment === undefined ? refuse()(response, arrival) : answer(response, arrival)

/** Opens a shop on a free port of this machine. */
export const open = async (answer: Answer = sell): Promise<PaidShop> => {
  const arrivals: Array<Arrival> = []
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array))
    const payment = request.headers["x-payment"]
    const arrival = {
      method: request.method ?? "",
      url: request.url ?? "",
      headers: request.headers,
      body: Buffer.concat(chunks),
      payment: typeof payment === "string" ? payment : undefined
    }
    arrivals.push(arrival)
    answer(response, arrival)
  }
  const server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()))
  // A stalled loop would find this time over before it reads the next request, and reset the connection.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    arrivals,
    paid: () => arrivals.filter(({ payment }) => payment !== undefined),
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
