/**
 * Limit on connections, so that quiet ones do not keep others out. A connection has to send its request in time and to read
 * the response. When the limit is reached, a new connection replaces a quiet one: first one that is late with its request or
 * does not read its response, then an idle one, last a fresh one; in each group the oldest of the origin with the most. A
 * connection that waits for its response is never closed for another.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Schedule from "effect/Schedule"

import { seriesOf } from "../metrics/MetricSeries.ts"
import * as RequestOrigin from "./RequestOrigin.ts"

/**
 * Default limit of connections. A caller that settles a hundred payments a second has about 2,500 of them waiting for the
 * chain.
 */
export const defaultMaximum = 5000

/**
 * Default time for a request to arrive, head and body together, in milliseconds. The longest request has 64 KiB.
 */
export const defaultRequestTimeoutMillis = 15_000

/**
 * Longest time of a connection between requests, and until a response is given and read, in milliseconds. `/settle` takes up
 * to two minutes.
 */
export const longestMillis = { idle: 65_000, answering: 150_000 }

type ConnectionState = "silent" | "receiving" | keyof typeof longestMillis

/** Limits of connections. */
export interface Options {
  readonly maximum?: number | undefined
  readonly requestTimeoutMillis?: number | undefined
}

/**
 * Options of Node's server for the same limits: only Node sees when a later request of a connection begins to arrive.
 */
export const serverOptions = ({ requestTimeoutMillis = defaultRequestTimeoutMillis }: Options) => ({
  requestTimeout: requestTimeoutMillis,
  headersTimeout: requestTimeoutMillis,
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: Math.min(5_000, Math.ceil(requestTimeoutMillis / 3))
})

/**
 * Milliseconds for which a new connection counts as fresh: its first request may still be in transit.
 */
export const graceMillis = 2_000

interface Connection {
  readonly socket: Socket
  readonly place: string
  /** Requests without a response yet; several with pipelining. */
  readonly open: Set<IncomingMessage>
  wasAnswered: boolean
  /** Time at which the current state began, in milliseconds of the monotonic clock. */
  since: number
}

const stateOf = ({ open, wasAnswered }: Connection): ConnectionState => {
  if (open.size === 0) return wasAnswered ? "idle" : "silent"
  for (const request of open) if (!request.complete) return "receiving"
  return "answering"
}

type Quiet = "late" | "idle" | "fresh"

/** Kinds of quiet connections, in the order in which they are closed. */
const quiet: ReadonlyArray<Quiet> = ["late", "idle", "fresh"]

/** The kind of a quiet connection; `undefined` for one that waits for its response. One that does not read it is late. */
const quietOf = (connection: Connection, at: number): Quiet | undefined => {
  const state = stateOf(connection)
  if (state === "idle") return "idle"
  if (state === "answering") return connection.socket.writableLength > 0 ? "late" : undefined
  return at - connection.since >= graceMillis ? "late" : "fresh"
}

/**
 * Most connections that are closed together, since a search through all of them for each one would cost more than they do.
 * Fewer than 16 late ones are closed one by one.
 */
const closeTogether = 32

/** Limits a server's connections as long as the layer lives. */
export const layer = (server: Server, options: Options = {}): Layer.Layer<never> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const connections = new Map<Socket, Connection>()
      const guard = makeGuard(connections, options, monotonicMillis(clock))
      server.on("connection", guard.connected)
      server.prependListener("request", guard.asked)
      server.prependListener("checkContinue", guard.asked)
      yield* Effect.addFinalizer(() =>
        Effect.sync(() =>
          server.off("connection", guard.connected).off("request", guard.asked).off("checkContinue", guard.asked)
        )
      )
      const sweep = Effect.gen(function* () {
        guard.closeLate()
        yield* Metric.update(connectionsOpen({}), connections.size)
        for (const [why, count] of guard.takeClosed()) yield* Metric.update(cut({ why }), count)
      })
      yield* Effect.forkScoped(Effect.repeat(sweep, Schedule.spaced("1 second")))
    })
  )

/** The wall clock may be set, which says nothing about how long a connection was quiet. */
const monotonicMillis = (clock: Clock.Clock) => () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

const makeGuard = (
  connections: Map<Socket, Connection>,
  { maximum = defaultMaximum, requestTimeoutMillis = defaultRequestTimeoutMillis }: Options,
  now: () => number
) => {
  const cuts = new Map<string, number>()
  const longest = { ...longestMillis, silent: requestTimeoutMillis, receiving: requestTimeoutMillis }
  const drop = ({ socket }: Connection, why: string) => {
    connections.delete(socket)
    cuts.set(why, (cuts.get(why) ?? 0) + 1)
    socket.destroy()
  }
  return {
    connected: (socket: Socket) => {
      const place = RequestOrigin.fromAddress(socket.remoteAddress ?? "")
      const connection: Connection = { socket, place, open: new Set(), wasAnswered: false, since: now() }
      connections.set(socket, connection)
      socket.once("close", () => connections.delete(socket))
      if (connections.size <= maximum) return
      const victims = connectionsToClose(connections.values(), connection, now())
      for (const victim of victims) drop(victim, "crowded")
      if (victims.length === 0) drop(connection, "crowded")
    },
    asked: (request: IncomingMessage, response: ServerResponse) => {
      const connection = connections.get(request.socket)
      if (connection === undefined) return
      if (connection.open.size === 0) connection.since = now()
      connection.open.add(request)
      response.once("close", () => {
        connection.open.delete(request)
        connection.wasAnswered = true
        connection.since = now()
      })
    },
    closeLate: () => {
      const at = now()
      for (const connection of connections.values()) {
        const state = stateOf(connection)
        if (at - connection.since >= longest[state]) drop(connection, state)
      }
    },
    takeClosed: () => {
      const taken = [...cuts]
      cuts.clear()
      return taken
    }
  }
}

/** Quiet connections to close for a new one, oldest first; none if all others wait for their responses. */
const connectionsToClose = (all: Iterable<Connection>, newest: Connection, at: number): ReadonlyArray<Connection> => {
  const places = quiet.map(() => new Map<string, Array<Connection>>())
  for (const connection of all) {
    if (connection === newest) continue
    const own = quietOf(connection, at)
    const kind = quiet.findIndex((one) => one === own)
    const known = places[kind]?.get(connection.place)
    if (known === undefined) places[kind]?.set(connection.place, [connection])
    else known.push(connection)
  }
  for (const [kind, held] of places.entries()) {
    const most = [...held.values()].reduce<ReadonlyArray<Connection>>(
      (largest, one) => (one.length > largest.length ? one : largest),
      []
    )
    // An idle or fresh connection may be used the next moment, so only one of them is closed.
    if (most.length > 0)
      return most.slice(0, kind === 0 ? Math.max(1, Math.min(closeTogether, Math.floor(most.length / 8))) : 1)
  }
  return []
}

const connectionsOpen = seriesOf((attributes) =>
  Metric.gauge("pontage_connections_open", { attributes, description: "Connections to this process" })
)

const cut = seriesOf((attributes) =>
  Metric.counter("pontage_connections_cut_total", {
    attributes,
    description:
      "Connections that the service closed: silent, receiving, idle or answering for too long, or crowded out",
    incremental: true
  })
)
