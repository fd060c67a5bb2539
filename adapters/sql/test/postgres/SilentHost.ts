/** A database's host that can fall silent: it answers nothing any more, and ends no connection either. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net"

import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

interface Pair {
  readonly near: Socket
  readonly far: Socket
  isSilent: boolean
}

/** Forwards connections to the database at this URL. */
export const make = Effect.fnUntraced(function* (database: Redacted.Redacted) {
  const { hostname, port } = new URL(Redacted.value(database))
  const pairs = new Set<Pair>()
  let isSilent = false
  const forward = (near: Socket) => {
    const far = connect(Number(port), hostname)
    const pair: Pair = { near, far, isSilent }
    pairs.add(pair)
    for (const [from, to] of [
      [near, far],
      [far, near]
    ] as const) {
      from.setNoDelay(true)
      from.on("data", (bytes) => void (pair.isSilent || to.write(bytes)))
      from.on("error", () => {})
      from.on("close", () => void (pair.isSilent || to.destroy()))
    }
  }
  const server = yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const made = createServer(forward)
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) =>
      Effect.callback<void>((resume) => {
        made.close(() => resume(Effect.void))
        for (const { far, near } of pairs) for (const socket of [near, far]) socket.destroy()
      })
  )
  const url = new URL(Redacted.value(database))
  const { address, port: own } = server.address() as AddressInfo
  url.host = `${address}:${own}`
  return {
    url: Redacted.make(url.href),
    /** From now on nothing is forwarded, on connections that are open or new. */
    silence: Effect.sync(() => {
      isSilent = true
      for (const pair of pairs) pair.isSilent = true
    }),
    /** New connections are forwarded again; those that were open stay silent. */
    replace: Effect.sync(() => {
      isSilent = false
    })
  }
})
