/**
 * HTTP servers on this machine, as long as a scope lasts.
 */
import { createServer, type Server } from "node:http"

import * as Effect from "effect/Effect"

const host = "127.0.0.1"

/** Lets a server listen, on a free port where none is given; gives the origin it got. */
export const listen = (server: Server, port: number = 0) =>
  Effect.acquireRelease(
    Effect.callback<string>((resume) => {
      server.once("error", (error) => resume(Effect.die(error)))
      server.listen(port, host, () => resume(Effect.succeed(originOf(server))))
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

/** A free port, for servers that need their port before they exist. */
export const freePort = Effect.scoped(
  Effect.map(
    Effect.suspend(() => listen(createServer())),
    (origin) => Number(new URL(origin).port)
  )
)

const originOf = (server: Server): string => {
  const address = server.address()
  return typeof address === "object" && address !== null ? `http://${host}:${address.port}` : `${address}`
}
