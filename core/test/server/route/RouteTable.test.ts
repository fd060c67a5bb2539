import { RouteKey, RouteTable } from "@pontage/core"
import * as Result from "effect/Result"
import { assert, describe, it } from "vitest"

const table = (...keys: ReadonlyArray<string>) =>
  RouteTable.make(keys.map((key) => [Result.getOrThrow(RouteKey.parse(key)), key] as const))

const found = (match: RouteTable.RouteMatch<string>): string =>
  match._tag === "Found" ? match.route : match._tag === "Responded" ? `${match.response.status}` : "none"

const paramsOf = (match: RouteTable.RouteMatch<string>) =>
  match._tag === "Found" ? match.params : assert.fail("the path is not sold")

const reports = Result.getOrThrow(
  table("GET /report", "GET /files/*", "GET /users/:id", "GET /users/me", "POST /report")
)

describe("find", () => {
  it.each([
    ["GET", "/report", "GET /report"],
    ["HEAD", "/report", "GET /report"],
    ["POST", "/report", "POST /report"],
    ["PUT", "/report", "none"],
    ["GET", "/reports", "none"],
    ["GET", "/", "none"],
    ["GET", "/report/", "GET /report"],
    ["GET", "//report", "GET /report"],
    ["GET", "/REPORT", "GET /report"],
    ["GET", "/%72eport", "GET /report"],
    ["GET", "/%2572eport", "GET /report"],
    ["GET", "/%25252572eport", "none"],
    ["GET", "/x/../report", "GET /report"],
    ["GET", "/x/%2e%2e/report", "GET /report"],
    ["GET", "/./report", "GET /report"],
    ["GET", "\\report", "GET /report"],
    ["GET", "/%5creport", "GET /report"],
    ["GET", "/report;v=1", "GET /report"],
    ["GET", "/report%00", "none"],
    ["GET", "/report%", "none"],
    ["GET", "/files", "GET /files/*"],
    ["GET", "/files/a\nb", "GET /files/*"],
    ["GET", "/files/a%0Ab/c", "GET /files/*"],
    ["GET", "/files/../report", "400"],
    ["GET", "/users/7", "GET /users/:id"],
    ["GET", "/users/me", "GET /users/me"],
    ["GET", "/users/ME", "400"],
    ["GET", "/users/%6de", "400"],
    ["GET", "/users/%zz", "400"],
    ["OPTIONS", "/report", "204"],
    ["OPTIONS", "/free", "none"]
  ])("%s %s is %s", (method, path, expected) => {
    assert.strictEqual(found(reports.find(method, path)), expected)
    // The second time the match is remembered.
    assert.strictEqual(found(reports.find(method, path)), expected)
  })

  it("gives each caller a record of parameters of its own", () => {
    for (const path of ["/report", "/users/7"]) {
      const [params, again] = [paramsOf(reports.find("GET", path)), { ...paramsOf(reports.find("GET", path)) }]
      Object.assign(params, { id: "8" })
      assert.deepStrictEqual(paramsOf(reports.find("GET", path)), again)
    }
  })

  it("gives the path parameters, decoded once more than they came", () => {
    const match = reports.find("GET", "/users/a%20b")
    assert.deepStrictEqual(match._tag === "Found" && match.params, { id: "a b" })
  })

  it.each([
    ["/REPORT/Gold", "Gold"],
    ["/Report//Gold", "Gold"],
    ["/%52eport/Gold%41", "GoldA"],
    ["/report/Gold;v=1", "Gold;v=1"],
    ["/./report/%47old", "Gold"]
  ])("gives the parameter of %s in the case in which it came", (path, tier) => {
    const match = Result.getOrThrow(table("GET /report/:tier")).find("GET", path)
    assert.deepStrictEqual(match._tag === "Found" && match.params, { tier })
  })

  it("takes a method in any case, as routers do", () => {
    assert.strictEqual(found(reports.find("get", "/report")), "GET /report")
    assert.strictEqual(found(reports.find("Head", "/report")), "GET /report")
    assert.strictEqual(found(reports.find("options", "/report")), "204")
  })

  it("looks at the original path too, and refuses when the two disagree", () => {
    assert.strictEqual(found(reports.find("GET", "/rest", "/report")), "GET /report")
    assert.strictEqual(found(reports.find("GET", "/files/a", "/report")), "400")
  })

  it("tells the methods of a sold path and runs nothing", () => {
    const match = reports.find("OPTIONS", "/report")
    assert.strictEqual(match._tag === "Responded" && match.response.headers["Allow"], "GET, HEAD, POST, OPTIONS")
  })

  it("does not cache the refusal of an ambiguous path", () => {
    const match = reports.find("GET", "/users/ME")
    assert.strictEqual(match._tag === "Responded" && match.response.headers["Cache-Control"], "no-store")
  })

  it("keeps __proto__ as a parameter's name from doing harm", () => {
    const match = Result.getOrThrow(table("GET /:__proto__")).find("GET", "/evil")
    assert.strictEqual(match._tag === "Found" && Object.getPrototypeOf(match.params), Object.prototype)
  })
})

describe("make", () => {
  it.each([
    ["GET /a/:x", "GET /a/:y"],
    ["GET /a", "GET /A"],
    ["GET /a/*", "GET /a/*rest"]
  ])("refuses %s beside %s", (one, other) => {
    const made = table(one, other)
    assert.isTrue(Result.isFailure(made))
    assert.include(Result.isFailure(made) ? made.failure.message : "", "keep one")
  })
})
