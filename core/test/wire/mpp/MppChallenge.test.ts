import { assert, describe, it } from "@effect/vitest"

import * as MppChallenge from "../../../src/wire/mpp/MppChallenge.ts"

const one = 'Payment id="a", realm="shop.example", method="evm", intent="charge", request="e30"'
const read = { id: "a", realm: "shop.example", method: "evm", intent: "charge", request: "e30" }

describe("challenges of a header", () => {
  it.each([
    ["one", one, [read]],
    ["two in one line", `${one}, ${one.replace('"a"', '"b"')}`, [read, { ...read, id: "b" }]],
    ["one after others, which are left out", `Bearer realm="x", Basic, Negotiate YWJj==, ${one}`, [read]],
    ["one before another", `${one}, Bearer realm="y", error="no"`, [read]],
    ["none inside another scheme's string", 'Bearer realm="x, Payment id=\\"b\\", realm=y"', []],
    ["none of a scheme with a longer name", one.replace("Payment", "Payments"), []],
    ["the scheme and its parameters in any case", one.replace("Payment id", "PAYMENT ID"), [read]],
    ["spaces around the parameters", one.replaceAll("=", " =  ").replaceAll(",", "  ,\t"), [read]],
    ["tokens without quotes", "Payment id=a, realm=shop.example, method=evm, intent=charge, request=e30", [read]],
    ["escaped characters", one.replace('"a"', String.raw`"\a\"\\"`), [{ ...read, id: String.raw`a"\ `.trim() }]],
    ["unknown parameters, which are left out", `${one}, color="red"`, [read]],
    ["empty elements", `, ,${one},,`, [read]]
  ])("are %s", (_, header, expected) => {
    assert.deepStrictEqual(MppChallenge.parse(header), { readable: expected, fault: undefined })
  })

  it.each([
    ["a parameter twice", `${one}, ID="b"`, /twice/],
    ["a parameter missing", one.replace(', method="evm"', ""), /"method" is missing/],
    ["an empty parameter", one.replace('"a"', '""'), /"id" is missing/],
    ["a token in the place of parameters", "Payment abc==", /no parameter/],
    ["a line break in a string", one.replace("shop", "sh\nop"), /"realm" holds/],
    ["half of a character", one.replace("shop", "sh\ud800op"), /"realm" holds/],
    ["a request of more than 16 KiB", one.replace("e30", "A".repeat(16 * 1024 + 1)), /longer than 16384/],
    ["more than 64 KiB in all", `${one}, x="${"A".repeat(64 * 1024)}"`, /longer than 65536/]
  ])("are refused with %s", (_, header, fault) => {
    const { fault: said, readable } = MppChallenge.parse(header)
    assert.deepStrictEqual(readable, [])
    assert.match(said ?? "", fault)
  })

  it("are read beside one that is refused, and before one that never ends", () => {
    const broken = one.replace(', method="evm"', "")
    assert.deepStrictEqual(MppChallenge.parse(`${broken}, ${one}`).readable, [read])
    assert.deepStrictEqual(MppChallenge.parse(`${one}, Payment id="b, realm=`).readable, [read])
  })

  it("never throw, and are read in time that grows with the length", () => {
    const alphabet = ['"', "\\", ",", " ", "=", "Payment", "id", "a", "\t", "realm=", "\u0000", "\ud800"]
    let seed = 1
    const next = () => (seed = (seed * 48_271) % 2_147_483_647)
    for (let time = 0; time < 5000; time++) {
      const text = Array.from({ length: next() % 60 }, () => alphabet[next() % alphabet.length] ?? "").join("")
      const { readable } = MppChallenge.parse(text)
      assert.isTrue(readable.every(({ id }) => id !== ""))
    }
    for (const text of [`Payment id="${"\\a".repeat(30_000)}"`, `Payment ${'id = "'.repeat(10_000)}`]) {
      assert.lengthOf(MppChallenge.parse(text).readable, 0)
    }
  })
})
