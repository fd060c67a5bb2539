import { readFileSync } from "node:fs"

import { assert, describe, it } from "@effect/vitest"

const root = new URL("../../../", import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), "utf8")

const readme = read("README.md")

/** The snippets of a document that say which file they are from. */
const snippetsOf = (document: string) => [...document.matchAll(/<!-- from (\S+) -->\n\n```ts\n([\s\S]*?)```/g)]

/** Code without the indentation of the place it stands in. */
const dedent = (code: string): string =>
  code
    .split("\n")
    .map((line) => line.trimStart())
    .join("\n")

/** Every TypeScript fence of the document is a piece of a file of the demo; there are at least so many. */
const holdsCode = (document: string, least: number) => {
  const text = read(document)
  const snippets = snippetsOf(text)
  assert.isAtLeast(snippets.length, least)
  assert.strictEqual([...text.matchAll(/```ts\n/g)].length, snippets.length)
  for (const [, path = "", code = ""] of snippets) {
    assert.match(path, /^apps\/demo\/src\//)
    assert.include(dedent(read(path)), dedent(code).trim(), `a snippet is not in ${path} any more`)
  }
}

describe("README", () => {
  it("has no code that is not the demo's, which `npm start` runs", () => holdsCode("README.md", 4))

  it("names trials that there are", () => {
    const named = [...readme.matchAll(/`(?:npm run trials -- )?(g\d+(?:-\d+)?)`/g)].map(([, goal]) => goal)
    assert.isAtLeast(named.length, 3)
    for (const goal of named) assert.match(read("apps/trials/src/Trials.ts"), new RegExp(`^  "?${goal}"?:`, "m"))
  })
})

describe("core/README", () => {
  it("has no code that is not the demo's, which `EffectShop.integration.test.ts` runs", () =>
    holdsCode("core/README.md", 2))
})
