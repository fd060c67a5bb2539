import { assert, describe, it } from "@effect/vitest"

import * as BundleSize from "../src/BundleSize.ts"

describe("what a browser loads to pay", () => {
  it("keeps its budget, which is less than a third of what a peer's client takes", async () => {
    const { gzipped, minified } = await BundleSize.measure()
    assert.isAtMost(gzipped, BundleSize.budget)
    assert.isAtMost(BundleSize.budget, BundleSize.peerGzipped / 3)
    assert.isAbove(gzipped, 20_000, "it is the whole client that was measured")
    assert.isAbove(minified, gzipped)
  })
})
