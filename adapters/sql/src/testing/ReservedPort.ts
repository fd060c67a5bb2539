/**
 * A TCP port for a server that is stopped and started again. While it is down, its port is free for anybody, and a system
 * that is asked for some free port may give out that one: what belongs to the server then reaches a stranger.
 */
import { createSocket, type Socket } from "node:dgram"
import { createServer } from "node:net"

import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"

const host = "127.0.0.1"
/** Below the ports that systems give out by themselves: Linux from 32 768, others from 49 152 (RFC 6335). */
const first = 20_000
const last = 32_767
/** Where not one of so many can be had, it is not for want of free ones. */
const attempts = 200

/**
 * A port that nobody listens on, and that no second caller on this machine is given while the scope lasts: its UDP
 * namesake is held as the sign of that. Dies where this machine gives none.
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

/** Nothing, where somebody else holds it. */
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
