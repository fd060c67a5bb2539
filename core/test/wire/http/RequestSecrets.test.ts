import { assert, describe, it } from "@effect/vitest"

import * as RequestSecrets from "../../../src/wire/http/RequestSecrets.ts"

const masked = (url: string, text: string, headers?: Readonly<Record<string, string>>) =>
  RequestSecrets.mask(new URL(url), headers)(text)

describe("a server's words, masked", () => {
  it.each([
    ["https://node.example/v2/0123456789abcdef", "no such key 0123456789abcdef", "no such key <hidden>"],
    ["https://node.example/v2/a%20key%20of%20mine", "a key of mine, a%20key%20of%20mine", "<hidden>, <hidden>"],
    ["https://node.example/?apikey=5ecret", "?apikey=5ecret is over its limit", "?apikey=<hidden> is over its limit"],
    ["https://node.example/?key=a%2Fb%3D&x=1", "a/b= and a%2Fb%3D", "<hidden> and <hidden>"],
    ["https://node.example/?key=one+two", "one two and one+two", "<hidden> and <hidden>"],
    ["https://node.example/?key=c2VjcmV0==", "the key c2VjcmV0==", "the key <hidden>"],
    ["https://node.example/?0123456789abcdef", "no such key 0123456789abcdef", "no such key <hidden>"],
    ["https://node.example/?archive", "no archive here", "no archive here"],
    [
      "https://user:p%40ss@node.example/",
      "user with p@ss or p%40ss, dXNlcjpwQHNz",
      "<hidden> with <hidden> or <hidden>, <hidden>"
    ],
    ["https://node.example/abcdefghijkl/abcdefghijklmnop", "abcdefghijklmnop", "<hidden>"],
    ["https://node.example/v2/mainnet", "nonce too low on mainnet v2", "nonce too low on mainnet v2"],
    ["http://127.0.0.1:8545", "execution reverted", "execution reverted"]
  ])("of %s: %s", (url, text, expected) => assert.strictEqual(masked(url, text), expected))

  it.each([
    [{ "x-api-key": "5ecret" }, "no such key 5ecret", "no such key <hidden>"],
    [{ authorization: "Bearer 0123456789" }, "Bearer of 0123456789", "Bearer of <hidden>"],
    [{ authorization: "Bearer 0123456789" }, "got Bearer 0123456789", "got <hidden>"],
    [{ accept: "*/*" }, "of */*", "of */*"]
  ])("of the headers %j: %s", (headers, text, expected) =>
    assert.strictEqual(masked("https://node.example", text, headers), expected)
  )

  it("are masked whatever is wrong with the percent-encoding", () => {
    assert.strictEqual(
      masked("https://u%zz:p%zzword@node.example/0123456789%zz", "p%zzword 0123456789%zz"),
      "<hidden> <hidden>"
    )
  })
})

describe("the authorization of a URL", () => {
  it.each([
    ["https://node.example", undefined],
    ["https://us%20er:pass@node.example", `Basic ${btoa("us er:pass")}`],
    ["https://key@node.example", `Basic ${btoa("key:")}`],
    ["https://u:%E2%82%AC@node.example", `Basic ${Buffer.from("u:\u20ac").toString("base64")}`],
    ["https://u:100%@node.example", `Basic ${btoa("u:100%")}`]
  ])("%s", (url, expected) => assert.strictEqual(RequestSecrets.authorization(new URL(url)), expected))
})

describe("the reason of a failure", () => {
  const mask = RequestSecrets.mask(new URL("https://node.example/0123456789abcdef"))

  it("hides the secrets of message, stack and causes, and keeps name and code", () => {
    const inner = Object.assign(new Error("connect /0123456789abcdef"), { code: "ECONNREFUSED" })
    const outer = Object.assign(new TypeError("failed for /0123456789abcdef", { cause: inner }), {
      path: "https://node.example/0123456789abcdef"
    })
    const reason = RequestSecrets.maskedReason(mask, outer)
    assert.instanceOf(reason, Error)
    assert.strictEqual(reason.name, "TypeError")
    assert.strictEqual(reason.message, "failed for /<hidden>")
    assert.match(String(reason.stack), /failed for \/<hidden>/)
    assert.instanceOf(reason.cause, Error)
    assert.strictEqual(reason.cause.message, "connect /<hidden>")
    assert.propertyVal(reason.cause, "code", "ECONNREFUSED")
    const seen = [reason, reason.cause].flatMap((error) =>
      Object.getOwnPropertyNames(error).map((name) => String(Reflect.get(error, name)))
    )
    assert.notInclude(seen.join("\n"), "0123456789abcdef")
  })

  it("ends where errors are their own cause, and takes no object that is no error", () => {
    const circular: { cause?: unknown } & Error = new Error("0123456789abcdef")
    circular.cause = circular
    let reason = RequestSecrets.maskedReason(mask, circular)
    let depth = 0
    while (reason instanceof Error && depth < 100) {
      assert.strictEqual(reason.message, "<hidden>")
      reason = reason.cause
      depth++
    }
    assert.strictEqual(depth, 5)
    assert.strictEqual(RequestSecrets.maskedReason(mask, "at 0123456789abcdef"), "at <hidden>")
    assert.isUndefined(RequestSecrets.maskedReason(mask, { url: "0123456789abcdef" }))
  })
})
