import { RequestHeaders } from "@pontage/core"
import { assert, describe, it } from "vitest"

describe("fromRaw", () => {
  const read = RequestHeaders.fromRaw(["Host", "shop", "X-PAYMENT", "one", "Accept", "*/*", "x-Payment", "two"])

  it("finds a header whatever its case", () => {
    assert.strictEqual(read("host"), "shop")
    assert.strictEqual(read("accept"), "*/*")
  })

  it("shows a duplicate as one", () => {
    assert.deepStrictEqual(read("x-payment"), ["one", "two"])
    const thrice = RequestHeaders.fromRaw(["a", "1", "A", "2", "a", "3"])
    assert.deepStrictEqual(thrice("a"), ["1", "2", "3"])
  })

  it("finds nothing where nothing is", () => {
    assert.isUndefined(read("x-payment-response"))
    assert.isUndefined(RequestHeaders.fromRaw(["x-payment"])("x-payment"))
  })
})
