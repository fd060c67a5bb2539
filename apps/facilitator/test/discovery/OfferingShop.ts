/**
 * A shop that responds to every unpaid request with the offer that a test gives for its path, and counts the requests.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

import * as Effect from "effect/Effect"

/** A response: the JSON of `PAYMENT-REQUIRED`, or a status with headers. */
export type ShopResponse =
  | { readonly required: unknown; readonly method?: "POST" }
  | { readonly status: number; readonly headers?: Record<string, string> }

export interface OfferingShop {
  readonly origin: string
  /** Responses by path. */
  readonly responses: Map<string, ShopResponse>
  /** Method and target of each request. */
  readonly requests: Array<string>
}

export const open = Effect.acquireRelease(
  Effect.callback<OfferingShop & { readonly close: () => void }>((resume) => {
    const responses = new Map<string, ShopResponse>()
    const requests: Array<string> = []
    const server = createServer(({ method = "", url = "" }, response) => {
      requests.push(`${method} ${url}`)
      const given = responses.get(new URL(url, "http://shop").pathname) ?? { status: 404 }
      if ("status" in given) return response.writeHead(given.status, given.headers).end()
      if (given.method !== undefined && given.method !== method) return response.writeHead(405).end()
      const offer = Buffer.from(JSON.stringify(given.required)).toString("base64")
      return response.writeHead(402, { "payment-required": offer }).end("{}")
    }).listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      const close = () => {
        server.closeAllConnections()
        server.close()
      }
      resume(Effect.succeed({ origin: `http://127.0.0.1:${port}`, responses, requests, close }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

/** An offer of x402 version 2. */
export interface Offered {
  readonly amount?: string
  readonly payTo?: string
  readonly extra?: Record<string, unknown>
}

/** A payment request of x402 version 2 that opts in. */
export const required = (
  {
    amount = "10000",
    extra = { name: "USDC", version: "2" },
    payTo = "0x1111111111111111111111111111111111111111"
  }: Offered = {},
  resource: Record<string, unknown> = {},
  bazaar: Record<string, unknown> = {}
) => ({
  x402Version: 2,
  resource: { url: "https://elsewhere.example/", description: "The report", mimeType: "application/json", ...resource },
  accepts: [
    {
      scheme: "exact",
      network: "eip155:8453",
      amount,
      asset: "0x3333333333333333333333333333333333333333",
      payTo,
      maxTimeoutSeconds: 60,
      extra
    }
  ],
  extensions: {
    bazaar: {
      info: { input: { type: "http", method: "GET", queryParams: {} } },
      schema: { type: "object", properties: { input: { type: "object" } }, required: ["input"] },
      ...bazaar
    }
  }
})
