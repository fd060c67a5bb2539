/**
 * A front before a server: everybody knows its address, and it can be taken down and put up again while the server behind
 * it keeps what it remembers.
 */
import { connect, createServer, type Server, type Socket } from "node:net"

import * as Effect from "effect/Effect"

/** A front that is up. */
export interface Front {
  readonly url: string
  /** Cuts all connections and takes no new ones. */
  readonly takeDown: Effect.Effect<void>
  /** Listens again on the same port. */
  readonly putUp: Effect.Effect<void>
}

const host = "127.0.0.1"

/** Puts a front up before `target`, as long as the scope. */
export const make = Effect.fnUntraced(function* (target: string) {
  const port = Number(new URL(target).port)
  const sockets = new Set<Socket>()
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket)).on("error", () => socket.destroy())
  }
  const server = createServer((socket) => {
    const behind = connect(port, host)
    keep(socket)
    keep(behind)
    socket.pipe(behind).pipe(socket)
  })
  const takeDown = Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
    for (const socket of sockets) socket.destroy()
  })
  const own = yield* Effect.acquireRelease(listen(server, 0), () => takeDown)
  return { url: `http://${host}:${own}`, takeDown, putUp: Effect.asVoid(listen(server, own)) } satisfies Front
})

const listen = (server: Server, port: number) =>
  Effect.callback<number>((resume) => {
    server.listen(port, host, () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
    })
  })
