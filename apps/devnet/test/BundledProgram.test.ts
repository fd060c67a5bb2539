import { readFileSync } from "node:fs"
import { fileURLToPath, pathToFileURL } from "node:url"

import { assert, describe, it } from "@effect/vitest"

import * as BundledProgram from "../src/BundledProgram.ts"

const sourceOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))

describe("a bundled program", () => {
  it("is made once for a state of the sources", () => {
    const source = sourceOf("../src/UsablePorts.ts")
    const file = BundledProgram.fileOf(source)
    const text = readFileSync(file, "utf8")
    assert.strictEqual(BundledProgram.fileOf(source), file)
    assert.strictEqual(readFileSync(file, "utf8"), text)
  })

  it("is another one for each module", () => {
    const files = ["../src/UsablePorts.ts", "../src/LoopbackServer.ts"].map((name) =>
      BundledProgram.fileOf(sourceOf(name))
    )
    assert.strictEqual(new Set(files).size, files.length)
  })

  it("has the module's exports, which work", async () => {
    const source = await import("../src/UsablePorts.ts")
    const bundled: object = await import(pathToFileURL(BundledProgram.fileOf(sourceOf("../src/UsablePorts.ts"))).href)
    assert.deepStrictEqual(Object.keys(bundled).toSorted(), Object.keys(source).toSorted())
  })

  it("leaves packages with native code where they are installed", () => {
    const text = readFileSync(BundledProgram.fileOf(sourceOf("../src/DevNet.ts")), "utf8")
    assert.match(text, /from "@ton\/core"/)
    assert.notMatch(text, /from "effect\//)
  })

  it("throws for a module that is not there", () => {
    assert.throws(() => BundledProgram.fileOf(sourceOf("./Absent.ts")), /Absent/)
  })
})
