import { readdirSync, readFileSync } from "node:fs"

import { assert, describe, it } from "@effect/vitest"
import { Cell } from "@ton/core"

import { artifactsDirectory, contractsDirectory, renderAll } from "../../scripts/TolkArtifact.ts"
import { SwallowingWallet } from "../../src/testing/index.ts"

describe("contract artifacts", () => {
  it("are what the sources compile to, with nothing beside them", async () => {
    const rendered = await renderAll()
    assert.deepStrictEqual(readdirSync(artifactsDirectory).toSorted(), [...rendered.keys()].toSorted())
    for (const [file, text] of rendered) {
      assert.strictEqual(readFileSync(new URL(file, artifactsDirectory), "utf8"), text, `${file} is stale`)
    }
  })

  it("are one for each source that takes messages, each by the hash of its code", () => {
    const sources = readdirSync(contractsDirectory).map((file) =>
      readFileSync(new URL(file, contractsDirectory), "utf8")
    )
    const contracts = sources.filter((source) => source.includes("fun onInternalMessage("))
    assert.strictEqual(readdirSync(artifactsDirectory).length, contracts.length)
    assert.strictEqual(Cell.fromBase64(SwallowingWallet.code).hash().toString("hex"), SwallowingWallet.codeHash)
  })
})
