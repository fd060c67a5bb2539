import { assert, describe, it } from "@effect/vitest"

import * as CleanProject from "../scripts/CleanProject.ts"
import * as Manifests from "../scripts/Manifests.ts"
import { type Package, project, published } from "../scripts/Packages.ts"

const root = project()
const all = published()
const koa = all.find(({ manifest: { name } }) => name === "@pontage/koa") ?? assert.fail("no @pontage/koa")
const page = "# @pontage/koa\n\n## Install\n"

const faultsWith = (change: Partial<Package["manifest"]>, text = page) =>
  Manifests.faultsOf({ ...koa, manifest: { ...koa.manifest, ...change } }, text, root).join("\n")

describe("the published packages", () => {
  it("are every library and the facilitator, and no other app", () => {
    const names = all.map(({ manifest: { name } }) => name)
    for (const name of ["core", "evm", "ton", "tron", "fetch", "koa", "nestjs", "mcp", "sql", "facilitator"]) {
      assert.include(names, `@pontage/${name}`)
    }
    assert.include(names, "pontage")
    for (const name of ["demo", "devnet", "bench", "trials", "docs", "conformance", "release"]) {
      assert.notInclude(names, `@pontage/${name}`)
    }
    for (const { directory, manifest } of all) {
      assert.isTrue(
        /^(?:core|schemes\/|adapters\/|apps\/)/.test(directory) && manifest.version === root.version,
        directory
      )
    }
  })

  it("have complete manifests and pages that stand alone", () => assert.deepStrictEqual(Manifests.faults(), []))
})

describe("a planted fault is found:", () => {
  it("none at first", () => assert.strictEqual(faultsWith({}), ""))
  it("no provenance", () =>
    assert.include(faultsWith({ publishConfig: { access: "public", provenance: false } }), "publishConfig"))
  it("a tarball that nobody builds", () => assert.include(faultsWith({ scripts: {} }), "scripts is not as"))
  it("another repository", () => assert.include(faultsWith({ homepage: "https://example.com" }), "homepage"))
  it("no sources for the debugger", () => assert.include(faultsWith({ files: ["dist"] }), "files lists"))
  it("no Install", () => assert.include(faultsWith({}, "# @pontage/koa\n"), '"## Install" is missing'))
  it("a relative link", () => assert.include(faultsWith({}, `${page}[x](../../README.md)`), "works in no registry"))
  it("a dead link into the repository", () => {
    const dead = "https://github.com/pontage/pontage/blob/main/adapters/nobody/README.md"
    assert.include(faultsWith({}, `${page}[x](${dead})`), "adapters/nobody/README.md, which is not there")
  })
})

describe("the entry points of tarballs", () => {
  it("are the names that programs import", () => {
    const tarball = { ...koa, path: "", unpacked: "" }
    const manifest = { ...koa.manifest, exports: { ".": {}, "./testing": {} } }
    assert.deepStrictEqual(CleanProject.entryPoints([{ ...tarball, manifest }]), [
      "@pontage/koa",
      "@pontage/koa/testing"
    ])
  })
})
