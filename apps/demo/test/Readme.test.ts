import { existsSync, globSync, readFileSync } from "node:fs"

import { assert, describe, it } from "@effect/vitest"

const root = new URL("../../../", import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), "utf8")

/** The snippets that say which file they are from, and every other TypeScript fence, which must not exist. */
const readme = read("README.md")
const snippets = [...readme.matchAll(/<!-- from (\S+) -->\n\n```ts\n([\s\S]*?)```/g)]
const fences = [...readme.matchAll(/```ts\n/g)]

/** `npm start`, `npm run <script>`, of the whole project or of one package by `-w <folder>`. */
const npmCommand = /npm (?:run )?(?:-w (\S+) )?(start|test|(?<=npm run (?:-w \S+ )?)[a-z:-]+)(?: -w ([\w/]+))?/g

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

const documents = globSync(["README.md", ".github/*.md", "core/*.md", "{adapters,schemes,apps}/*/*.md"], {
  cwd: root,
  exclude: ["**/node_modules/**"]
})

describe("the documents", () => {
  it("are all looked at", () => assert.isAtLeast(documents.length, 9))

  for (const document of documents) {
    it(`link to what exists: ${document}`, () => {
      for (const [, path = ""] of read(document).matchAll(/\]\((?!https?:)([^)#]*)(?:#[^)]*)?\)/g)) {
        assert.isTrue(existsSync(new URL(path, new URL(document, root))), `${document} links to ${path}`)
      }
    })

    it(`name commands that there are: ${document}`, () => {
      for (const [command, before, script = "", after] of read(document).matchAll(npmCommand)) {
        const { scripts } = JSON.parse(read(`${before ?? after ?? "."}/package.json`))
        assert.property(scripts, script, command)
      }
    })
  }
})
