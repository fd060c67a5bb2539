import { assert, describe, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { TestScheme } from "@pontage/core/testing"

import { payTools, sellTools } from "../src/index.ts"
import * as LedgerTools from "./LedgerTools.ts"

const { options, shop } = LedgerTools.make()
const client = new Client({ name: "payer", version: "1" })
const good = { schemes: [TestScheme.client(LedgerTools.payer)] }

describe("payTools refuses", () => {
  it.each([
    [{ ...good, servers: "weather" }, /^servers: unknown key; did you mean server\?$/],
    [{ ...good, server: new URL("https://a.example") }, /^server: expected a text, got a value of class URL$/],
    [{ ...good, limits: { perday: "$1" } }, /^limits\.perday: unknown key; did you mean perDay\?$/],
    [{ ...good, dialects: [] }, /^dialects: unknown key/],
    [null, /^the options: expected a plain object, got null$/]
  ])("%o", (given, message) => {
    assert.throws(() => payTools(client, given as never), message)
  })
})

describe("sellTools refuses", () => {
  it.each([
    [{ ...options, tools: {} }, /^tools: unknown key/],
    [undefined, /^the options: expected a plain object, got nothing$/]
  ])("%o", (given, message) => {
    assert.throws(() => sellTools(given as never), message)
  })
})

describe("a price refuses", () => {
  it.each([
    [{ ...LedgerTools.terms, dialects: [] }, /^paid tools: dialects: unknown key/],
    [{ ...LedgerTools.terms, cache: "public" }, /^paid tools: cache: unknown key/],
    [{ ...LedgerTools.terms, bindings: "required" }, /^paid tools: bindings: unknown key; did you mean binding\?$/],
    [
      { ...LedgerTools.terms, metered: { unit: "byte", tick: "$0.0001" } },
      /^paid tools: metered\.unit "byte" is for HTTP/
    ],
    [Object.create(LedgerTools.terms), /^paid tools: the options: expected a plain object/]
  ])("%o", (terms, message) => {
    assert.throws(() => shop.paid(terms as never), message)
  })
})
