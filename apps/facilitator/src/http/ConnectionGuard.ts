/**
 * Connections are few, and who opens them and says nothing must not keep others out. A connection has to bring its request
 * in time and to read the answer. Where there is no room for one more, a quiet one gives way to it: first those that are late
 * with a whole request or do not read their answer, then idle ones, last those that came a moment ago, of the place that
 * holds most of them the oldest. One that waits for its answer is never cut for another.
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
 * The connections that are held at once unless it is said otherwise. A caller that settles a hundred payments a second waits
 * for the chain on some 2,500 of them.
 */
export const defaultMaximum = 5000

/**
 * How long a request may take to arrive, head and body together, in milliseconds, unless it is said otherwise. None is longer
 * than 64 KiB.
 */
export const defaultRequestTimeoutMillis = 15_000

/**
 * How long a connection may stay between requests, in milliseconds, and with an answer that is not given and read. `/settle`
 * takes up to two minutes to answer.
 */
export const patienceMillis = { idle: 65_000, answering: 150_000 }

type Standing = "silent" | "receiving" | keyof typeof patienceMillis

/** How a server watches over its connections: how many it holds, and how long it waits for a request to arrive. */
export interface Options {
  readonly maximum?: number | undefined
  readonly requestTimeoutMillis?: number | undefined
}

/**
 * What Node's own server has to be told for the same: it alone sees when a later request of a connection began to arrive.
 */
export const serverOptions = ({ requestTimeoutMillis = defaultRequestTimeoutMillis }: Options) => ({
  requestTimeout: requestTimeoutMillis,
  headersTimeout: requestTimeoutMillis,
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: Math.min(5_000, Math.ceil(requestTimeoutMillis / 3))
})

/**
 * How long a connection that brings its first request is left alone, in milliseconds: its bytes may still be on their way.
 */
export const graceMillis = 2_000

interface Connection {
  readonly socket: Socket
  readonly place: string
  /** Requests that are not answered yet; several where they are sent without waiting. */
  readonly open: Set<IncomingMessage>
  wasAnswered: boolean
  /** Since when it stands as it does, Unix milliseconds. */
  since: number
}

const standingOf = ({ open, wasAnswered }: Connection): Standing => {
  if (open.size === 0) return wasAnswered ? "idle" : "silent"
  for (const request of open) if (!request.complete) return "receiving"
  return "answering"
}

type Quiet = "late" | "idle" | "fresh"

/** The kinds that give way, in their order. */
const quiet: ReadonlyArray<Quiet> = ["late", "idle", "fresh"]

/** A connection that has been sent an answer and does not read it waits for nothing; `undefined` for one that does wait. */
const quietOf = (connection: Connection, at: number): Quiet | undefined => {
  const standing = standingOf(connection)
  if (standing === "idle") return "idle"
  if (standing === "answering") return connection.socket.writableLength > 0 ? "late" : undefined
  return at - connection.since >= graceMillis ? "late" : "fresh"
}

/**
 * At most so many are cut at once, and of few only one: to look through all for each would cost more than the connections do,
 * and who came a moment ago may be about to ask.
 */
const cutTogether = 32

/** Watches over a server's connections as long as the layer lives. */
export const layer = (server: Server, options: Options = {}): Layer.Layer<never> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const connections = new Map<Socket, Connection>()
      const guard = makeGuard(connections, options, () => clock.currentTimeMillisUnsafe())
      server.on("connection", guard.connected)
      server.prependListener("request", guard.asked)
      server.prependListener("checkContinue", guard.asked)
      yield* Effect.addFinalizer(() =>
        Effect.sync(() =>
          server.off("connection", guard.connected).off("request", guard.asked).off("checkContinue", guard.asked)
        )
      )
      const sweep = Effect.gen(function* () {
        guard.cutLate()
        yield* Metric.update(connectionsOpen({}), connections.size)
        for (const [why, count] of guard.takeCuts()) yield* Metric.update(cut({ why }), count)
      })
      yield* Effect.forkScoped(Effect.repeat(sweep, Schedule.spaced("1 second")))
    })
  )

const makeGuard = (
  connections: Map<Socket, Connection>,
  { maximum = defaultMaximum, requestTimeoutMillis = defaultRequestTimeoutMillis }: Options,
  now: () => number
) => {
  const cuts = new Map<string, number>()
  const longest = { ...patienceMillis, silent: requestTimeoutMillis, receiving: requestTimeoutMillis }
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
      const victims = leastMissed(connections.values(), connection, now())
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
    cutLate: () => {
      const at = now()
      for (const connection of connections.values()) {
        const standing = standingOf(connection)
        if (at - connection.since >= longest[standing]) drop(connection, standing)
      }
    },
    takeCuts: () => {
      const taken = [...cuts]
      cuts.clear()
      return taken
    }
  }
}

/** The quiet ones to cut for a new one, in the order they came; none where all others wait for their answers. */
const leastMissed = (all: Iterable<Connection>, newest: Connection, at: number): ReadonlyArray<Connection> => {
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
    // An idle connection may be used the next moment: of those no more are cut than are needed.
    if (most.length > 0)
      return most.slice(0, kind === 0 ? Math.max(1, Math.min(cutTogether, Math.floor(most.length / 8))) : 1)
  }
  return []
}

const connectionsOpen = seriesOf((attributes) =>
  Metric.gauge("pontage_connections_open", { attributes, description: "Connections to this process" })
)

const cut = seriesOf((attributes) =>
  Metric.counter("pontage_connections_cut_total", {
    attributes,
    description: "Connections that were cut: silent, receiving, idle or answering for too long, or crowded out",
    incremental: true
  })
)
