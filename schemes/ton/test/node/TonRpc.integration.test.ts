/** An untrusted node: every malformed response is `ChainUnavailable`, without exception. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

import { assert, describe, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { TonAddress, TonRpc } from "../../src/index.ts"
import { TonTestChain } from "../../src/testing/index.ts"
import * as Forgery from "../TonForgery.ts"

const account = Forgery.addressOf(`0:${"12".repeat(32)}`)

/** A node with any response. */
const node = (answer: (response: ServerResponse, request: IncomingMessage) => void) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<{ readonly url: string; readonly close: () => void }>((resolve) => {
          const server = createServer((request, response) => {
            request.resume().on("end", () => answer(response, request))
          })
          server.listen(0, "127.0.0.1", () => {
            const { port } = server.address() as AddressInfo
            const close = () => server.close().closeAllConnections()
            resolve({ url: `http://127.0.0.1:${port}/secret-customer-key/jsonRPC`, close })
          })
        })
    ),
    ({ close }) => Effect.sync(close)
  )

const json = (response: ServerResponse, body: unknown, status = 200) =>
  void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))

const rpcOf = (url: string, timeout = 5_000) => TonRpc.make({ url, network: "ton:local", timeout })

const blockId = {
  workchain: -1,
  shard: "-9223372036854775808",
  seqno: 5,
  root_hash: Buffer.alloc(32).toString("base64")
}
const good = {
  balance: "12",
  state: "uninitialized",
  code: "",
  data: "",
  last_transaction_id: { lt: "0", hash: "" },
  block_id: blockId,
  sync_utime: 7
}

describe("a request fails with ChainUnavailable where the node", () => {
  const answers: Readonly<Record<string, (response: ServerResponse) => void>> = {
    "breaks the connection": (response) => void response.destroy(),
    "answers a page": (response) => void response.end("<html>"),
    "answers nothing": (response) => void response.end(),
    "answers no UTF-8": (response) => void response.end(Buffer.from([0xff, 0xfe])),
    "answers a result without a word that it is one": (response) => json(response, { result: good }),
    "answers something else": (response) => json(response, { ok: true, result: [] }),
    "answers an account without a state": (response) => json(response, { ok: true, result: { ...good, state: "" } }),
    "answers an active account without code": (response) =>
      json(response, { ok: true, result: { ...good, state: "active" } }),
    "answers a negative balance": (response) => json(response, { ok: true, result: { ...good, balance: "-1" } }),
    "answers as of another chain's block": (response) =>
      json(response, { ok: true, result: { ...good, block_id: { ...blockId, workchain: 0 } } }),
    "wants a key": (response) => json(response, { ok: false, error: "API key does not exist", code: 401 }, 401),
    "is asked too often": (response) => json(response, { ok: false, error: "Ratelimit exceed", code: 429 }, 429),
    "is asked too often, and says so with status 200": (response) =>
      json(response, { ok: false, error: "Ratelimit exceed", code: 429 }),
    "refuses what an account is": (response) =>
      json(response, { ok: false, error: "LITE_SERVER_NOTREADY", code: 500 }, 500),
    "sends somewhere else": (response) => void response.writeHead(307, { location: "/elsewhere" }).end(),
    "goes on for ever": (response) => {
      response.writeHead(200)
      const write = (): void => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
        if (!response.destroyed) response.once("drain", write)
      }
      write()
    }
  }
  for (const [name, answer] of Object.entries(answers)) {
    it.live(`as it ${name}`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { url } = yield* node(answer)
          const rpc = yield* rpcOf(url)
          const error = yield* Effect.flip(rpc.account(account))
          assert.strictEqual(error._tag, "ChainUnavailable")
        })
      )
    )
  }

  it.live("does not respond in time", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { url } = yield* node(() => undefined)
        const error = yield* Effect.flip((yield* rpcOf(url, 50)).account(account))
        assert.match(error.message, /did not respond within/)
      })
    )
  )
})

describe("a node", () => {
  it.live("is believed in well-formed responses, each of one request", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { url } = yield* node((response) => json(response, { ok: true, result: good }))
        const asked: Array<string> = []
        const onRequest = (method: string) => void asked.push(method)
        const rpc = yield* TonRpc.make({ url, network: "ton:local", onRequest })
        const { balance, head, state } = yield* rpc.account(account)
        assert.deepStrictEqual({ balance, state }, { balance: 12n, state: "uninitialized" })
        assert.deepStrictEqual(head, { number: 5n, hash: blockId.root_hash, time: 7 })
        assert.deepStrictEqual(asked, ["getAddressInformation"])
      })
    )
  )

  it.live("may refuse a message, with a text without the node's address, and counts as available", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const words = "cannot apply external message, see /secret-customer-key/help"
        const { url } = yield* node((response) => json(response, { ok: false, error: words, code: 500 }, 500))
        const sending = yield* (yield* rpcOf(url)).send("te6c")
        assert.strictEqual(sending._tag, "Refused")
        assert.isTrue(sending._tag === "Refused" && !sending.message.includes("secret-customer-key"))
      })
    )
  )

  it.live("gets the credentials of its address and the key, and no message shows them", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const sent: Array<unknown> = []
        const { url } = yield* node((response, { headers }) => {
          sent.push(headers.authorization, headers["x-api-key"])
          json(response, { ok: false, error: "no 5ecret for me:pass, bWU6cGFzcw==", code: 500 }, 500)
        })
        const withUser = url.replace("//", "//me:pass@")
        const rpc = yield* TonRpc.make({ url: withUser, network: "ton:local", apiKey: "5ecret" })
        assert.deepStrictEqual(yield* rpc.send("te6c"), {
          _tag: "Refused",
          message: "no <hidden> for me:<hidden>, <hidden>"
        })
        assert.deepStrictEqual(sent, [`Basic ${btoa("me:pass")}`, "5ecret"])
      })
    )
  )

  it.live("may not know a block, which is a valid response", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { url } = yield* node((response) => json(response, { ok: false, error: "not in db", code: 500 }, 500))
        assert.isUndefined(yield* (yield* rpcOf(url)).block(7n))
      })
    )
  )

  for (const url of ["", "nowhere", "ftp://127.0.0.1/", "file:///etc/hosts"]) {
    it.effect(`is not at "${url}"`, () =>
      Effect.map(Effect.flip(rpcOf(url)), (error) => assert.strictEqual(error._tag, "Misconfigured"))
    )
  }
})

describe("transactions", () => {
  layer(TonTestChain.layer(), { excludeTestServices: true })((test) => {
    test.effect("are believed by their own bytes alone", () =>
      Effect.gen(function* () {
        const chain = yield* TonTestChain.TonTestChain
        yield* chain.send(chain.accounts.relayers[0])
        const relayer = TonAddress.fromText(chain.accounts.relayers[0].raw) ?? account
        const rpc = yield* rpcOf(chain.rpcUrl)
        const { last } = yield* rpc.account(relayer)
        const [transaction] = yield* rpc.transactions(relayer, last, 5)
        assert.strictEqual(transaction?.hash, last.hash)
        assert.strictEqual(transaction?.lt, last.lt)
        assert.isTrue(transaction?.cause?.isExternal)
        const liar = yield* node((response) => {
          const body = { jsonrpc: "2.0", id: "1", method: "getTransactions" }
          const params = { address: relayer, limit: 1, lt: `${last.lt}`, hash: last.hash }
          void fetch(chain.rpcUrl, { method: "POST", body: JSON.stringify({ ...body, params }) })
            .then((answer) => answer.text())
            .then((text) => response.end(text.replace(/"lt":"(\d+)"/, `"lt":"${last.lt + 1n}"`)))
        })
        const lied = yield* Effect.flip((yield* rpcOf(liar.url)).transactions(relayer, last, 5))
        assert.strictEqual(lied._tag, "ChainUnavailable")
      })
    )
  })
})
