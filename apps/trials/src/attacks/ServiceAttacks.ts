/**
 * Attacks on the facilitator's own door: by a page in a browser that is open on its machine, and by connections that say
 * nothing.
 */
import { connect, type Socket } from "node:net"

import * as Effect from "effect/Effect"

import type { Attack } from "./Attack.ts"
import * as HostileCall from "./HostileCall.ts"
import { rawly } from "./RawRequest.ts"

const isRefused = (response: string) => /^HTTP\/1\.1 (?:403|415) /.test(response)
const lineOf = (response: string) => response.slice(9, 12)

const blindPost: Attack = {
  name: "blind-post",
  what: "a page in a browser posts to a facilitator without keys on the same machine, blindly or under a name of its own",
  expected: "403 or 415 for each form of it",
  targets: ["pontage"],
  mutation: [
    {
      module: "apps/facilitator/src/BrowserRequest",
      piece: "return message === undefined ? answer",
      instead: "return message !== null ? answer"
    },
    {
      module: "apps/facilitator/src/RequestBody",
      piece: "type !== undefined && jsonType.test(type) && !otherCharset.test(type)",
      instead: "type !== null"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const { url } = yield* stage.facilitator({ PONTAGE_CALLERS_FILE: undefined })
    const { host } = new URL(url)
    const body = JSON.stringify({ protocolVersion: 2 })
    const post = (headers: Readonly<Record<string, string>>) =>
      rawly(url, { target: "/settle", method: "POST", headers: { host, ...headers }, body })
    const json = { "content-type": "application/json" }
    const replies = yield* Effect.all([
      post({}),
      post({ "content-type": "text/plain" }),
      post({ "content-type": "application/x-www-form-urlencoded" }),
      post({ ...json, origin: "https://evil.example" }),
      post({ ...json, origin: "null" }),
      post({ ...json, "sec-fetch-site": "cross-site" }),
      post({ ...json, host: `evil.example:${new URL(url).port}` }),
      rawly(url, { target: "/payments", headers: { host: "evil.example" } })
    ])
    const own = yield* post(json)
    const taken = replies.filter((reply) => !isRefused(reply)).length
    return {
      held: taken === 0 && !isRefused(own),
      seen: `${replies.map(lineOf).join(", ")}; its own caller ${lineOf(own)}`,
      attackerCost: "nothing",
      targetCost: taken === 0 ? "nothing" : `${taken} requests were taken`
    }
  })
}

/** Opens a connection and says nothing. */
const silent = (url: string) =>
  Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const { hostname, port } = new URL(url)
      const socket = connect(Number(port), hostname)
      socket.on("error", () => undefined)
      socket.once("connect", () => resume(Effect.succeed(socket)))
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

const silentConnections: Attack = {
  name: "silent-connections",
  what: "300 connections that say nothing are opened to a facilitator that holds 100",
  expected: "silent ones give way, and an honest caller is answered at once",
  targets: ["pontage"],
  mutation: [
    {
      module: "apps/facilitator/src/ConnectionGuard",
      piece: "const victims = leastMissed(connections.values(), connection)",
      instead: "const victims = []"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const { url } = yield* stage.facilitator({ PONTAGE_MAX_CONNECTIONS: "100" })
    const sockets = yield* Effect.forEach(Array.from({ length: 300 }), () => silent(url))
    const answers = yield* Effect.forEach(Array.from({ length: 20 }), () =>
      Effect.match(
        Effect.catchDefect(HostileCall.send(`${url}/supported`), () => Effect.fail("cut")),
        {
          onSuccess: ({ status }) => status,
          onFailure: () => 0
        }
      )
    )
    const answered = answers.filter((status) => status === 200).length
    const open = sockets.filter(({ closed }) => !closed).length
    return {
      held: answered === 20 && open <= 100,
      seen: `${answered} of 20 honest requests answered, ${open} of 300 silent ones still open`,
      attackerCost: "300 connections",
      targetCost: `${20 - answered} requests`
    }
  })
}

/**
 * @category constants
 */
export const attacks: ReadonlyArray<Attack> = [blindPost, silentConnections]
