import { assert, describe, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"

import * as HttpOrigin from "../../../src/wire/http/HttpOrigin.ts"
import type { HttpRequest } from "../../../src/wire/http/HttpRequest.ts"
import * as NodeOrigin from "../../../src/wire/http/NodeOrigin.ts"
import * as LoopbackServer from "../LoopbackServer.ts"

const { answer, saying } = LoopbackServer

const call: HttpRequest = {
  method: "POST",
  path: "/rpc?key=1",
  headers: { "content-type": "application/json" },
  body: "{}",
  maximumBytes: 1_000,
  redirect: "error"
}

/** The result of one call to a server that replies so. */
const asking = Effect.fnUntraced(function* (reply: LoopbackServer.Reply, more: Partial<HttpRequest> = {}) {
  const server = yield* LoopbackServer.make(reply)
  const result = yield* Effect.result(NodeOrigin.at(server.origin).send({ ...call, ...more }))
  return { server, result }
})

const bodyOf = (...asked: Parameters<typeof asking>) =>
  Effect.map(asking(...asked), ({ result }) => Result.getOrThrow(result).body)

const codeOf = (result: Result.Result<unknown, unknown>): unknown => {
  const reason = Result.getOrThrow(Result.flip(result))
  return reason instanceof Error && "code" in reason ? reason.code : reason
}

describe("a question over Node's HTTP client", () => {
  it.effect("is what is sent on Node unless a fetch is given", () =>
    Effect.gen(function* () {
      const { origin, requests } = yield* LoopbackServer.make(saying(answer("[]")))
      yield* HttpOrigin.at(origin).send(call)
      yield* HttpOrigin.at(origin, globalThis.fetch).send(call)
      assert.match(requests[0] ?? "", /accept-encoding: identity/)
      assert.match(requests[1] ?? "", /sec-fetch-mode: cors/)
    })
  )

  it.effect("comes with its length, its headers and no wish for a compressed answer", () =>
    Effect.gen(function* () {
      const headers = { "X-Key": "a", accept: "application/json", "Accept-Encoding": "gzip", "content-length": "9" }
      const { result, server } = yield* asking(saying(answer("[]", "content-type: application/json")), { headers })
      assert.deepStrictEqual(Result.getOrThrow(result), {
        status: 200,
        contentType: "application/json",
        body: { _tag: "Read", text: "[]" }
      })
      const [head = "", body] = server.requests[0]?.split("\r\n\r\n") ?? []
      assert.strictEqual(body, "{}")
      assert.deepStrictEqual(head.split("\r\n").toSorted(), [
        "Connection: keep-alive",
        "POST /rpc?key=1 HTTP/1.1",
        "accept-encoding: identity",
        "accept: application/json",
        "content-length: 2",
        `host: 127.0.0.1:${server.port}`,
        "user-agent: node",
        "x-key: a"
      ])
    })
  )

  it.effect("has no body where there is none", () =>
    Effect.gen(function* () {
      const { body: _, ...asking } = { ...call, method: "GET" as const }
      const { origin, requests } = yield* LoopbackServer.make(saying(answer("[]")))
      yield* NodeOrigin.at(origin).send(asking)
      assert.notMatch(requests[0] ?? "", /content-length|transfer-encoding/i)
    })
  )

  it.effect("keeps a header's bytes and a body's apart", () =>
    Effect.gen(function* () {
      const { server } = yield* asking(saying(answer("")), { headers: { "x-key": "é" }, body: "é" })
      const [head = "", body] = server.requests[0]?.split("\r\n\r\n") ?? []
      assert.include(head, "x-key: é\r\n")
      assert.strictEqual(body, "Ã©")
    })
  )

  it.effect("fails for a header that HTTP does not allow, and does not show it", () =>
    Effect.gen(function* () {
      const { result, server } = yield* asking(saying(answer("")), { headers: { "x-key": "secret\r\nx: y" } })
      assert.notInclude(String(Result.getOrThrow(Result.flip(result))), "secret")
      assert.deepStrictEqual(server.requests, [])
    })
  )

  it.effect("reaches an IPv6 address", () =>
    Effect.gen(function* () {
      const { origin, requests } = yield* LoopbackServer.make(saying(answer("[]")), "::1")
      yield* NodeOrigin.at(origin).send(call)
      assert.include(requests[0], `host: ${new URL(origin).host}\r\n`)
    })
  )
})

const chunked = (...parts: ReadonlyArray<string>) =>
  [
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
    ...parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`)
  ].join("") + "0\r\n\r\n"

describe("a response over Node's HTTP client", () => {
  const limit = { maximumBytes: 10 }
  const ten = "0123456789"

  it.effect.each<readonly [string, string, string | undefined]>([
    ["as long as it may be", answer(ten), ten],
    ["empty", answer(""), ""],
    ["in pieces", chunked("01234", "56789"), ten],
    ["not UTF-8", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n\xff", undefined]
  ])("is read when it is %s", ([, sent, text]) =>
    Effect.gen(function* () {
      const body = yield* bodyOf(saying(Buffer.from(sent, "latin1")), limit)
      assert.deepStrictEqual(body, { _tag: "Read", text })
    })
  )

  it.effect("is read to the end of the connection where no length is declared", () =>
    Effect.gen(function* () {
      const body = yield* bodyOf((socket) => void socket.end(`HTTP/1.1 200 OK\r\n\r\n${ten}`), limit)
      assert.deepStrictEqual(body, { _tag: "Read", text: ten })
    })
  )

  it.effect.each<readonly [string, string]>([
    ["declared", answer(`${ten}0`)],
    ["in pieces", chunked(ten, "0")],
    ["without end", `HTTP/1.1 200 OK\r\n\r\n${ten}0`],
    ["declared as endless", `HTTP/1.1 200 OK\r\ncontent-length: 9000000000000\r\n\r\n${ten}0`]
  ])("is given up at the first byte too many, with its connection: %s", ([, sent]) =>
    Effect.gen(function* () {
      const { result, server } = yield* asking(saying(sent), limit)
      assert.deepStrictEqual(Result.getOrThrow(result).body, { _tag: "TooLong", maximumBytes: 10 })
      yield* closing(server, 0)
    })
  )

  it.effect.each<readonly [string, string]>([
    ["nothing", ""],
    ["half a head", "HTTP/1.1 200"],
    ["less than was declared", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n01"],
    ["half a piece", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n01"]
  ])("is none when the connection ends after %s", ([, sent]) =>
    Effect.gen(function* () {
      const { result } = yield* asking((socket) => void socket.end(sent))
      assert.strictEqual(codeOf(result), "ECONNRESET")
    })
  )

  it.effect.each<readonly [string, string]>([
    ["another protocol", "220 mail.example ESMTP\r\n"],
    ["a change of protocol", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"],
    ["longer than was declared", `HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n0123`],
    ["an endless head", `HTTP/1.1 200 OK\r\nx: ${"y".repeat(100_000)}`]
  ])("is none when it is %s", ([, sent]) =>
    Effect.gen(function* () {
      const { result } = yield* asking(saying(sent))
      assert.isTrue(Result.isFailure(result))
    })
  )

  it.effect.each([301, 302, 303, 307, 308])("with %d is a failure, or a response, and never followed", (status) =>
    Effect.gen(function* () {
      const other = yield* LoopbackServer.make(saying(answer("")))
      const redirect = `HTTP/1.1 ${status} Moved\r\nlocation: ${other.origin}\r\ncontent-length: 0\r\n\r\n`
      const failed = yield* asking(saying(redirect), { redirect: "error" })
      assert.match(String(Result.getOrThrow(Result.flip(failed.result))), /redirects are not followed/)
      const answered = yield* asking(saying(redirect), { redirect: "manual" })
      assert.strictEqual(Result.getOrThrow(answered.result).status, status)
      assert.deepStrictEqual(other.requests, [])
    })
  )
})

/** Until the server sees the nth connection closed. */
const closing = (server: LoopbackServer.LoopbackServer, nth: number) =>
  Effect.promise(
    () =>
      new Promise<void>((resolve) => {
        const socket = server.connections[nth]
        if (socket === undefined || socket.closed) resolve()
        else socket.once("close", () => resolve())
      })
  )

describe("a connection of Node's HTTP client", () => {
  it.effect("carries one question after the other", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.make(saying(answer("[]")))
      const origin = NodeOrigin.at(server.origin)
      yield* origin.send(call)
      yield* origin.send(call)
      yield* NodeOrigin.at(server.origin).send(call)
      assert.strictEqual(server.connections.length, 1)
    })
  )

  it.effect("is not used again when the server announces that it closes it soon", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.make(saying(answer("[]", "keep-alive: timeout=1")))
      yield* NodeOrigin.at(server.origin).send(call)
      yield* NodeOrigin.at(server.origin).send(call)
      assert.strictEqual(server.connections.length, 2)
    })
  )

  it.effect("that the server has closed in between costs no question", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.make(saying(answer("[]")))
      const origin = NodeOrigin.at(server.origin)
      yield* origin.send(call)
      server.connections[0]?.end()
      yield* closing(server, 0)
      yield* origin.send(call)
      assert.strictEqual(server.connections.length, 2)
      assert.strictEqual(server.requests.length, 2)
    })
  )

  it.effect("that ends after a second question has come is a failure, and the question is not asked again", () =>
    Effect.gen(function* () {
      const server = yield* LoopbackServer.make((socket, nth) =>
        nth === 0 ? void socket.write(answer("[]")) : socket.resetAndDestroy()
      )
      const origin = NodeOrigin.at(server.origin)
      yield* origin.send(call)
      assert.strictEqual(codeOf(yield* Effect.result(origin.send(call))), "ECONNRESET")
      assert.strictEqual(server.requests.length, 2)
      assert.strictEqual(server.connections.length, 1)
    })
  )

  it.effect.each<readonly [string, string]>([
    ["before the response", ""],
    ["in the response's body", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n01"]
  ])("is given up by an interruption %s", ([, sent]) =>
    Effect.gen(function* () {
      const asked = Promise.withResolvers<void>()
      const server = yield* LoopbackServer.make((socket) => void socket.write(sent, () => asked.resolve()))
      const fiber = yield* Effect.forkChild(NodeOrigin.at(server.origin).send(call))
      yield* Effect.promise(() => asked.promise)
      yield* Fiber.interrupt(fiber)
      yield* closing(server, 0)
    })
  )

  it.effect("fails with the code of what kept it from being made", () =>
    Effect.gen(function* () {
      const { origin } = yield* Effect.scoped(LoopbackServer.make(saying("")))
      assert.strictEqual(codeOf(yield* Effect.result(NodeOrigin.at(origin).send(call))), "ECONNREFUSED")
      const nowhere = NodeOrigin.at("http://nowhere.invalid")
      assert.include(["ENOTFOUND", "EAI_AGAIN"], codeOf(yield* Effect.result(nowhere.send(call))))
    })
  )

  it.effect("is waited for 10 seconds, its encryption included", () =>
    Effect.gen(function* () {
      yield* Effect.acquireRelease(
        Effect.sync(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })),
        () => Effect.sync(() => vi.useRealTimers())
      )
      const greeted = Promise.withResolvers<void>()
      const server = yield* LoopbackServer.make(() => undefined)
      const asked = yield* Effect.forkChild(
        Effect.result(NodeOrigin.at(server.origin.replace("http:", "https:")).send(call)),
        { startImmediately: true }
      )
      const wait = () => void (server.connections.length > 0 ? greeted.resolve() : setImmediate(wait))
      wait()
      yield* Effect.promise(() => greeted.promise)
      vi.advanceTimersByTime(9_999)
      assert.isFalse(server.connections[0]?.closed)
      vi.advanceTimersByTime(1)
      assert.strictEqual(codeOf(yield* Fiber.join(asked)), "ERR_SOCKET_CONNECTION_TIMEOUT")
    })
  )
})
