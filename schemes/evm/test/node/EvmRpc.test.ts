import { gzipSync } from "node:zlib"

import { assert, describe, it } from "@effect/vitest"
import { HttpOrigin } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import type * as EvmJsonRpc from "../../src/node/EvmJsonRpc.ts"
import * as EvmRpc from "../../src/node/EvmRpc.ts"
import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as HostileNode from "../HostileNode.ts"

const network = "eip155:31337"

const connect = Effect.fnUntraced(function* (handler: HostileNode.Handler, options?: Partial<EvmJsonRpc.Options>) {
  const { url } = yield* HostileNode.make(handler)
  return yield* EvmRpc.make({ url, network, ...options })
})

const unavailable = Effect.fnUntraced(function* (handler: HostileNode.Handler, options?: Partial<EvmJsonRpc.Options>) {
  const rpc = yield* connect(handler, options)
  const error = yield* Effect.flip(rpc.blockNumber)
  assert.strictEqual(error._tag, "ChainUnavailable")
  assert.strictEqual(error.network, network)
  return error.message
})

const big = "0".repeat(1_100_000)
const bomb = gzipSync(big.repeat(20))
const hash = `0x${"ab".repeat(32)}` as const
const call = { to: EvmAddress.zero, data: "0x" } as const

const ways: ReadonlyArray<readonly [string, Partial<EvmJsonRpc.Options>]> = [
  ["over the platform's client", {}],
  ["over a fetch", { fetch: globalThis.fetch }]
]

describe.each(ways)("EvmRpc, %s, against a node that misbehaves", (_, way) => {
  it.effect.each<readonly [string, RegExp, HostileNode.Handler]>([
    ["HTML", /not JSON/, (response) => void response.end("<html>It works!</html>")],
    ["nothing", /not JSON/, (response) => void response.end()],
    ["half of JSON", /not JSON/, (response) => void response.end('{"jsonrpc":"2.0","id":1,"res')],
    ["HTTP 502", /HTTP 502/, (response) => void response.writeHead(502).end("<html>Bad gateway</html>")],
    ["HTTP 429", /HTTP 429/, (response) => void response.writeHead(429).end("{}")],
    ["HTTP 204", /not JSON/, (response) => void response.writeHead(204).end()],
    [
      "another id",
      /another request/,
      (r, { id }) => void r.end(JSON.stringify({ jsonrpc: "2.0", id: id + 1, result: "0x1" }))
    ],
    [
      "its id as text",
      /not JSON-RPC/,
      (r, { id }) => void r.end(JSON.stringify({ jsonrpc: "2.0", id: `${id}`, result: "0x1" }))
    ],
    [
      "another protocol",
      /not JSON-RPC/,
      (r, { id }) => void r.end(JSON.stringify({ jsonrpc: "1.0", id, result: "0x1" }))
    ],
    ["a batch", /not JSON-RPC/, (r, { id }) => void r.end(JSON.stringify([{ jsonrpc: "2.0", id, result: "0x1" }]))],
    ["neither result nor error", /neither/, (r, { id }) => void r.end(JSON.stringify({ jsonrpc: "2.0", id }))],
    ["an error without a message", /not JSON-RPC/, HostileNode.error({ code: 1 })],
    ["a refusal", /refused eth_blockNumber: no \(-32000\)/, HostileNode.error({ code: -32_000, message: "no" })],
    ["a number", /something else/, HostileNode.result(1)],
    ["null", /something else/, HostileNode.result(null)],
    ["a decimal", /something else/, HostileNode.result("12")],
    [
      "deep nesting",
      /something else/,
      (r, { id }) => void r.end(`{"jsonrpc":"2.0","id":${id},"result":${"[".repeat(5e5)}${"]".repeat(5e5)}}`)
    ],
    ["a reset", /could not be reached/, (response) => void response.socket?.destroy()],
    [
      "a body that breaks off",
      /could not be reached/,
      (response) => {
        response.writeHead(200, { "content-length": "100" }).write("{")
        setImmediate(() => response.socket?.destroy())
      }
    ],
    ["a big body of known length", /more than 1048576 bytes/, HostileNode.result(big)],
    [
      "a big body in pieces",
      /more than 1048576 bytes/,
      (response) => {
        response.write(big)
        response.end(big)
      }
    ],
    [
      "a compressed bomb",
      // Our own client asks for nothing compressed, and so takes no such response.
      /more than 1048576 bytes|not UTF-8/,
      (response) =>
        void response.writeHead(200, { "content-encoding": "gzip", "content-length": bomb.length }).end(bomb)
    ]
  ])("is unavailable when it answers %s", ([, expected, handler]) =>
    Effect.map(unavailable(handler, way), (message) => assert.match(message, expected))
  )

  it.effect("is unavailable when it redirects, and does not follow", () =>
    Effect.gen(function* () {
      const reached: Array<string> = []
      const other = yield* HostileNode.make((response, request) => {
        reached.push(request.method)
        return HostileNode.result("0x1")(response, request, response.req)
      })
      for (const status of [301, 302, 303, 307, 308]) {
        const handler: HostileNode.Handler = (response) =>
          void response.writeHead(status, { location: other.url }).end()
        assert.match(yield* unavailable(handler, way), /could not be reached/)
      }
      assert.deepStrictEqual(reached, [])
    })
  )

  it.effect.each<readonly [string, HostileNode.Handler]>([
    ["never answers", (): void => undefined],
    ["never ends its response", (response) => void response.write('{"jsonrpc"')]
  ])("is unavailable in time when it %s", ([, handler]) =>
    Effect.gen(function* () {
      const arrived = Promise.withResolvers<void>()
      const closed = Promise.withResolvers<void>()
      const rpc = yield* connect(
        (response, request, incoming) => {
          incoming.socket.on("close", () => closed.resolve())
          const responded = handler(response, request, incoming)
          arrived.resolve()
          return responded
        },
        { ...way, timeout: "3 seconds" }
      )
      const fiber = yield* Effect.forkChild(Effect.flip(rpc.blockNumber))
      yield* Effect.promise(() => arrived.promise)
      yield* TestClock.adjust("3 seconds")
      const error = yield* Fiber.join(fiber)
      assert.match(error.message, /did not respond within 3s/)
      yield* Effect.promise(() => closed.promise)
    })
  )
})

describe("EvmRpc against a node that misbehaves", () => {
  it.effect("does not fill our messages with its own", () =>
    Effect.gen(function* () {
      const words = "x".repeat(100_000)
      assert.isBelow((yield* unavailable(HostileNode.error({ code: -32_000, message: words }))).length, 1_000)
      const rpc = yield* connect(HostileNode.error({ code: -32_000, message: words }))
      const outcome = yield* rpc.sendRawTransaction("0x")
      assert.strictEqual(outcome._tag, "Rejected")
      assert.isBelow(JSON.stringify(outcome).length, 1_000)
    })
  )

  it.effect("is unavailable when no server listens", () =>
    Effect.gen(function* () {
      const { close, url } = yield* HostileNode.make(HostileNode.result("0x1"))
      close()
      const rpc = yield* EvmRpc.make({ url, network })
      assert.match((yield* Effect.flip(rpc.blockNumber)).message, /could not be reached/)
    })
  )

  it.effect("refuses what is not an HTTP URL, and never shows the URL", () =>
    Effect.gen(function* () {
      for (const url of ["", "secret", "ftp://secret/", "file:///secret", "ws://secret/"]) {
        const error = yield* Effect.flip(EvmRpc.make({ url, network }))
        assert.strictEqual(error._tag, "Misconfigured")
        assert.notInclude(error.message, "secret")
      }
      const rpc = yield* EvmRpc.make({ url: "http://secret:secret@127.0.0.1:1/secret", network })
      assert.notInclude((yield* Effect.flip(rpc.blockNumber)).message, "secret")
    })
  )

  it.effect("hides the keys of its URL and headers wherever the node repeats them", () =>
    Effect.gen(function* () {
      const key = "0123456789abcdef"
      const words = `no ${key} for 5ecret`
      const headers = { "x-api-key": "5ecret" }
      const through = Effect.fnUntraced(function* (handler: HostileNode.Handler) {
        const { url } = yield* HostileNode.make(handler)
        return yield* EvmRpc.make({ url: `${url}${key}`, network, headers })
      })
      const refusing = yield* through(HostileNode.error({ code: -32_000, message: words }))
      const refused = (yield* Effect.flip(refusing.blockNumber)).message
      const sent = JSON.stringify(yield* refusing.sendRawTransaction("0x00"))
      const odd = (yield* Effect.flip((yield* through(HostileNode.result(words))).blockNumber)).message
      const none = yield* through((response) => void response.end(JSON.stringify({ jsonrpc: words })))
      for (const shown of [refused, sent, odd, (yield* Effect.flip(none.blockNumber)).message]) {
        assert.notInclude(shown, key)
        assert.notInclude(shown, "5ecret")
      }
      assert.include(refused, "no <hidden> for <hidden> (-32000)")
    })
  )

  it.effect("recognises an error whose message holds a value of its URL", () =>
    Effect.gen(function* () {
      const { url } = yield* HostileNode.make(
        HostileNode.error({ code: -32_000, message: "max fee per gas less than block base fee" })
      )
      const rpc = yield* EvmRpc.make({ url: `${url}?chain=base`, network })
      assert.deepStrictEqual(yield* rpc.sendRawTransaction("0x00"), {
        _tag: "Underpriced",
        message: "max fee per gas less than block <hidden> fee"
      })
    })
  )

  it.effect("sends a URL's user and password, and headers of its own", () =>
    Effect.gen(function* () {
      const { url } = yield* HostileNode.make((response, request, incoming) => {
        assert.strictEqual(incoming.headers.authorization, `Basic ${btoa("us er:pass")}`)
        assert.strictEqual(incoming.headers["x-key"], "value")
        return HostileNode.result("0x1")(response, request, incoming)
      })
      const withUser = url.replace("http://", "http://us%20er:pass@")
      const rpc = yield* EvmRpc.make({ url: withUser, network, headers: { "x-key": "value" } })
      assert.strictEqual(yield* rpc.blockNumber, 1n)
    })
  )

  it.effect("asks over the way to servers that it is provided with, unless it is given a fetch", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const originOf = (origin: string): HttpOrigin.HttpOrigin => ({
        send: ({ body = "", path }) =>
          Effect.sync(() => {
            asked.push(origin + path)
            const { id }: { readonly id: number } = JSON.parse(body)
            const text = JSON.stringify({ jsonrpc: "2.0", id, result: "0x7" })
            return { status: 200, contentType: "application/json", body: { _tag: "Read", text } }
          })
      })
      const rpc = yield* Effect.provideService(
        EvmRpc.make({ url: "http://node.example/key", network }),
        HttpOrigin.HttpOrigins,
        originOf
      )
      assert.strictEqual(yield* rpc.blockNumber, 7n)
      const { url } = yield* HostileNode.make(HostileNode.result("0x8"))
      const fetching = EvmRpc.make({ url, network, fetch: globalThis.fetch })
      const other = yield* Effect.provideService(fetching, HttpOrigin.HttpOrigins, originOf)
      assert.strictEqual(yield* other.blockNumber, 8n)
      assert.deepStrictEqual(asked, ["http://node.example/key"])
    })
  )

  it.effect("tells of every request it sends", () =>
    Effect.gen(function* () {
      const methods: Array<string> = []
      const rpc = yield* connect(HostileNode.result("0x1"), { onRequest: (method) => void methods.push(method) })
      yield* rpc.chainId
      yield* rpc.chainId
      yield* rpc.getBalance(EvmAddress.zero)
      assert.deepStrictEqual(methods, ["eth_chainId", "eth_chainId", "eth_getBalance"])
    })
  )

  it.effect("keeps amounts exact and counts within what a number holds", () =>
    Effect.gen(function* () {
      const large = yield* connect(HostileNode.result(`0x${"f".repeat(64)}`))
      assert.strictEqual(yield* large.getBalance(EvmAddress.zero), 2n ** 256n - 1n)
      assert.strictEqual((yield* Effect.flip(large.chainId))._tag, "ChainUnavailable")
      const beyond = yield* connect(HostileNode.result("0x20000000000000"))
      assert.strictEqual(
        (yield* Effect.flip(beyond.getTransactionCount(EvmAddress.zero, "latest")))._tag,
        "ChainUnavailable"
      )
    })
  )

  it.effect.each<readonly [unknown, unknown]>([
    [
      { code: 3, message: "execution reverted: no", data: "0xAB" },
      { data: "0xab", message: "execution reverted: no" }
    ],
    [
      { code: 3, message: "no" },
      { data: "0x", message: "no" }
    ],
    [
      { code: 3, message: "execution reverted" },
      { data: "0x", message: "execution reverted" }
    ],
    [
      { code: -32_000, message: "execution reverted" },
      { data: "0x", message: "execution reverted" }
    ],
    [
      { code: -32_015, message: "VM execution error.", data: "Reverted 0x" },
      { data: "0x", message: "VM execution error." }
    ],
    [
      { code: -32_000, message: "out of gas" },
      { data: "0x", message: "out of gas" }
    ],
    [
      { code: -32_603, message: "EVM error InvalidFEOpcode" },
      { data: "0x", message: "EVM error InvalidFEOpcode" }
    ]
  ])("reads the refusal %j of a call as a revert", ([refusal, expected]) =>
    Effect.gen(function* () {
      const rpc = yield* connect(HostileNode.error(refusal))
      assert.deepStrictEqual<unknown>(yield* rpc.call(call), { _tag: "Reverted", ...(expected as object) })
    })
  )

  it.effect.each([
    { code: -32_005, message: "limit exceeded" },
    { code: -32_601, message: "the method eth_call does not exist" },
    { code: -32_000, message: "header not found" },
    { code: -32_603, message: "internal error" }
  ])("reads the refusal %j of a call as unavailability", (refusal) =>
    Effect.gen(function* () {
      const rpc = yield* connect(HostileNode.error(refusal))
      assert.strictEqual((yield* Effect.flip(rpc.call(call)))._tag, "ChainUnavailable")
    })
  )

  it.effect.each([
    ["already known", "AlreadyKnown"],
    ["AlreadyKnown", "AlreadyKnown"],
    ["transaction already imported", "AlreadyKnown"],
    ["Known transaction", "AlreadyKnown"],
    ["nonce too low: next nonce 5, tx nonce 4", "NonceTooLow"],
    ["OldNonce", "NonceTooLow"],
    ["replacement transaction underpriced", "Underpriced"],
    ["max fee per gas less than block base fee", "Underpriced"],
    ["FeeTooLow", "Underpriced"],
    ["insufficient funds for gas * price + value", "InsufficientFunds"],
    ["Upfront cost exceeds account balance", "InsufficientFunds"],
    ["exceeds block gas limit", "Rejected"],
    ["invalid chain id for signer", "Rejected"]
  ] as const)("reads %s to a signed transaction as %s", ([message, tag]) =>
    Effect.gen(function* () {
      const rpc = yield* connect(HostileNode.error({ code: -32_000, message }))
      assert.deepStrictEqual(yield* rpc.sendRawTransaction("0x00"), { _tag: tag, message })
    })
  )

  it.effect("has no verdict on a transaction from a node that is busy", () =>
    Effect.gen(function* () {
      for (const refusal of [
        { code: -32_005, message: "daily request count exceeded" },
        { code: -32_603, message: "internal error" },
        { code: -32_000, message: "request timed out" }
      ]) {
        const rpc = yield* connect(HostileNode.error(refusal))
        assert.strictEqual((yield* Effect.flip(rpc.sendRawTransaction("0x00")))._tag, "ChainUnavailable")
      }
    })
  )

  it.effect("takes a receipt only for what was asked, and only from a block", () =>
    Effect.gen(function* () {
      const mined = {
        transactionHash: hash,
        status: "0x1",
        blockNumber: "0x1",
        blockHash: hash,
        gasUsed: "0x5208",
        logs: []
      }
      const get = (receipt: unknown, asked: `0x${string}` = hash) =>
        Effect.flatMap(connect(HostileNode.result(receipt)), (rpc) => rpc.getTransactionReceipt(asked))
      assert.strictEqual((yield* get(mined))?.status, "success")
      assert.strictEqual((yield* get({ ...mined, status: "0x0" }))?.status, "reverted")
      assert.isUndefined(yield* get(null))
      assert.isUndefined(yield* get({ ...mined, blockHash: null, blockNumber: null }))
      for (const wrong of [
        { ...mined, status: "0x2" },
        { ...mined, status: undefined },
        { ...mined, logs: {} },
        {},
        [],
        ""
      ]) {
        assert.strictEqual((yield* Effect.flip(get(wrong)))._tag, "ChainUnavailable")
      }
      assert.match((yield* Effect.flip(get(mined, `0x${"cd".repeat(32)}`))).message, /another transaction/)
    })
  )
})
