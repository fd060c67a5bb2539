/**
 * Our requests to a facilitator of x402: those of its published clients, to the letter, and nothing of ours beside them.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"

import * as Network from "../../../src/protocol/Network.ts"
import * as PaymentPayload from "../../../src/protocol/PaymentPayload.ts"
import * as X402ClientApi from "../../../src/wire/x402-api/X402ClientApi.ts"
import * as X402ServerApiRequest from "../../../src/wire/x402-api/X402ServerApiRequest.ts"
import * as X402Network from "../../../src/wire/x402/X402Network.ts"
import { offerV1, offerV2, paymentV1, paymentV2, requirements, signed } from "../X402Cases.ts"

const salted = { ...signed, binding: { challenge: "c".repeat(43), salt: "s".repeat(22) } }

describe("a body", () => {
  it("of version 2 is the one that peers write, without the payer's salt", () => {
    const body = { x402Version: 2, paymentPayload: paymentV2, paymentRequirements: offerV2 }
    assert.deepStrictEqual(X402ClientApi.bodyOf(2, requirements, salted), body)
  })

  it("of version 1 is the one that peers write, without the payer's salt", () => {
    const body = { x402Version: 1, paymentPayload: paymentV1, paymentRequirements: offerV1 }
    assert.deepStrictEqual(X402ClientApi.bodyOf(1, requirements, salted), body)
  })

  it("of version 1 is none where version 1 has no name for the network", () => {
    assert.isUndefined(X402ClientApi.bodyOf(1, { ...requirements, network: Network.make("eip155:1") }, {}))
  })

  const json = fc.jsonValue({ maxDepth: 3 })
  const decode = Schema.decodeUnknownSync(
    Schema.Union([X402ServerApiRequest.RequestV2, X402ServerApiRequest.RequestV1, X402ServerApiRequest.RequestOther])
  )
  const isJson = Schema.is(Schema.Json)

  it("asks for exactly the terms, and hands what was signed on to the letter", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(1 as const, 2 as const),
        fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map(String),
        fc.string(),
        fc.dictionary(
          fc.string().filter((key) => key !== "binding"),
          json
        ),
        (version, maxAmountRequired, payTo, payload) => {
          const plain: unknown = JSON.parse(JSON.stringify(payload))
          assert(isJson(plain))
          const body = X402ClientApi.bodyOf(version, { ...requirements, maxAmountRequired, payTo }, plain)
          const asked = X402ServerApiRequest.read(decode(JSON.parse(JSON.stringify(body))))
          assert.strictEqual(asked.version, version)
          assert.deepStrictEqual(Result.getOrThrow(asked.paymentRequirements), {
            ...requirements,
            maxAmountRequired,
            payTo
          })
          assert.deepStrictEqual(
            PaymentPayload.openPayload(Result.getOrThrow(asked.paymentPayload)),
            Result.succeed(plain)
          )
        }
      )
    )
  })
})

describe("kinds", () => {
  const theirs = { x402Version: 2, scheme: "exact", network: "eip155:1" }
  const ours = { ...theirs, protocolVersion: 2 }

  it("tell whose facilitator it is", () => {
    assert.isTrue(X402ClientApi.isForeign({ kinds: [theirs] }))
    assert.isTrue(X402ClientApi.isForeign({ kinds: [{ ...theirs, x402Version: 1, extra: null }], extensions: [] }))
    for (const json of [
      { kinds: [ours] },
      { kinds: [theirs, ours] },
      { kinds: [] },
      {},
      [],
      null,
      { kinds: [1, {}] }
    ]) {
      assert.isFalse(X402ClientApi.isForeign(json), JSON.stringify(json))
    }
  })

  it("are read with their networks in one form; what is not understood is left out", () => {
    const kinds = [
      theirs,
      { x402Version: 1, scheme: "exact", network: "base", extra: { name: "USDC" } },
      { x402Version: 1, scheme: "exact", network: "solana" },
      { x402Version: 3, scheme: "exact", network: "eip155:1" },
      "nonsense"
    ]
    assert.deepStrictEqual(
      X402ClientApi.readKinds({ kinds, signers: 1 }),
      Result.succeed<X402ClientApi.Kinds>({
        kinds: [
          { version: 2, scheme: "exact", network: "eip155:1", extra: undefined },
          { version: 1, scheme: "exact", network: "eip155:8453", extra: { name: "USDC" } }
        ],
        signers: {}
      })
    )
  })

  it("are read from anything without a throw", () => {
    const network = fc.oneof(fc.string(), fc.constantFrom(...X402Network.knownNames, "eip155:1"))
    const kind = fc.record(
      {
        x402Version: fc.oneof(fc.integer(), fc.constantFrom(1, 2)),
        scheme: fc.string(),
        network,
        extra: fc.jsonValue()
      },
      { requiredKeys: [] }
    )
    const answers = fc.oneof(
      fc.jsonValue(),
      fc.record({ kinds: fc.array(fc.oneof(kind, fc.jsonValue())), signers: fc.jsonValue() })
    )
    fc.assert(
      fc.property(answers, (answer) => {
        const read = X402ClientApi.readKinds(JSON.parse(JSON.stringify(answer)))
        if (Result.isFailure(read)) return assert.isFalse(X402ClientApi.isForeign(answer))
        for (const { version } of read.success.kinds) assert.include([1, 2], version)
      })
    )
  })
})
