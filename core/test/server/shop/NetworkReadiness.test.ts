import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { assert, describe, it } from "vitest"

import { Network } from "../../../src/index.ts"
import * as NetworkReadiness from "../../../src/server/shop/NetworkReadiness.ts"
import * as FakeFacilitator from "../FakeFacilitator.ts"
import * as FakeScheme from "../FakeScheme.ts"

describe("renew", () => {
  it("makes one request for newer quotes in ten seconds, and nothing to run between", () => {
    const { service } = FakeFacilitator.make()
    const proof = NetworkReadiness.make(FakeScheme.evm(), Network.make("eip155:8453"))
    const renew = (now: number) => NetworkReadiness.renew(proof, service, now)
    assert.isDefined(renew(1_000))
    assert.isUndefined(renew(1_000))
    assert.isUndefined(renew(10_999))
    assert.isDefined(renew(11_000))
    assert.isUndefined(renew(11_000))
  })
})

/** The readiness of a network whose scheme draws on channels, by a facilitator that says this about them. */
const drawing = (said: { readonly draws?: true }) =>
  Effect.gen(function* () {
    const { service } = FakeFacilitator.make()
    const schemeServer = { ...FakeScheme.evm(), draws: { receipt: (facts: object) => ({ ...facts }) } }
    const network = Network.make("eip155:8453")
    const proof = NetworkReadiness.make(schemeServer, network)
    const asset = schemeServer.asset(network, undefined)
    if (asset === undefined) return assert.fail("the scheme has no asset")
    NetworkReadiness.add(proof, asset)
    const kinds = [{ protocolVersion: 2 as const, scheme: "exact", network, ...said }]
    yield* NetworkReadiness.run(proof, { ...service, supported: Effect.succeed({ kinds, signers: {} }) })
    return yield* Effect.as(Deferred.await(proof.done), proof.state)
  })

describe("a scheme whose payments draw on channels", () => {
  it("is sold through a facilitator that keeps their ledger", async () => {
    assert.strictEqual(await Effect.runPromise(drawing({ draws: true })), "proven")
  })

  it("is not sold through another one: what a buyer signs would buy nothing", async () => {
    const { message } = await Effect.runPromise(Effect.flip(drawing({})))
    assert.match(message, /^the facilitator keeps no ledger of payment channels/)
  })
})
