import { connect } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { signOnly } from "./TestBuyer.ts"
import * as TestMarket from "./TestMarket.ts"
import * as TestShops from "./TestShops.ts"

/** Sends header lines byte for byte, as no well-behaved client would, and reads the whole response. */
const raw = (origin: string, lines: ReadonlyArray<string>) =>
  Effect.callback<{ readonly status: number; readonly body: string }>((resume) => {
    const { hostname, port } = new URL(origin)
    const socket = connect(Number(port), hostname)
    const request = ["GET /report HTTP/1.1", `Host: ${hostname}`, "Connection: close", ...lines, "", ""]
    let text = ""
    socket.on("data", (chunk) => (text += chunk.toString("latin1")))
    socket.on("close", () => {
      resume(Effect.succeed({ status: Number(text.split(" ")[1]), body: text.split("\r\n\r\n").slice(1).join() }))
    })
    socket.on("error", () => undefined)
    socket.write(Buffer.from(request.join("\r\n"), "latin1"))
  })

type Json = Readonly<Record<string, unknown>>

const sealed = (payload: unknown) => Buffer.from(JSON.stringify(payload)).toString("base64")

const header = (text: string) => [`X-Payment: ${text}`]

/** The bad forms of a payment that is good, each with what the response must name. */
const badForms = (good: string): ReadonlyArray<readonly [string, ReadonlyArray<string>, string]> => {
  const fields: Json = JSON.parse(good)
  const payload: { readonly authorization: Json; readonly signature: string } = JSON.parse(
    Buffer.from(String(fields["payload"]), "base64").toString()
  )
  const envelope = (change: Json) => header(JSON.stringify({ ...fields, ...change }))
  const signed = (change: Json) =>
    envelope({ payload: sealed({ ...payload, authorization: { ...payload.authorization, ...change } }) })
  const amounts = ["-1", "1e6", "0x2710", "10000.0", "010000", " 10000", "", "9".repeat(79), 10_000, null]
  return [
    ["longer than 8 KiB", envelope({ more: "x".repeat(8192) }), "malformed"],
    ["twice", [...header(good), ...header(good)], "malformed"],
    ["twice in different letters", [...header(good), `x-PAYMENT: ${good}`], "malformed"],
    ["nothing", header(""), "malformed"],
    ["cut off", header(good.slice(0, 40)), "malformed"],
    ["two values", header(`${good}, ${good}`), "malformed"],
    ["raw UTF-8", envelope({ note: Buffer.from("é").toString("latin1") }), "malformed"],
    ["base64", header(Buffer.from(good).toString("base64")), "malformed"],
    ["deep", envelope({ more: JSON.parse(`${"[".repeat(9)}${"]".repeat(9)}`) }), "malformed"],
    ["very deep", header("[".repeat(8000)), "malformed"],
    ["deep inside the payload", envelope({ payload: sealed(JSON.parse("[".repeat(9) + "]".repeat(9))) }), "malformed"],
    ["a list", header(`[${good}]`), "malformed"],
    ["null", header("null"), "malformed"],
    ["fields that are inherited", header(`{"__proto__":${good}}`), "malformed"],
    ["a scheme that is no text", envelope({ scheme: ["exact"] }), "malformed"],
    ["a network that is no text", envelope({ network: 31_337 }), "malformed"],
    ["a payload that is no text", envelope({ payload }), "malformed"],
    ["a payload that is no base64", envelope({ payload: "%%%%" }), "malformed"],
    ["a version that is a text", envelope({ protocolVersion: "2" }), "malformed"],
    ["version 1", envelope({ protocolVersion: 1 }), "unsupported_version"],
    ["an unknown scheme", envelope({ scheme: "upto" }), "unsupported_scheme"],
    ["an unknown network", envelope({ network: "eip155:1" }), "NETWORK_MISMATCH"],
    ["no network", envelope({ network: "moon" }), "NETWORK_MISMATCH"],
    ["a signature that is a number", envelope({ payload: sealed({ ...payload, signature: 1 }) }), "malformed"],
    ["an address that is none", signed({ to: "0x12" }), "malformed"],
    ...amounts.map((value) => [`the amount ${JSON.stringify(value)}`, signed({ value }), "malformed"] as const)
  ]
}

describe.each([
  ["Koa", TestShops.koa],
  ["NestJS", TestShops.nest]
] as const)("over a raw socket, a %s shop", (_, open) => {
  it.live("refuses every malformed payment header, and still takes the good one", () =>
    TestMarket.within(1, ({ chain, told }) =>
      Effect.gen(function* () {
        const shop = yield* open(told)
        const good = yield* Effect.promise(() => signOnly(`${shop.origin}/report`, chain.accounts.payers[0]))
        for (const [name, lines, word] of badForms(good)) {
          const { body, status } = yield* raw(shop.origin, lines)
          assert.strictEqual(status, 402, name)
          assert.include(
            [`"reason":"${word}"`, `"code":"${word}"`].filter((words) => body.includes(words)).join(),
            word,
            name
          )
        }
        const beyondNode = yield* raw(shop.origin, [`X-Payment: ${"x".repeat(100_000)}`])
        assert.strictEqual(beyondNode.status, 431)
        assert.strictEqual(shop.handlers.reports, 0)
        assert.strictEqual((yield* raw(shop.origin, [`X-Payment: ${good}`])).status, 200)
        assert.strictEqual(shop.handlers.reports, 1)
      })
    )
  )
})
