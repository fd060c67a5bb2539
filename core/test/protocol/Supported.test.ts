import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import * as Supported from "../../src/protocol/Supported.ts"

const ours = { protocolVersion: 2, scheme: "exact", network: "eip155:8453", extra: { a: 1 } }
const signers = { "eip155:8453": ["0x1"] }

describe("decode", () => {
  it("leaves out what is not ours", () => {
    const others = [
      { scheme: "exact", network: "base" },
      { protocolVersion: 1, scheme: "exact", network: "eip155:1" },
      { protocolVersion: "2", scheme: "exact", network: "eip155:1" },
      "exact",
      null
    ]
    const answer = { kinds: [others[0], ours, ...others], extensions: [], signers, more: 1 }
    assert.deepStrictEqual<unknown>(Supported.decode(answer), Result.succeed({ kinds: [ours], signers }))
  })

  it("leaves out fields that are not ours", () => {
    const answer = { kinds: [{ ...ours, anotherVersion: 2 }], signers }
    assert.deepStrictEqual<unknown>(Supported.decode(answer), Result.succeed({ kinds: [ours], signers }))
  })

  it("reads the networks that are not connected yet", () => {
    const answer = { kinds: [], signers: {}, pending: ["eip155", "ton:mainnet"] }
    assert.deepStrictEqual<unknown>(Supported.decode(answer), Result.succeed(answer))
  })

  const broken: ReadonlyArray<readonly [name: string, answer: unknown]> = [
    ["nothing", undefined],
    ["a list", []],
    ["no kinds", { signers }],
    ["kinds that are none", { kinds: {}, signers }],
    ["no signers", { kinds: [ours] }],
    ["pending networks that are none", { kinds: [ours], signers, pending: "eip155" }],
    ["signers that are none", { kinds: [ours], signers: ["0x1"] }],
    ["a kind of ours without a scheme", { kinds: [ours, { ...ours, scheme: undefined }], signers }],
    ["a kind of ours on no network", { kinds: [{ ...ours, network: 8453 }], signers }]
  ]
  for (const [name, answer] of broken) {
    it(`refuses ${name}`, () => assert.isTrue(Result.isFailure(Supported.decode(answer))))
  }
})
