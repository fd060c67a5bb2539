import { createConnection, type Socket } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as TestClock from "effect/testing/TestClock"

import { defaultRequestTimeoutMillis, longestMillis } from "../../src/http/ConnectionGuard.ts"
import * as TestFacilitator from "../TestFacilitator.ts"

const { body, json, start } = TestFacilitator

interface Wire {
  readonly socket: Socket
  readonly closed: Promise<void>
  /** All that came. */
  readonly heard: () => string
}

/** A connection that ends with the test: a service that stops waits for those who are connected. */
const connect = (port: number, said?: string) =>
  Effect.acquireRelease(connected(port, said), ({ socket }) => Effect.sync(() => socket.destroy()))

const connected = (port: number, said = ""): Effect.Effect<Wire> =>
  Effect.callback((resume) => {
    let text = ""
    const socket = createConnection(port, "127.0.0.1", () => {
      const wire = { socket, closed, heard: () => text }
      if (said === "") resume(Effect.succeed(wire))
      else socket.write(said, () => resume(Effect.succeed(wire)))
    })
    socket.setEncoding("utf8").on("data", (piece: string) => (text += piece))
    socket.on("error", () => undefined)
    const closed = new Promise<void>((done) => socket.on("close", () => done()))
  })

const several = (count: number, port: number, said?: string) =>
  Effect.forEach(Array.from({ length: count }), () => connect(port, said))

const allClosed = (wires: ReadonlyArray<Wire>) => Effect.promise(() => Promise.all(wires.map(({ closed }) => closed)))

const countOpen = (wires: ReadonlyArray<Wire>) => wires.filter(({ socket }) => !socket.closed).length

/** Waits for this many to be cut, however long the sockets take. */
const untilCut = (wires: ReadonlyArray<Wire>, count: number) =>
  Effect.promise(() => new Promise<void>((done) => setImmediate(done))).pipe(
    Effect.repeat({
      until: () => {
        return wires.length - countOpen(wires) >= count
      }
    })
  )

const slow = (port: number) =>
  `POST /verify HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`

describe("silent connections", () => {
  it.effect("are closed, a hundred of them, when their time is over, and callers are served meanwhile", () =>
    Effect.gen(function* () {
      const { get, port } = yield* start({})
      const silent = yield* several(100, port)
      assert.strictEqual((yield* get("/payments")).status, 200)
      yield* TestClock.adjust(defaultRequestTimeoutMillis - 1000)
      assert.strictEqual((yield* get("/payments")).status, 200)
      assert.strictEqual(countOpen(silent), 100)
      yield* TestClock.adjust(2000)
      yield* allClosed(silent)
      assert.strictEqual((yield* get("/payments")).status, 200)
    })
  )

  it.effect("count as silent while half of a head has arrived", () =>
    Effect.gen(function* () {
      const { get, port } = yield* start({})
      const halves = yield* several(20, port, "GET /payments HTTP/1.1\r\nHost: loc")
      assert.strictEqual((yield* get("/live")).status, 200)
      yield* TestClock.adjust(defaultRequestTimeoutMillis + 1000)
      yield* allClosed(halves)
    })
  )

  it.effect("are closed for a caller when the limit is reached", () =>
    Effect.gen(function* () {
      const { get, port } = yield* start({}, { maximumConnections: 20 })
      const silent = yield* several(100, port)
      yield* untilCut(silent, 80)
      const answers = yield* Effect.forEach(Array.from({ length: 15 }), () => get("/payments"), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        Array.from({ length: 15 }, () => 200)
      )
    })
  )
})

describe("slow connections", () => {
  it.effect("are closed when a body does not arrive, and for a caller when the limit is reached", () =>
    Effect.gen(function* () {
      const { get, port } = yield* start({})
      const slowly = yield* several(20, port, slow(port))
      assert.strictEqual((yield* get("/live")).status, 200)
      yield* TestClock.adjust(defaultRequestTimeoutMillis + 1000)
      yield* allClosed(slowly)
      const crowded = yield* start({}, { maximumConnections: 10 })
      const crowd = yield* several(40, crowded.port, slow(crowded.port))
      yield* untilCut(crowd, 30)
      assert.strictEqual((yield* crowded.get("/payments")).status, 200)
    })
  )

  it.effect("are closed when they request an unsupported upgrade and then fall silent", () =>
    Effect.gen(function* () {
      const { get, port } = yield* start({})
      const fields = `Host: localhost:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n`
      const wires = yield* several(
        5,
        port,
        `GET /live HTTP/1.1\r\n${fields}Sec-WebSocket-Key: ${"A".repeat(22)}==\r\n\r\n`
      )
      const others = yield* several(5, port, `GET /live HTTP/1.1\r\n${fields.replace("websocket", "h2c")}\r\n`)
      assert.strictEqual((yield* get("/live")).status, 200)
      yield* TestClock.adjust(longestMillis.answering + 1000)
      yield* allClosed([...wires, ...others])
    })
  )
})

describe("idle connections at the limit", () => {
  it.effect("are closed before those that were just opened, whose request is still on its way", () =>
    Effect.gen(function* () {
      const { port } = yield* start({}, { maximumConnections: 10 })
      const head = `GET /live HTTP/1.1\r\nHost: localhost:${port}\r\n`
      const idle = yield* several(10, port, `${head}\r\n`)
      for (const { heard, socket } of idle) {
        if (heard() === "") yield* Effect.promise(() => new Promise<void>((done) => socket.once("data", () => done())))
      }
      const honest = yield* several(3, port)
      yield* untilCut(idle, 3)
      for (const { socket } of honest) socket.write(`${head}Connection: close\r\n\r\n`)
      yield* allClosed(honest)
      for (const { heard } of honest) assert.match(heard(), /^HTTP\/1.1 200 /)
    })
  )
})

describe("connections that wait for a response", () => {
  const held = Effect.gen(function* () {
    const gate = yield* Deferred.make<void>()
    const begun = yield* Deferred.make<void>()
    const verify = () =>
      Effect.andThen(
        Deferred.succeed(begun, undefined),
        Effect.as(Deferred.await(gate), { payer: TestFacilitator.payer })
      )
    return { gate, begun, verify }
  })

  it.effect("are never closed for others", () =>
    Effect.gen(function* () {
      const { begun, gate, verify } = yield* held
      const { port, post } = yield* start({ verify }, { maximumConnections: 10 })
      const asking = yield* Effect.forkChild(post("/verify", body))
      yield* Deferred.await(begun)
      const silent = yield* several(60, port)
      yield* untilCut(silent, 51)
      yield* TestClock.adjust("60 seconds")
      yield* Deferred.succeed(gate, undefined)
      const answer = yield* Fiber.join(asking)
      assert.deepStrictEqual(yield* json(answer), { isValid: true, payer: TestFacilitator.payer })
    })
  )

  it.effect(
    "are never closed because the clock was set forth; silent ones are closed in time though it was set back",
    () =>
      Effect.gen(function* () {
        const { set, withIt } = yield* TestFacilitator.wallClock
        const { begun, gate, verify } = yield* held
        const { port, post } = yield* withIt(start({ verify }))
        const asking = yield* Effect.forkChild(post("/verify", body))
        yield* Deferred.await(begun)
        set(3_600_000)
        yield* TestClock.adjust("2 seconds")
        yield* Deferred.succeed(gate, undefined)
        assert.strictEqual((yield* Fiber.join(asking)).status, 200)
        const silent = yield* several(5, port)
        assert.strictEqual((yield* post("/verify", body)).status, 200)
        set(0)
        yield* TestClock.adjust(defaultRequestTimeoutMillis + 1000)
        yield* allClosed(silent)
      })
  )

  it.effect("are closed for others when they do not read their response", () =>
    Effect.gen(function* () {
      const { get, port } = yield* start({}, { maximumConnections: 10 })
      const question = `GET /openapi.json HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`
      const deaf = yield* several(10, port)
      for (const { socket } of deaf) {
        socket.pause()
        socket.write(question.repeat(300))
      }
      const answered = Effect.match(
        Effect.catchDefect(get("/live"), () => Effect.fail("cut")),
        {
          onSuccess: ({ status }) => status,
          onFailure: () => 0
        }
      )
      assert.strictEqual(yield* Effect.repeat(answered, { until: (status) => status === 200 }), 200)
    })
  )

  it.effect("fill the limit, until one has its response", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const begun = yield* Queue.unbounded<void>()
      const verify = () =>
        Effect.andThen(Queue.offer(begun, undefined), Effect.as(Deferred.await(gate), { payer: TestFacilitator.payer }))
      const { port, post } = yield* start({ verify }, { maximumConnections: 3 })
      const asking = yield* Effect.forEach(Array.from({ length: 3 }), () =>
        Effect.tap(Effect.forkChild(post("/verify", body)), Queue.take(begun))
      )
      const head = `GET /live HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`
      const refused = yield* connect(port, head)
      yield* allClosed([refused])
      assert.strictEqual(refused.heard(), "")
      yield* Deferred.succeed(gate, undefined)
      for (const one of asking) assert.strictEqual((yield* Fiber.join(one)).status, 200)
      const wire = yield* connect(port, head)
      yield* allClosed([wire])
      assert.match(wire.heard(), /^HTTP\/1.1 200 /)
    })
  )

  it.effect("are closed when the response is not read", () =>
    Effect.gen(function* () {
      const supported = Effect.succeed({
        kinds: Array.from({ length: 60_000 }, () => ({
          protocolVersion: 2 as const,
          scheme: "exact",
          network: TestFacilitator.network
        })),
        signers: {}
      })
      const { get, port } = yield* start({ supported })
      const wire = yield* connect(port)
      wire.socket.pause()
      wire.socket.write(`GET /supported HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`)
      assert.strictEqual((yield* get("/live")).status, 200)
      yield* TestClock.adjust(longestMillis.answering + 1000)
      wire.socket.resume()
      yield* Effect.promise(() => wire.closed)
    })
  )
})

describe("idle connections", () => {
  it.effect("are closed after their time", () =>
    Effect.gen(function* () {
      const { port } = yield* start({})
      const [wire] = yield* several(1, port, `GET /live HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`)
      if (wire === undefined) return yield* Effect.die("no connection")
      yield* Effect.repeat(
        Effect.promise(() => new Promise<void>((done) => setImmediate(done))),
        {
          until: () => wire.heard().includes('{"live":true}')
        }
      )
      yield* TestClock.adjust(longestMillis.idle + 1000)
      yield* Effect.promise(() => wire.closed)
    })
  )
})

/** An outsider's way to hold a connection: its first bytes, those after a response, and those that it repeats. */
interface Dribble {
  readonly first?: string
  readonly later?: string
  readonly drip?: string
}

const dribbles = (port: number): Readonly<Record<string, Dribble>> => {
  const host = `Host: localhost:${port}\r\n`
  const post = (path: string, more = "Content-Length: 9999\r\n") =>
    `POST ${path} HTTP/1.1\r\n${host}Content-Type: application/json\r\n${more}\r\n`
  const chunked = "Transfer-Encoding: chunked\r\n"
  const live = `GET /live HTTP/1.1\r\n${host}\r\n`
  const chunk = "1\r\n \r\n"
  return {
    "says nothing": {},
    "sends half a head": { first: "GET /live HT" },
    "dribbles a head": { first: "GET /live HTTP/1.1\r\nX: ", drip: "a" },
    "dribbles empty lines": { drip: "\r\n" },
    "sends no body": { first: post("/verify") },
    "dribbles a body": { first: post("/verify"), drip: " " },
    "dribbles a body in chunks": { first: post("/verify", chunked), drip: chunk },
    "waits to be told to go on": { first: post("/verify", "Content-Length: 99\r\nExpect: 100-continue\r\n") },
    "sends half a head after a response": { first: live, later: "GET /live HT" },
    "dribbles a head after a response": { first: live, later: "GET /live HTTP/1.1\r\nX: ", drip: "a" },
    "dribbles a body after a response": { first: live, later: post("/verify"), drip: " " },
    "sends half a head behind another request": { first: `${live}${live}GET /live HT` },
    "dribbles the body of what was answered": { first: post("/nowhere"), drip: " " },
    "dribbles chunks of what was answered": { first: post("/nowhere", chunked), drip: chunk },
    "dribbles the body of a GET": { first: `GET /live HTTP/1.1\r\n${host}Content-Length: 99\r\n\r\n`, drip: " " }
  }
}

describe("a request that does not arrive", () => {
  it.live("ends its connection at the set time, however slowly it sends; one in time gets its response", () =>
    Effect.gen(function* () {
      const { get, port } = yield* start({}, { requestTimeoutMillis: 400 })
      yield* Effect.forEach(
        Object.entries(dribbles(port)),
        Effect.fnUntraced(function* ([name, { drip, first, later }]) {
          const { closed, heard, socket } = yield* connect(port, first)
          if (later !== undefined) {
            // A slow machine may cut the connection before it has answered.
            const isOver = () => socket.closed || heard().includes("HTTP/1.1 200")
            yield* Effect.repeat(Effect.sleep("5 millis"), { until: isOver })
            socket.write(later)
          }
          const dribbling = Effect.forever(
            Effect.andThen(
              Effect.sleep("20 millis"),
              Effect.sync(() => drip !== undefined && socket.writable && socket.write(drip))
            )
          )
          yield* Effect.raceFirst(
            Effect.promise(() => closed),
            dribbling
          )
          assert.notInclude(heard().slice(1), "HTTP/1.1 500", name)
        }),
        { concurrency: "unbounded" }
      )
      // A machine that stands still for 400 ms may cut this one too: then it is sent again.
      yield* Effect.repeat(Effect.exit(get("/live")), {
        until: (end) => Exit.isSuccess(end) && end.value.status === 200
      })
    })
  )
})
