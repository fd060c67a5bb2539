import { HostLaws } from "@pontage/core/testing"
import { assert, describe, it } from "vitest"

import * as SoldRoutes from "../../../src/server/host/SoldRoutes.ts"
import * as SoldSteps from "../../../src/server/host/SoldSteps.ts"

const shop = HostLaws.shopForTrial()
const { terms } = HostLaws

const refused: ReadonlyArray<readonly [unknown, RegExp]> = [
  [{ ...shop, route: {} }, /^route: unknown key; did you mean routes\?$/],
  [{ ...shop, routes: [] }, /^routes: expected a plain object, got a list$/],
  [{ ...shop, routes: { "/report": terms } }, /^route "\/report": expected a method/],
  [{ ...shop, routes: { "GET /report": { ...terms, price: "1" } } }, /^route "GET \/report": price/],
  [{ ...shop, routes: { "GET /report": { ...terms, repeat: "same" } } }, /this host keeps no responses/],
  [null, /^the options: expected a plain object, got null$/]
]

describe("SoldRoutes.open refuses", () => {
  it.each(refused)("%o", (options, message) => {
    assert.throws(() => SoldRoutes.open(options as never), message)
  })
})

const open = async (...keys: ReadonlyArray<string>) => {
  const routes = Object.fromEntries(keys.map((key) => [key, terms]))
  const sold = SoldRoutes.open({ ...shop, routes })
  await sold.close()
  return sold
}

describe("SoldRoutes finds", () => {
  it("by the path, the most specific key; HEAD as GET; OPTIONS for every sold path", async () => {
    const { keyed, onPath } = await open("GET /reports/:day", "GET /reports/today")
    const find = (method: string, path: string) => {
      const match = onPath(method, path)
      if (match._tag !== "Found") return match._tag
      return [keyed.find(({ route }) => route === match.route)?.key.text, match.params]
    }
    assert.deepStrictEqual(find("GET", "/reports/today"), ["GET /reports/today", {}])
    assert.deepStrictEqual(find("HEAD", "/reports/monday"), ["GET /reports/:day", { day: "monday" }])
    assert.strictEqual(find("OPTIONS", "/reports/monday"), "Responded")
    assert.strictEqual(find("POST", "/reports/monday"), "None")
    assert.strictEqual(find("GET", "/free"), "None")
  })

  it("by the router's pattern, a part in braces taken as present", async () => {
    const { onPattern } = await open("GET /files/*", "GET /files/:name")
    assert.strictEqual(onPattern("GET", ["/files{/:name}"])?.key.text, "GET /files/:name")
    assert.strictEqual(onPattern("head", ["/free", "/files/:any"])?.key.text, "GET /files/:name")
    assert.isUndefined(onPattern("POST", ["/files/:name"]))
  })

  it("by the chosen handler, also one whose path is a case of the key", async () => {
    const { onRouted } = await open("GET /reports/:day")
    assert.strictEqual(onRouted("GET", "/reports/:date", "/reports/today")._tag, "Found")
    assert.strictEqual(onRouted("GET", "/reports/today", "/reports/today")._tag, "Found")
    assert.strictEqual(onRouted("GET", "/free", "/free")._tag, "None")
  })
})

describe("SoldRoutes.demandRoutes", () => {
  it("names the first key that sells no route of the application, and the routes there are", async () => {
    const { demandRoutes } = await open("GET /report", "POST /render")
    demandRoutes([
      { method: ["GET", "HEAD"], url: "/report" },
      { method: "POST", url: "/render" }
    ])
    assert.throws(
      () => demandRoutes([{ method: "GET", url: "/report" }]),
      /^route "POST \/render": the application has no such route, .* routes: GET \/report$/
    )
    assert.throws(() => demandRoutes([]), /routes: none$/)
  })
})

describe("SoldSteps", () => {
  it("refuses options and routes that it does not know all of, and numbers routes without a name", async () => {
    assert.throws(() => SoldSteps.open({ ...shop, routes: {} } as never, () => undefined), /^routes: unknown key/)
    const steps = SoldSteps.open(shop, (_, { name }) => name)
    assert.throws(
      () => steps.paid({ ...terms, caches: "public" } as never, "GET /report"),
      /^route "GET \/report": caches/
    )
    assert.deepStrictEqual([steps.paid(terms), steps.paid(terms, "mine")], ["paid route 1", "mine"])
    await steps.close()
  })
})
