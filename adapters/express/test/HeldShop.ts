/** An Express application over real HTTP, in front of or behind whose gate a test puts what it likes. */
import { once } from "node:events"
import { createServer, request, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"

import express, { type Express, type RequestHandler } from "express"

import * as LedgerSeller from "../../../core/test/server/LedgerSeller.ts"
import { paymentMiddleware } from "../src/index.ts"

const closing: Array<() => Promise<unknown>> = []

/** Closes the shops of a test. */
export const close = async (): Promise<void> => {
  await Promise.all(closing.splice(0).map((one) => one()))
}

/** A signer whose signatures have the form of one; this test verifies none. */
const receipts = {
  address: "0x1111111111111111111111111111111111111111",
  signTypedData: () => Promise.resolve(`0x${"ab".repeat(65)}` as const)
} as const

/** The ways to sell a response: those with `settle: "after-handler"` or `receipt: "response"` hold it back. */
export const modes = (["before-handler", "after-handler"] as const).flatMap((settle) =>
  (["payment", "response"] as const).flatMap((receipt) => [
    { settle, receipt },
    { settle, receipt, repeat: "same" as const }
  ])
)

interface Got {
  readonly status: number | undefined
  readonly text: string
  readonly cookies: ReadonlyArray<string> | undefined
}

/** A shop that sells `GET /report/:id`, or without terms the same application without a gate. */
export const open = async (build: (app: Express, gate: RequestHandler) => void, config?: object) => {
  const { ledger, options, terms, transfers } = LedgerSeller.open()
  ledger.deposit("acct-alice", 10n ** 9n)
  const gate =
    config && paymentMiddleware({ ...options, receipts, routes: { "GET /report/:id": { ...terms, ...config } } })
  await gate?.ready()
  const app = express().set("env", "test")
  build(app, gate ?? ((_request, _response, next) => next()))
  const server = createServer(app).listen(0, "127.0.0.1")
  await once(server, "listening")
  closing.push(
    () => {
      server.closeAllConnections()
      return once(server.close(), "close")
    },
    async () => gate?.close()
  )
  const { port } = server.address() as AddressInfo
  const ask = (headers: Readonly<Record<string, string>> = {}, path = "/report/1") =>
    request({ host: "127.0.0.1", port, path, headers, agent: false }).end()
  const get = async (headers?: Readonly<Record<string, string>>, path?: string): Promise<Got> => {
    const [response] = (await once(ask(headers, path), "response")) as [IncomingMessage]
    const chunks: Array<Buffer> = []
    for await (const chunk of response) chunks.push(chunk)
    const cookies = response.headers["set-cookie"]
    return { status: response.statusCode, text: Buffer.concat(chunks).toString(), cookies }
  }
  /** The response once the run that goes meanwhile has ended. */
  const getOnceThere = async (headers: Readonly<Record<string, string>>, path?: string): Promise<Got> => {
    const got = await get(headers, path)
    return got.status === 409 && got.text.includes("in_flight") ? getOnceThere(headers, path) : got
  }
  const payment = async (path?: string) => LedgerSeller.payFor("acct-alice", (await get({}, path)).text)
  return { ask, get, getOnceThere, payment, transfers }
}
