/** The description of a route's call is refused at start where its parts contradict each other. */
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import * as RouteCall from "../../src/server/route/RouteCall.ts"

const messageOf = (input: unknown, key = "GET /reports/:day"): string => {
  const checked = RouteCall.check(key, { input } as never)
  return Result.isFailure(checked) ? checked.failure : "accepted"
}

const object = { type: "object", properties: { day: { type: "string" } }, required: ["day"] }

describe("the description of a call", () => {
  it.each([
    [{}, "accepted"],
    [{ query: { type: "object" } }, "accepted"],
    [{ query: undefined, example: undefined }, "accepted"],
    [{ query: object, example: { query: { day: "today" } } }, "accepted"],
    [{ body: { type: "string" }, example: { body: "text" } }, "accepted"],
    [{ query: object }, "input.example.query is missing"],
    [{ body: { type: "string" } }, "input.example.body is missing"],
    [
      { query: object, example: { query: { other: 1 } } },
      'input.example.query: the required property "day" is missing'
    ],
    [{ body: object, example: { body: "text" } }, 'input.example.body: the required property "day" is missing'],
    [{ example: { body: {} } }, "input.example.body: there is no schema input.body"],
    [{ query: { type: "string" } }, 'input.query.type: expected "object"'],
    [{ params: { properties: { night: {} } } }, 'names no parameter "night"; it names day'],
    [{ query: { description: "x".repeat(33_000) } }, "at most 32768 characters"],
    [{ query: JSON.parse(`${'{"a":'.repeat(13)}1${"}".repeat(13)}`) }, "12 levels"]
  ])("%j: %s", (input, message) => assert.include(messageOf(input), message))

  it("is one and the same for a route and a method, so that its text is made once", () => {
    const route = { name: "GET /reports/:day", input: {}, output: undefined }
    assert.strictEqual(RouteCall.of(route, "GET"), RouteCall.of(route, "GET"))
    assert.strictEqual(RouteCall.of(route, "GET")?.template, "/reports/:day")
    assert.isUndefined(RouteCall.of({ ...route, name: "GET /report" }, "GET")?.template)
    assert.isUndefined(RouteCall.of({ ...route, input: undefined }, "GET"))
  })
})
