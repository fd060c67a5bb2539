import { readFileSync } from "node:fs"

import { assert, describe, it } from "@effect/vitest"

const root = new URL("../../../", import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), "utf8")

/** The snippets that say which file they are from, and every other TypeScript fence, which must not exist. */
const readme = read("README.md")
const snippets = [...readme.matchAll(/<!-- from (\S+) -->\n\n```ts\n([\s\S]*?)```/g)]
const fences = [...readme.matchAll(/```ts\n/g)]

/** Code without the indentation of the place it stands in. */
const dedent = (code: string): string =>
  code
    .split("\n")
    .map((line) => line.trimStart())
    .join("\n")

describe("README", () => {
  it("has no code that is not the demo's, which `npm start` runs", () => {
    assert.isAtLeast(snippets.length, 4)
    assert.strictEqual(fences.length, snippets.length)
    for (const [, path = "", code = ""] of snippets) {
      assert.include(dedent(read(path)), dedent(code).trim(), `a snippet is not in ${path} any more`)
    }
  })

  it("names trials that there are", () => {
    const named = [...readme.matchAll(/`(?:npm run trials -- )?(g\d+(?:-\d+)?)`/g)].map(([, goal]) => goal)
    assert.isAtLeast(named.length, 3)
    for (const goal of named) assert.match(read("apps/trials/src/Trials.ts"), new RegExp(`^  "?${goal}"?:`, "m"))
  })
})
