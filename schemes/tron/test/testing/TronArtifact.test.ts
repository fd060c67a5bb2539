import { readdirSync, readFileSync } from "node:fs"

import { assert, describe, it } from "@effect/vitest"

import { artifactsDirectory, renderAll } from "../../scripts/TronArtifact.ts"

describe("TRON contract artifacts", () => {
  it("equal the compiled sources", () => {
    const files = renderAll()
    assert.isAbove(files.size, 0)
    assert.deepStrictEqual(readdirSync(artifactsDirectory).toSorted(), [...files.keys()].toSorted())
    for (const [file, text] of files) {
      assert.strictEqual(readFileSync(new URL(file, artifactsDirectory), "utf8"), text, `${file} is stale`)
    }
  })
})
