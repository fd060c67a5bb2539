import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import * as Result from "effect/Result"
import { assert, describe, it } from "vitest"

import * as ServerAddress from "../src/ServerAddress.ts"

const transport = (url?: string): Transport =>
  Object.assign(
    { start: () => Promise.resolve(), send: () => Promise.resolve(), close: () => Promise.resolve() },
    url === undefined ? {} : { _url: new URL(url) }
  )

const addressOf = (url: string | undefined, name?: string) =>
  Result.getOrThrow(
    ServerAddress.of(transport(url), name === undefined ? undefined : Result.getOrThrow(ServerAddress.fromName(name)))
  ).href

describe("the address of a server", () => {
  it("is its transport's URL, without what logs the payer in", () => {
    assert.strictEqual(addressOf("https://me:secret@shop.example/mcp?x=1", "weather"), "https://shop.example/mcp?x=1")
    assert.strictEqual(addressOf("http://127.0.0.1:3000/mcp"), "http://127.0.0.1:3000/mcp")
  })

  it("of a web socket is as open as the HTTP it begins as", () => {
    assert.strictEqual(addressOf("wss://shop.example/mcp"), "https://shop.example/mcp")
    assert.strictEqual(addressOf("ws://shop.example/mcp"), "http://shop.example/mcp")
  })

  it("is a name where the transport has none", () => {
    assert.strictEqual(addressOf(undefined, "weather"), "https://weather/")
    assert.strictEqual(addressOf(undefined, "Weather.local:7"), "https://weather.local:7/")
    assert.strictEqual(addressOf(undefined, "http://shop.example/mcp"), "http://shop.example/mcp")
  })

  it("is missing where there is neither", () => {
    assert.match(Result.getOrThrow(Result.flip(ServerAddress.of(undefined, undefined))).message, /^server: /)
    assert.match(
      Result.getOrThrow(Result.flip(ServerAddress.of(transport(), undefined))).message,
      /give the server a name/
    )
  })

  for (const name of ["", "a b", "weather/tools", "me@weather", "weather?x", "weather#x", "://"]) {
    it(`is not ${JSON.stringify(name)}`, () => {
      assert.strictEqual(Result.getOrThrow(Result.flip(ServerAddress.fromName(name)))._tag, "Misconfigured")
    })
  }
})
