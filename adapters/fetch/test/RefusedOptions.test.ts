import { assert, describe, it } from "@effect/vitest"

import { facilitatorLookup, wrapFetch } from "../src/index.ts"
import * as TestPayer from "./TestPayer.ts"

const { schemeClient } = TestPayer.wallet()
const good = { schemes: [schemeClient] }

describe("wrapFetch refuses", () => {
  it("no fetch", () => {
    assert.throws(() => wrapFetch(undefined as never, { schemes: [] }), /^wrapFetch: fetch: expected the fetch to wrap/)
  })

  it.each([
    [{ ...good, limits: { perday: "$0.001" } }, /^wrapFetch: limits\.perday: unknown key; did you mean perDay\?$/],
    [{ ...good, limits: 1n }, /^wrapFetch: limits: expected a plain object, got a bigint$/],
    [{ ...good, limits: null }, /^wrapFetch: limits: expected a plain object, got null$/],
    [{ ...good, limit: { perDay: "$1" } }, /^wrapFetch: limit: unknown key; did you mean limits\?$/],
    [{ ...good, perRequest: "$1" }, /^wrapFetch: perRequest: unknown key; did you mean limits\.perRequest\?$/],
    [{ ...good, limits: Object.create({ perDay: "$1" }) }, /^wrapFetch: limits: expected a plain object/],
    [{ ...good, limits: JSON.parse('{"__proto__":{"perDay":"$1"}}') }, /^wrapFetch: limits\.__proto__: unknown key/],
    [{ ...good, allow: { host: ["a.example"] } }, /^wrapFetch: allow\.host: unknown key; did you mean hosts\?$/],
    [{ ...good, maxBodyBytes: "1" }, /^wrapFetch: maxBodyBytes: expected a whole number of at least 0, got a text$/],
    [{ ...good, dialects: [{}] }, /^wrapFetch: dialects\[0\]: expected a payer's dialect/],
    [{ ...good, confirms: () => true }, /^wrapFetch: confirms: unknown key; did you mean confirm\?$/],
    [[schemeClient], /^wrapFetch: the options: expected a plain object, got a list$/],
    [undefined, /^wrapFetch: the options: expected a plain object, got nothing$/]
  ])("%o", (options, message) => {
    assert.throws(() => wrapFetch(globalThis.fetch, options as never), message)
  })

  it("nothing that is undefined", () => {
    const options = {
      ...good,
      limits: undefined,
      allow: { hosts: undefined },
      onPayment: undefined,
      dialects: undefined
    }
    assert.isFunction(wrapFetch(globalThis.fetch, options as never))
  })
})

describe("facilitatorLookup refuses", () => {
  it.each([
    [{ header: {} }, /^facilitatorLookup: header: unknown key; did you mean headers\?$/],
    [{ url: "https://a.example" }, /^facilitatorLookup: url: unknown key/],
    [{ allowInsecure: "false" }, /^facilitatorLookup: allowInsecure: expected true or false, got a text$/],
    [null, /^facilitatorLookup: the options: expected a plain object, got null$/]
  ])("%o", (options, message) => {
    assert.throws(() => facilitatorLookup("https://facilitator.example", options as never), message)
  })
})
