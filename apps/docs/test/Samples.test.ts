/** The samples of the pages, and of the hosts' own, are the files that `Shops.integration.test.ts` and `npm start` run, to the letter. */
import { assert, describe, it } from "@effect/vitest"

import * as Markdown from "./Markdown.ts"

/** A fence of code, and the file that the comment above it names. */
const fencesOf = (text: string) =>
  [...text.matchAll(/(?:<!-- from (\S+) -->\n\n)?```(js|ts)\n([\s\S]*?)```/g)].map(([, path, , code = ""]) => ({
    path,
    code
  }))

/** Pages with programs. */
const pages = Markdown.filesOf("apps/docs/*.md", "apps/docs/*/*.md").filter(
  (page) => fencesOf(Markdown.read(page)).length > 0
)

describe("the samples of the site", () => {
  it("are on these pages", () => {
    assert.includeMembers([...pages], ["apps/docs/start.md", "apps/docs/sell/index.md", "apps/docs/pay/index.md"])
  })

  for (const page of pages) {
    it(`are files that are run: ${page}`, () => {
      for (const { code, path } of fencesOf(Markdown.read(page))) {
        assert.match(path ?? "", /^apps\/(docs\/examples|demo\/src)\//, code.slice(0, 80))
        assert.strictEqual(code, Markdown.read(path ?? ""))
      }
    })
  }

  for (const host of ["express", "fastify", "hono", "http", "koa", "nestjs", "paywall"]) {
    it(`begin the page of @pontage/${host}`, () => {
      const [{ code, path = "" } = { code: "" }] = fencesOf(Markdown.read(`adapters/${host}/README.md`))
      assert.match(path, new RegExp(`^apps/docs/examples/shop-${host.replace(/js$/, "")}\\.`))
      assert.strictEqual(code, Markdown.read(path))
    })
  }

  it("leave no example out", () => {
    const shown = pages
      .flatMap((page) => fencesOf(Markdown.read(page)).map(({ path = "" }) => path))
      .filter((path) => path.startsWith("apps/docs/"))
    const examples = Markdown.filesOf("apps/docs/examples/*.m*")
    assert.sameMembers([...examples], [...new Set(shown)])
  })
})
