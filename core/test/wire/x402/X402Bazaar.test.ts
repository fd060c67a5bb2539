import { assert, describe, it } from "@effect/vitest"

import type { CallDescription } from "../../../src/protocol/CallDescription.ts"
import * as X402Bazaar from "../../../src/wire/x402/X402Bazaar.ts"

const call: CallDescription = {
  method: "POST",
  template: "/render/:pages",
  input: {
    params: { type: "object", properties: { pages: { type: "integer" } } },
    body: { type: "object", required: ["text"] },
    example: { body: { text: "hello" } }
  },
  output: { schema: { type: "object" }, example: { page: 1 } }
}

const sized = (length: number, output = call.output): CallDescription => ({
  method: "GET",
  template: undefined,
  input: { query: { type: "object", description: "x".repeat(length) } },
  output
})

const bytesOf = (value: unknown) => JSON.stringify(value).length

describe("the extension bazaar", () => {
  it("shows a call by an example and by the schema of the example", () => {
    assert.deepStrictEqual(X402Bazaar.of(call), {
      bazaar: {
        info: {
          input: { type: "http", method: "POST", pathParams: {}, bodyType: "json", body: { text: "hello" } },
          output: { type: "json", example: { page: 1 } }
        },
        schema: {
          $schema: "https://json-schema.org/draft/2020-12/schema",
          type: "object",
          properties: {
            input: {
              type: "object",
              properties: {
                type: { const: "http" },
                method: { const: "POST" },
                pathParams: { type: "object", properties: { pages: { type: "integer" } } },
                bodyType: { const: "json" },
                body: { type: "object", required: ["text"] }
              },
              required: ["type", "method", "bodyType", "body"]
            },
            output: {
              type: "object",
              properties: { type: { type: "string" }, example: { type: "object" } },
              required: ["type"]
            }
          },
          required: ["input"]
        },
        routeTemplate: "/render/:pages"
      }
    })
  })

  it("loses its output first, and is left out if that is not enough", () => {
    assert.property(X402Bazaar.of(sized(100))?.bazaar["info"], "output")
    const longest = X402Bazaar.of(sized(1_683))
    assert.notProperty(longest?.bazaar["info"], "output")
    assert.strictEqual(bytesOf(longest?.bazaar) + '{"bazaar":}'.length, X402Bazaar.maximumBytes)
    assert.isUndefined(X402Bazaar.of(sized(1_684)))
  })
})
