/**
 * The supported kinds, for readers of every kind: x402's can parse the whole, and ours finds its own part.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"

import * as Supported from "../../../src/protocol/Supported.ts"
import * as X402ServerApiKinds from "../../../src/wire/x402-api/X402ServerApiKinds.ts"
import * as X402Network from "../../../src/wire/x402/X402Network.ts"
import * as X402PeerAnswers from "../X402PeerAnswers.ts"

const networks = fc.constantFrom("eip155:8453", "eip155:84532", "eip155:1", "eip155:31337", "ton:mainnet", "tron:nile")
const kinds = fc.record(
  {
    protocolVersion: fc.constant(2 as const),
    scheme: fc.constant("exact"),
    network: networks,
    extra: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }))
  },
  { requiredKeys: ["protocolVersion", "scheme", "network"] }
)
const offered = fc.record({ kinds: fc.array(kinds), signers: fc.dictionary(networks, fc.array(fc.string())) })

const readAsPeer = Schema.decodeUnknownSync(X402PeerAnswers.supported)
const isKindV1 = Schema.is(X402PeerAnswers.kindV1)
const write = Schema.encodeSync(X402ServerApiKinds.X402SupportedResponse)

describe("the supported kinds", () => {
  it("is read by x402 of both versions and by ours, each its own", () => {
    fc.assert(
      fc.property(offered, (supported) => {
        const plain: Supported.Supported = JSON.parse(JSON.stringify(supported))
        const said: unknown = JSON.parse(JSON.stringify(write(X402ServerApiKinds.fromSupported(plain))))
        assert.deepStrictEqual(Supported.decode(said), Result.succeed(plain))
        const heard = readAsPeer(said)
        const of = (version: number) => heard.kinds.filter(({ x402Version }) => x402Version === version)
        assert.deepStrictEqual(
          of(2).map(({ network }) => network),
          [
            ...plain.kinds.map(({ network }) => network),
            ...plain.kinds.flatMap(({ network }) => (network === "ton:mainnet" ? ["tvm:-239"] : []))
          ]
        )
        assert.deepStrictEqual(
          of(1).map(({ network }) => network),
          plain.kinds.flatMap(({ network }) => X402Network.nameOf(network) ?? [])
        )
        assert.isTrue(of(1).every((kind) => isKindV1(kind)))
        assert.lengthOf(heard.kinds, of(1).length + of(2).length)
      })
    )
  })
})
