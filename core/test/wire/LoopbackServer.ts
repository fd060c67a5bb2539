/** A server on loopback that speaks as raw as a test wants: what comes in as text, what goes out as bytes. */
import { createServer, type Server, type Socket } from "node:net"

import * as Effect from "effect/Effect"

export interface LoopbackServer {
  readonly port: number
  readonly origin: string
  /** The requests so far, each as it came. */
  readonly requests: ReadonlyArray<string>
  /** Every connection that was ever made. */
  readonly connections: ReadonlyArray<Socket>
}

/** Answers a request by its number, from 0. */
export type Reply = (socket: Socket, nth: number) => void

/** A whole response with a body of this text. */
export const answer = (body: string, ...fields: ReadonlyArray<string>): string =>
  ["HTTP/1.1 200 OK", `content-length: ${Buffer.byteLength(body)}`, ...fields, "", body].join("\r\n")

/** Sends this for every request. */
export const saying =
  (text: string | Uint8Array): Reply =>
  (socket) =>
    void socket.write(text)

/** Starts the server; it goes away with the scope, connections included. Requests must come with a body of two bytes. */
export const make = (reply: Reply, host = "127.0.0.1") =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<Running>((resume) => {
        const running = open(reply)
        running.server.listen(0, host, () => resume(Effect.succeed(running)))
      }),
      ({ connections, server }) =>
        Effect.callback<void>((resume) => {
          for (const socket of connections) socket.destroy()
          server.close(() => resume(Effect.void))
        })
    ),
    ({ connections, requests, server }): LoopbackServer => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      return { port, origin: `http://${host.includes(":") ? `[${host}]` : host}:${port}`, requests, connections }
    }
  )

interface Running {
  readonly server: Server
  readonly requests: Array<string>
  readonly connections: Array<Socket>
}

const open = (reply: Reply): Running => {
  const requests: Array<string> = []
  const connections: Array<Socket> = []
  const server = createServer((socket) => {
    connections.push(socket)
    let waiting = ""
    socket.on("error", () => undefined)
    socket.on("data", (chunk) => {
      waiting += chunk.toString("latin1")
      const end = waiting.indexOf("\r\n\r\n")
      if (end === -1 || (waiting.startsWith("POST") && waiting.length < end + 6)) return
      requests.push(waiting)
      waiting = ""
      reply(socket, requests.length - 1)
    })
  })
  return { server, requests, connections }
}
