import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as TronHttp from "../../src/node/TronHttp.ts"
import * as TronRpc from "../../src/node/TronRpc.ts"
import * as TronAddress from "../../src/primitives/TronAddress.ts"
import * as ScriptedNode from "../ScriptedNode.ts"

const account = TronAddress.fromTail("7e5f4552091a69125d5dfcb7b8c2659029395bdf")
const token = TronAddress.fromTail("a614f803b6fd780986a42c78ec9c7f77e6ded13c")
const id = "73ce52d37ab1f5af2b2829343e1b15265d30f5a42f0193728ed624528686fff2"
const hex = (text: string) => Buffer.from(text).toString("hex")

const keys = (address: string, weight?: number) => [{ address, ...(weight !== undefined && { weight }) }]

const rpcOf = Effect.fnUntraced(function* (
  respond: ScriptedNode.Respond,
  options: Partial<TronHttp.Options> = {},
  path = ""
) {
  const { url } = yield* ScriptedNode.make(respond)
  return yield* TronRpc.make({ url: `${url}${path}`, network: "tron:local", ...options })
})

const responding = (json: unknown) => rpcOf(ScriptedNode.always(json))

type RpcCall = (rpc: TronRpc.TronRpc) => Effect.Effect<unknown, { readonly _tag: string; readonly message: string }>

/** Every request. */
const calls: Readonly<Record<string, RpcCall>> = {
  block: (rpc) => rpc.block(7n),
  head: (rpc) => rpc.head,
  solid: (rpc) => rpc.solid,
  account: (rpc) => rpc.account(account),
  resources: (rpc) => rpc.resources(account),
  isKnown: (rpc) => rpc.isKnown(id),
  isIncluded: (rpc) => rpc.isIncluded(id),
  receipt: (rpc) => rpc.receipt(id, "included"),
  solidReceipt: (rpc) => rpc.receipt(id, "solidified"),
  call: (rpc) => rpc.call(account, token, "313ce567"),
  prices: (rpc) => rpc.prices,
  broadcast: (rpc) => rpc.broadcast(id, "0a"),
  lendable: (rpc) => rpc.lendable(account),
  delegated: (rpc) => rpc.delegated(account, token),
  receivers: (rpc) => rpc.receivers(account)
}

const tagOf = (call: ReturnType<RpcCall>) => Effect.map(Effect.flip(call), ({ _tag }) => _tag)

/** Invalid responses to every request. */
const invalidResponses: Readonly<Record<string, ScriptedNode.Respond>> = {
  "an error with HTTP 200": ScriptedNode.always({ Error: "class java.lang.NullPointerException : null" }),
  "HTTP 503": (response) => void response.writeHead(503).end("{}"),
  "HTTP 429": (response) => void response.writeHead(429).end("{}"),
  "a redirect": (response) => void response.writeHead(307, { location: "http://127.0.0.1:1/" }).end(),
  "a page": (response) => void response.end("<html></html>"),
  nothing: (response) => void response.end(),
  "a broken connection": (response) => void response.destroy(),
  "half a response": (response) => void response.end('{"blockID":"00'),
  "bytes that are not text": (response) => void response.end(Buffer.from([0x7b, 0xff, 0x7d])),
  null: ScriptedNode.always(null),
  "a list": ScriptedNode.always([[]]),
  "a number": ScriptedNode.always(1),
  "a response that is too long": (response) => void response.end(`{"a":"${"x".repeat(TronHttp.maximumBytes)}"}`)
}

describe("TronRpc", () => {
  for (const [name, respond] of Object.entries(invalidResponses)) {
    it.effect(`rejects ${name} as a response to any request`, () =>
      Effect.gen(function* () {
        const rpc = yield* rpcOf(respond)
        for (const [call, ask] of Object.entries(calls)) {
          assert.strictEqual(yield* tagOf(ask(rpc)), "ChainUnavailable", call)
        }
      })
    )
  }

  it.effect("waits for a response until its timeout", () =>
    Effect.gen(function* () {
      const rpc = yield* rpcOf(() => undefined, { timeout: "3 seconds" })
      const call = yield* Effect.forkChild(Effect.flip(rpc.head))
      yield* TestClock.adjust("3 seconds")
      const { message } = yield* Fiber.join(call)
      assert.match(message, /did not respond within 3s/)
    })
  )

  it.effect("sends requests below its URL's path, with its key and headers, and shows neither in messages", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const key = "0123456789abcdef"
      const rpc = yield* rpcOf(
        (response, { path }, { headers, url }) => {
          seen.push(path, headers["tron-pro-api-key"], url?.includes("?key=") === true)
          response.end(JSON.stringify({ Error: `no such node ${key} in-header-secret` }))
        },
        { headers: { "TRON-PRO-API-KEY": "in-header-secret" } },
        `/${key}/?key=${key}`
      )
      const { message } = yield* Effect.flip(rpc.head)
      assert.deepStrictEqual(seen, [`${key}/wallet/getblock`, "in-header-secret", true])
      assert.notInclude(message, key)
      assert.notInclude(message, "in-header-secret")
    })
  )

  it.effect("hides its key in all texts of a node that enter a message or a record", () =>
    Effect.gen(function* () {
      const key = "0123456789abcdef"
      const words = `${key} ${"x".repeat(10_000)}`
      const through = (json: unknown) => rpcOf(ScriptedNode.always(json), {}, `/${key}`)
      const sent = yield* (yield* through({ result: false, code: words, message: words })).broadcast(id, "0a")
      const failing = { result: { result: true, message: hex(words) }, transaction: { ret: [{ ret: "FAILED" }] } }
      const called = yield* (yield* through(failing)).call(account, token, "00")
      const none = { result: { result: false, message: hex(`No contract or not a smart contract ${words}`) } }
      const absent = yield* (yield* through(none)).call(account, token, "00")
      const included = { id, blockNumber: 9, resMessage: hex(words), receipt: { result: "REVERT" } }
      const receipt = yield* (yield* through(included)).receipt(id, "included")
      const odd = (yield* Effect.flip((yield* through({ id: 1, txID: [words] })).isKnown(id))).message
      assert.deepStrictEqual(
        [called, absent].map(({ _tag }) => _tag),
        ["Failed", "NoContract"]
      )
      const shown = [sent.code, sent.message, called, absent, receipt?.message, odd]
      for (const one of shown.map((value) => (typeof value === "string" ? value : JSON.stringify(value)))) {
        assert.notInclude(one, key)
        assert.isBelow((one ?? "").length, 1_000)
      }
    })
  )

  it.effect("refuses a URL that is not one of HTTP", () =>
    Effect.gen(function* () {
      for (const url of ["", "node", "ws://node", "file:///node"]) {
        const error = yield* Effect.flip(TronRpc.make({ url, network: "tron:local" }))
        assert.strictEqual(error._tag, "Misconfigured")
        if (url !== "") assert.notInclude(error.message, url)
      }
    })
  )

  it.effect("reads blocks, the first one too, and rejects one with another block's id", () =>
    Effect.gen(function* () {
      const first = yield* responding(ScriptedNode.block(0, undefined, 0))
      assert.deepStrictEqual((yield* first.block(0n))?.number, 0n)
      const seventh = yield* responding(ScriptedNode.block(7))
      assert.deepStrictEqual(yield* seventh.head, {
        number: 7n,
        id: ScriptedNode.block(7).blockID,
        time: 1_795_244_340_000n
      })
      assert.isUndefined(yield* (yield* responding({})).block(7n))
      assert.strictEqual(yield* tagOf(seventh.block(8n)), "ChainUnavailable")
      const mixed = { ...ScriptedNode.block(7), blockID: ScriptedNode.block(8).blockID }
      assert.strictEqual(yield* tagOf((yield* responding(mixed)).head), "ChainUnavailable")
      assert.strictEqual(yield* tagOf((yield* responding({})).solid), "ChainUnavailable")
    })
  )

  it.effect("reads accounts: none, one that owns itself, one with another owner", () =>
    Effect.gen(function* () {
      const of = (json: unknown) => Effect.flatMap(responding(json), (rpc) => rpc.account(account))
      assert.isUndefined(yield* of({}))
      assert.deepStrictEqual(yield* of({ address: account }), { balance: 0n, ownsItself: true })
      const permitted = (threshold: number, who: ReturnType<typeof keys>) =>
        of({ address: account, balance: 5, owner_permission: { threshold, keys: who } })
      assert.deepStrictEqual(yield* permitted(1, keys(account, 1)), { balance: 5n, ownsItself: true })
      assert.deepStrictEqual(yield* permitted(2, keys(account, 1)), { balance: 5n, ownsItself: false })
      assert.deepStrictEqual(yield* permitted(1, keys(token, 1)), { balance: 5n, ownsItself: false })
      assert.deepStrictEqual(yield* permitted(1, keys(account)), { balance: 5n, ownsItself: false })
      assert.deepStrictEqual(yield* permitted(1, []), { balance: 5n, ownsItself: false })
      const other = yield* responding({ address: token })
      assert.strictEqual(yield* tagOf(other.account(account)), "ChainUnavailable")
    })
  )

  it.effect("computes the resources left, never below zero", () =>
    Effect.gen(function* () {
      const json = {
        freeNetLimit: 600,
        freeNetUsed: 281,
        NetLimit: 5,
        NetUsed: 6,
        EnergyLimit: 100,
        TotalEnergyLimit: 9
      }
      assert.deepStrictEqual(yield* (yield* responding(json)).resources(account), {
        energy: 100n,
        energyUsed: 0n,
        freeBandwidth: 319n,
        stakedBandwidth: 0n,
        totalEnergyLimit: 9n,
        totalEnergyWeight: 0n
      })
      assert.strictEqual((yield* (yield* responding({})).resources(account)).energy, 0n)
      assert.strictEqual(yield* tagOf((yield* responding({ EnergyLimit: 1.5 })).resources(account)), "ChainUnavailable")
      assert.strictEqual(yield* tagOf((yield* responding({ EnergyLimit: "9" })).resources(account)), "ChainUnavailable")
    })
  )

  it.effect("distinguishes a call that returned, one that failed and one without a contract", () =>
    Effect.gen(function* () {
      const of = (json: unknown) => Effect.flatMap(responding(json), (rpc) => rpc.call(account, token, "313ce567"))
      const result = { result: true }
      const log = { address: token.slice(2), topics: ["AB".repeat(32)], data: "0F" }
      assert.deepStrictEqual(
        yield* of({ result, energy_used: 9, constant_result: ["0A"], logs: [log], transaction: { ret: [{}] } }),
        {
          _tag: "Returned",
          data: "0a",
          energy: 9n,
          logs: [{ address: token, topics: ["ab".repeat(32)], data: "0f" }]
        }
      )
      const failed = yield* of({
        result: { result: true, message: hex("REVERT opcode executed") },
        transaction: { ret: [{ ret: "FAILED" }] }
      })
      assert.deepStrictEqual(failed, { _tag: "Failed", message: "REVERT opcode executed" })
      const absent = yield* of({
        result: { code: "CONTRACT_VALIDATE_ERROR", message: hex("Smart contract is not exist.") }
      })
      assert.strictEqual(absent._tag, "NoContract")
      for (const refusal of [
        { code: "OTHER_ERROR", message: hex("java.lang.NullPointerException") },
        { code: "CONTRACT_VALIDATE_ERROR", message: hex("this node does not support constant") },
        { code: "SERVER_BUSY" },
        {}
      ]) {
        const rpc = yield* responding({ result: refusal })
        assert.strictEqual(yield* tagOf(rpc.call(account, token, "")), "ChainUnavailable", JSON.stringify(refusal))
      }
    })
  )

  it.effect("reads receipts, and rejects one without a known result", () =>
    Effect.gen(function* () {
      const of = (json: unknown) => Effect.flatMap(responding(json), (rpc) => rpc.receipt(id, "included"))
      assert.isUndefined(yield* of({}))
      assert.deepStrictEqual(yield* of({ id, blockNumber: 9, receipt: { result: "SUCCESS" } }), {
        block: 9n,
        result: "SUCCESS",
        logs: [],
        message: ""
      })
      const out = yield* of({ id, blockNumber: 9, receipt: { result: "OUT_OF_ENERGY" }, resMessage: hex("Not enough") })
      assert.deepStrictEqual([out?.result, out?.message], ["OUT_OF_ENERGY", "Not enough"])
      for (const json of [
        { id: "00".repeat(32), receipt: { result: "SUCCESS" } },
        { id, blockNumber: 9 },
        { id, blockNumber: 9, receipt: {} },
        { id, blockNumber: 9, receipt: { result: "DEFAULT" } },
        { id, blockNumber: 9, receipt: { result: "FINE" } }
      ]) {
        const rpc = yield* responding(json)
        assert.strictEqual(yield* tagOf(rpc.receipt(id, "included")), "ChainUnavailable", JSON.stringify(json))
      }
    })
  )

  it.effect("requests solidified receipts from the solidified state", () =>
    Effect.gen(function* () {
      const paths: Array<string> = []
      const rpc = yield* rpcOf((response, { path }) => {
        paths.push(path)
        response.end("{}")
      })
      yield* rpc.receipt(id, "included")
      yield* rpc.receipt(id, "solidified")
      assert.deepStrictEqual(paths, ["wallet/gettransactioninfobyid", "walletsolidity/gettransactioninfobyid"])
    })
  )

  it.effect("recognises a transaction by its id alone", () =>
    Effect.gen(function* () {
      const of = (json: unknown) => Effect.flatMap(responding(json), (rpc) => rpc.isKnown(id))
      assert.isFalse(yield* of({}))
      assert.isTrue(yield* of({ txID: id, raw_data: {} }))
      const other = yield* responding({ txID: "00".repeat(32) })
      assert.strictEqual(yield* tagOf(other.isKnown(id)), "ChainUnavailable")
    })
  )

  it.effect("recognises an included transaction of any kind", () =>
    Effect.gen(function* () {
      const of = (json: unknown) => Effect.flatMap(responding(json), (rpc) => rpc.isIncluded(id))
      assert.isFalse(yield* of({}))
      assert.isTrue(yield* of({ id, blockNumber: 9, receipt: { net_usage: 279 } }))
      const other = yield* responding({ id: "00".repeat(32) })
      assert.strictEqual(yield* tagOf(other.isIncluded(id)), "ChainUnavailable")
    })
  )

  it.effect("reads prices, and rejects parameters without them", () =>
    Effect.gen(function* () {
      const both = [
        { key: "getEnergyFee", value: 100 },
        { key: "getTransactionFee", value: 1000 },
        { key: "getAllowMultiSign" },
        { key: "getOther", value: "text" }
      ]
      assert.deepStrictEqual(yield* (yield* responding({ chainParameter: both })).prices, {
        energy: 100n,
        bandwidth: 1000n
      })
      for (const missing of [both.slice(1), both.slice(0, 1), [], [{ key: "getEnergyFee" }, ...both.slice(1)]]) {
        assert.strictEqual(yield* tagOf((yield* responding({ chainParameter: missing })).prices), "ChainUnavailable")
      }
    })
  )

  it.effect("reads the response to a broadcast, and takes no empty one for success", () =>
    Effect.gen(function* () {
      const of = (json: unknown) => Effect.flatMap(responding(json), (rpc) => rpc.broadcast(id, "0a"))
      assert.deepStrictEqual(yield* of({ result: true, code: "SUCCESS", txid: id }), { code: "SUCCESS", message: "" })
      assert.deepStrictEqual(yield* of({ result: false, code: "SIGERROR", txid: id, message: "no" }), {
        code: "SIGERROR",
        message: "no"
      })
      for (const json of [{}, { result: false }, { code: "SUCCESS" }, { result: true, txid: "00".repeat(32) }]) {
        const rpc = yield* responding(json)
        assert.strictEqual(yield* tagOf(rpc.broadcast(id, "0a")), "ChainUnavailable", JSON.stringify(json))
      }
    })
  )
})
