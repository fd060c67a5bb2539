/**
 * A front between two parties that speak HTTP: it passes requests on, until a test makes it respond by itself.
 */
import { createServer, type ServerResponse } from "node:http"

import * as Effect from "effect/Effect"

import { listen } from "./OpenServer.ts"

/** Treatment of a request. `body` is the request's body. */
export type Fault = (response: ServerResponse, body: string) => void

/** The socket stays open and silent. */
export const silence: Fault = () => undefined

/** The connection breaks before there is a response. */
export const broken: Fault = (response) => void response.destroy()

/** A response of this status and text. */
export const respondWith =
  (status: number, text: string, headers: Readonly<Record<string, string>> = {}): Fault =>
  (response) =>
    void response.writeHead(status, headers).end(text)

/** Responses of proxies and cloud providers in place of the servers behind them. */
export const page = (status: number) => respondWith(status, "<html>It works!</html>", { "content-type": "text/html" })

/** A node's response to whatever it was asked. */
export const rpcResponse =
  (outcome: Readonly<Record<string, unknown>>): Fault =>
  (response, body) => {
    const { id } = JSON.parse(body) as { readonly id: unknown }
    response.setHeader("content-type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }))
  }

/** A front that was put up. */
export interface FaultyFront {
  readonly url: string
  /** Everything is answered like this from now on; nothing is passed on. */
  readonly spoil: (fault: Fault) => void
  readonly mend: () => void
  /** Number of requests since the last change of the treatment. */
  readonly asked: () => number
}

/** Puts a front up before `target`. */
export const make = Effect.fnUntraced(function* (target: string) {
  let fault: Fault | undefined
  let asked = 0
  const change = (next: Fault | undefined) => {
    fault = next
    asked = 0
  }
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      asked++
      const body = Buffer.concat(chunks).toString()
      if (fault !== undefined) return fault(response, body)
      void passOn(new URL(request.url ?? "/", target), request.method ?? "GET", body).then(
        ({ status, text }) => response.writeHead(status, { "content-type": "application/json" }).end(text),
        () => response.destroy()
      )
    })
  })
  const url = yield* listen(server)
  return { url, spoil: change, mend: () => change(undefined), asked: () => asked } satisfies FaultyFront
})

const passOn = async (url: URL, method: string, body: string) => {
  const sent = method === "POST" ? { body } : {}
  const response = await fetch(url, { method, headers: { "content-type": "application/json" }, ...sent })
  return { status: response.status, text: await response.text() }
}
