/**
 * The executor's switch for people and programs: `POST /deliver`, `/attest` or `/ignore` sets what it does for the next messages, and
 * `GET /` says what it does now.
 */
import { createServer } from "node:http"

import * as Effect from "effect/Effect"

import * as LoopbackServer from "../LoopbackServer.ts"
import type { Behaviour, LayerZeroExecutor } from "./LayerZeroExecutor.ts"

const behaviours: ReadonlyArray<Behaviour> = ["deliver", "attest", "ignore"]

/** Listens as long as the scope lasts; gives its address. */
export const listen = (executor: LayerZeroExecutor, port: number = 0) => {
  let now: Behaviour = "deliver"
  const server = createServer((request, response) => {
    const wanted = behaviours.find((one) => request.url === `/${one}`)
    if (request.method === "POST" && wanted !== undefined) {
      now = wanted
      Effect.runSync(executor.behave(wanted))
    } else if (request.method !== "GET" || request.url !== "/") {
      response.writeHead(404).end(`POST ${behaviours.map((one) => `/${one}`).join(", ")}, or GET /\n`)
      return
    }
    response.end(`${now}\n`)
  })
  return LoopbackServer.listen(server, port)
}
