/** Servers on free ports of this machine, as long as a test's scope lasts. */
import type { Server } from "node:http"
import type { AddressInfo } from "node:net"

import * as Effect from "effect/Effect"

/** Lets a server listen; gives the address it got. */
export const listen = (server: Server) =>
  Effect.acquireRelease(
    Effect.callback<string>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(Effect.succeed(`http://127.0.0.1:${port}`))
      })
    }),
    () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  )
