/**
 * The switch of a bridge for people and programs: `POST /<behaviour>` sets what is done with the next messages, and `GET /` says what is done
 * now.
 */
import { createServer } from "node:http"

import * as Effect from "effect/Effect"

import * as LoopbackServer from "../LoopbackServer.ts"

/** A party of a bridge that can be told how to behave; the first behaviour is the usual one. */
export interface Switched<Behaviour extends string> {
  readonly behaviours: readonly [Behaviour, ...ReadonlyArray<Behaviour>]
  readonly behave: (behaviour: Behaviour) => Effect.Effect<void>
}

/** Listens as long as the scope lasts; gives its address. */
export const listen = <Behaviour extends string>({ behave, behaviours }: Switched<Behaviour>, port: number = 0) => {
  let [now] = behaviours
  const server = createServer((request, response) => {
    const wanted = behaviours.find((one) => request.url === `/${one}`)
    if (request.method === "POST" && wanted !== undefined) {
      now = wanted
      Effect.runSync(behave(wanted))
    } else if (request.method !== "GET" || request.url !== "/") {
      response.writeHead(404).end(`POST ${behaviours.map((one) => `/${one}`).join(", ")}, or GET /\n`)
      return
    }
    response.end(`${now}\n`)
  })
  return LoopbackServer.listen(server, port)
}
