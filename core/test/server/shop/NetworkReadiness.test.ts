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
