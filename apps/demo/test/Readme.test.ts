import { readFileSync } from "node:fs"

import { assert, describe, it } from "@effect/vitest"

const root = new URL("../../../", import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), "utf8")

/** The snippets of a document that say which file they are from. */
const snippetsOf = (document: string) => [...document.matchAll(/<!-- from (\S+) -->\n\n```ts\n([\s\S]*?)```/g)]

/** Code without the indentation of the place it stands in. */
const dedent = (code: string): string =>
  code
    .split("\n")
    .map((line) => line.trimStart())
    .join("\n")

/** The folders whose files are run: by the demo and its tests, and from packed packages by `npm run release:check`. */
const runFolders = ["apps/demo/src/", "apps/release/samples/"]

/** The TypeScript fences of a document that no file that is run contains; all of them if there are fewer than `least`. */
const strayCode = (document: string, least: number): ReadonlyArray<string> => {
  const text = read(document)
  const fences = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) => code)
  const held = new Set(
    snippetsOf(text).flatMap(([, path = "", code = ""]) =>
      runFolders.some((folder) => path.startsWith(folder)) && dedent(read(path)).includes(dedent(code).trim())
        ? [code]
        : []
    )
  )
  return held.size < least ? fences : fences.filter((code) => !held.has(code))
}

describe("README", () => {
  it("has only code of the demo, which `npm start` runs", () => assert.deepStrictEqual(strayCode("README.md", 4), []))

  it("links a page of failures that names existing trials", () => {
    assert.include(read("README.md"), "apps/docs/failures.md")
    const named = [...read("apps/docs/failures.md").matchAll(/`(?:npm run trials -- )?(g\d+(?:-\d+)?)`/g)].map(
      ([, goal]) => goal
    )
    assert.isAtLeast(named.length, 3)
    for (const goal of named) assert.match(read("apps/trials/src/Trials.ts"), new RegExp(`^  "?${goal}"?:`, "m"))
  })
})

describe("core/README", () => {
  it("has only code that `EffectShop.integration.test.ts` or the release check runs", () =>
    assert.deepStrictEqual(strayCode("core/README.md", 3), []))
})
