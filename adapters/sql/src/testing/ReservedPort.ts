/**
 * A TCP port for a server that is stopped and restarted. Meanwhile the port is free, and a system that assigns free
 * ports may give it to a stranger, who would get the server's traffic.
 */
import { createSocket, type Socket } from "node:dgram"
import { createServer } from "node:net"

import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"

const host = "127.0.0.1"
/** Below the ports that systems assign by themselves: Linux from 32 768, others from 49 152 (RFC 6335). */
const first = 20_000
const last = 32_767
/** Number of attempts: if all fail, the cause is not a lack of free ports. */
const attempts = 200

/**
 * A port without a listener that no second caller on this machine gets while the scope lasts: the UDP port of the same
 * number is held as the mark. Dies if this machine has none.
 */
export const make: Effect.Effect<number, never, Scope.Scope> = Effect.gen(function* () {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const port = yield* Random.nextIntBetween(first, last)
    const sign = yield* Effect.acquireRelease(hold(port), letGo)
    if (sign !== undefined && (yield* isFree(port))) return port
  }
  return yield* Effect.die(
    new Error(`no port from ${first} to ${last} could be had on ${host} in ${attempts} attempts`)
  )
})

/** Returns nothing if another process holds it. */
const hold = (port: number) =>
  Effect.callback<Socket | undefined>((resume) => {
    const socket = createSocket("udp4").unref()
    socket.once("error", () => {
      socket.close()
      resume(Effect.undefined)
    })
    socket.bind({ port, address: host, exclusive: true }, () => resume(Effect.succeed(socket)))
  })

const letGo = (sign: Socket | undefined) =>
  Effect.callback<void>((resume) => {
    if (sign === undefined) resume(Effect.void)
    else sign.close(() => resume(Effect.void))
  })

const isFree = (port: number) =>
  Effect.callback<boolean>((resume) => {
    const probe = createServer()
    probe.once("error", () => resume(Effect.succeed(false)))
    probe.listen(port, host, () => probe.close(() => resume(Effect.succeed(true))))
  })
