import { readdirSync, readFileSync } from "node:fs"

import { assert, describe, it } from "@effect/vitest"

import { productDirectory, renderAll, testingDirectory } from "../../scripts/ContractArtifact.ts"

describe("contract artifacts", () => {
  it("are what the sources compile to, those of the product and those of tests", () => {
    const rendered = renderAll()
    assert.deepStrictEqual([...rendered.keys()], [productDirectory, testingDirectory])
    for (const [directory, files] of rendered) {
      assert.isAbove(files.size, 0)
      assert.deepStrictEqual(readdirSync(directory).toSorted(), [...files.keys()].toSorted())
      for (const [file, text] of files) {
        assert.strictEqual(readFileSync(new URL(file, directory), "utf8"), text, `${file} is stale`)
      }
    }
  })
})
