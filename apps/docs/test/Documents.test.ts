/** All documents of the repository against its files: links, anchors, commands, folders, and what the code refers to. */
import { existsSync, statSync } from "node:fs"

import { assert, describe, it } from "@effect/vitest"

import * as Markdown from "./Markdown.ts"

/** `npm start`, `npm run <script>`, of the whole project or of one package by `-w <folder>`. */
const npmCommand = /npm (?:run )?(?:-w (\S+) )?(start|test|(?<=npm run (?:-w \S+ )?)[a-z:-]+)(?: -w ([\w/]+))?/g

const isFolder = (path: string): boolean =>
  existsSync(new URL(path, Markdown.root)) && statSync(new URL(path, Markdown.root)).isDirectory()

/** The document that a link to this place leads to: a folder shows its README. */
const documentAt = (place: URL): string => {
  const path = decodeURIComponent(place.pathname.slice(Markdown.root.pathname.length))
  return isFolder(path) ? `${path.replace(/\/$/, "")}/README.md` : path
}

/** The links of a document that lead nowhere. */
const broken = (document: string, text: string): ReadonlyArray<string> =>
  Markdown.linksOf(text).flatMap(({ anchor, path }) => {
    const place = path.startsWith("/")
      ? new URL(path.slice(1), Markdown.root)
      : new URL(path, new URL(document, Markdown.root))
    if (path !== "" && !existsSync(place)) return [`${document} links to ${path}, which does not exist`]
    const linked = path === "" ? text : anchor === "" ? "" : Markdown.read(documentAt(place))
    return anchor === "" || Markdown.anchorsOf(linked).has(anchor)
      ? []
      : [`${document} links to ${path}#${anchor}, and no heading there has that anchor`]
  })

describe("the documents", () => {
  it("are all looked at", () => assert.isAtLeast(Markdown.documents.length, 18))

  for (const document of Markdown.documents) {
    it(`link to what exists: ${document}`, () => assert.deepStrictEqual(broken(document, Markdown.read(document)), []))

    it(`name commands that there are: ${document}`, () => {
      for (const [command, before, script = "", after] of Markdown.read(document).matchAll(npmCommand)) {
        const { scripts } = JSON.parse(Markdown.read(`${before ?? after ?? "."}/package.json`))
        assert.property(scripts, script, command)
      }
    })
  }

  it("that link to nothing are found", () => {
    const text =
      "## Here\n\n[a](#here) [b](#there) [c](nothing.md) [d](../../README.md#pay) [e](../../README.md#no) [f](https://github.com/pontage/pontage/blob/main/README.md#no)\n"
    assert.lengthOf(broken("apps/docs/planted.md", text), 4)
  })

  it("are linked from the README: the protocol and the glossary", () => {
    const links = Markdown.linksOf(Markdown.read("README.md")).map(({ path }) => path)
    assert.includeMembers(links, ["apps/docs/protocol.md", "apps/docs/glossary.md"])
  })
})

const sources = Markdown.filesOf("{core,adapters,schemes,apps}/**/*.{ts,sol,tolk,md}", "*.md", ".github/*.md")
const cited = sources.flatMap((path) =>
  [...Markdown.read(path).matchAll(/apps\/docs\/(\w+\.md)#([\w-]+)/g)].map(([, document = "", anchor = ""]) => ({
    path,
    document,
    anchor
  }))
)

describe("the code", () => {
  it("is all looked at", () => {
    assert.isAtLeast(sources.length, 800)
    assert.isAtLeast(cited.length, 15)
  })

  it("refers to sections that there are", () => {
    const missing = cited.filter(
      ({ anchor, document }) => !Markdown.anchorsOf(Markdown.read(`apps/docs/${document}`)).has(anchor)
    )
    assert.deepStrictEqual(missing, [])
  })

  it("refers to no document outside the repository", () => {
    const old = /(?<!x402 )\b(?:specification|decisions) (?:\d|on money)|\(decisions\b/
    const stale = sources.filter((path) => path !== "apps/docs/test/Documents.test.ts" && old.test(Markdown.read(path)))
    assert.deepStrictEqual(stale, [])
  })
})

/** The folders that a table names. */
const foldersIn = (text: string): ReadonlyArray<string> => [
  ...new Set([...text.matchAll(/`((?:core|schemes|adapters|apps)(?:\/[\w*-]+)*)`/g)].map(([, folder = ""]) => folder))
]

/** Whether there are sources in a folder; `schemes/*` stands for each chain family. */
const hasSources = (folder: string): boolean =>
  ["evm", "ton", "tron"].every((family) => {
    const named = folder.replace("schemes/*", `schemes/${family}`).replace(/\/\*$/, "")
    return sources.some((path) => path.startsWith(`${named}/`))
  })

describe("the map of the contributor's guide", () => {
  const [, map = ""] = /## The map\n([\s\S]*?)\n## /.exec(Markdown.read(".github/CONTRIBUTING.md")) ?? []
  const named = foldersIn(map)

  it("names folders that there are", () => {
    assert.isAtLeast(named.length, 10)
    for (const folder of named) assert.isTrue(hasSources(folder), folder)
    assert.isFalse(hasSources("core/src/nowhere"))
  })

  it("leaves no folder of sources out", () => {
    const folders = new Set(
      Markdown.filesOf("{core,adapters,schemes,apps}/**/src/**/*.ts").map((path) =>
        path.startsWith("core/") ? path.split("/").slice(0, 3).join("/") : path.split("/").slice(0, 2).join("/")
      )
    )
    const left = [...folders].filter(
      (folder) => !folder.endsWith(".ts") && !named.some((one) => one === folder || one === `${folder.split("/")[0]}/*`)
    )
    assert.deepStrictEqual(left, [])
  })
})

describe("the glossary", () => {
  const text = Markdown.read("apps/docs/glossary.md")
  const rows = text
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .slice(2)
    .map((line) => line.split("|").map((cell) => cell.trim()))

  it("names folders that there are", () => {
    assert.isAtLeast(rows.length, 50)
    for (const [, word, , folders = ""] of rows) {
      assert.isNotEmpty(foldersIn(folders), word)
      for (const folder of foldersIn(folders)) assert.isTrue(hasSources(folder), `${word}: ${folder}`)
    }
  })

  it("is in alphabetical order, each word once", () => {
    const words = rows.map(([, word = ""]) => word)
    assert.deepStrictEqual(
      words,
      [...new Set(words)].toSorted((one, other) => one.localeCompare(other, "en"))
    )
  })
})
