/** TCP ports of this machine's own address: which are in use, and which is free. */
import { createServer } from "node:net"

import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** Other forms of numbers, such as 0x10, are mistakes here. */
const Digits = Schema.String.check(Schema.isPattern(/^\d{1,5}$/))
const Port = Digits.pipe(
  Schema.decodeTo(Schema.NumberFromString.check(Schema.isBetween({ minimum: 0, maximum: 65_535 })))
)

/** The port of an environment variable, or the usual one where it is not set; 0 takes any free one. */
export const fromEnvironment = (name: string, usual: number): Config.Config<number> =>
  Config.withDefault(Config.schema(Port, name), usual)

/** Listens for a moment, and gives the port; `undefined` where another program has it. */
const tried = (port: number): Effect.Effect<number | undefined> =>
  Effect.callback<number | undefined>((resume) => {
    const server = createServer()
    server.once("error", () => resume(Effect.undefined))
    server.listen(port, "127.0.0.1", () => {
      const address = server.address()
      const got = address === null || typeof address === "string" ? undefined : address.port
      server.close(() => resume(Effect.succeed(got)))
    })
  })

/** Whether another program listens on the port. */
export const isTaken = (port: number): Effect.Effect<boolean> =>
  port === 0 ? Effect.succeed(false) : Effect.map(tried(port), (got) => got === undefined)

/** The port, or a free one where it is taken. */
export const orFree = (port: number): Effect.Effect<number> =>
  Effect.flatMap(tried(port), (got) =>
    got === undefined ? Effect.map(tried(0), (free) => free ?? 0) : Effect.succeed(port === 0 ? 0 : got)
  )
