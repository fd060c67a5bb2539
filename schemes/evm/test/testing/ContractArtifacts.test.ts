import { readdirSync, readFileSync } from "node:fs"

import { assert, describe, it } from "@effect/vitest"

import { artifactsDirectory, renderAll } from "../../scripts/ContractArtifact.ts"

describe("contract artifacts", () => {
  it("are what the sources compile to", () => {
    const rendered = renderAll()
    assert.deepStrictEqual(readdirSync(artifactsDirectory).toSorted(), [...rendered.keys()].toSorted())
    for (const [file, text] of rendered) {
      assert.strictEqual(readFileSync(new URL(file, artifactsDirectory), "utf8"), text, `${file} is stale`)
    }
  })
})
