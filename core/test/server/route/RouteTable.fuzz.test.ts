import { RouteKey, RouteTable } from "@pontage/core"
import * as Result from "effect/Result"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"

const table = Result.getOrThrow(
  RouteTable.make([[Result.getOrThrow(RouteKey.parse("GET /api/report/:day")), "report"] as const])
)

const disguises: ReadonlyArray<(character: string, hex: string) => string> = [
  (character) => character,
  (_, hex) => `%${hex}`,
  (_, hex) => `%25${hex}`,
  (character) => character.toUpperCase()
]

const encodeSome = (text: string, choices: ReadonlyArray<number>): string =>
  Array.from(text, (character, index) => {
    const hex = character.charCodeAt(0).toString(16).padStart(2, "0")
    return disguises[choices[index % choices.length] ?? 0]?.(character, hex) ?? character
  }).join("")

const separator = fc.constantFrom("/", "//", "/./", "/x/../", "\\", "%2f", "%5C", "/%2e/", "/y;z/..;/")
const choices = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 8 })
const day = fc.stringMatching(/^[a-z0-9]{1,8}$/)

describe("find", () => {
  it("finds a route under every disguise of its path", () => {
    fc.assert(
      fc.property(separator, separator, separator, choices, day, fc.constantFrom("", "/", ";v=1"), (...disguise) => {
        const [first, second, third, how, name, end] = disguise
        const path = `/${first}${encodeSome("api", how)}${second}${encodeSome("report", how)}${third}${name}${end}`
        assert.strictEqual(table.find("GET", path)._tag, "Found", path)
      }),
      { numRuns: 2000 }
    )
  })

  it("answers any text without throwing", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 80 }), (path) => {
        assert.include(["Found", "None", "Answered"], table.find("GET", `/${path}`)._tag)
      }),
      { numRuns: 2000 }
    )
  })
})
