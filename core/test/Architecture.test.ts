/**
 * The architecture, held: who may import whom, no cycles, one concept a file, sizes a reader can hold. The rules are the
 * tables in `architecture/`; each is shown to fail on a planted breach, so that a green run means something.
 */
import { assert, describe, it } from "@effect/vitest"

import * as Budget from "./architecture/Budget.ts"
import * as Folders from "./architecture/Folders.ts"
import { functionsOf } from "./architecture/FunctionLength.ts"
import { importsOf } from "./architecture/Imports.ts"
import * as Layers from "./architecture/Layers.ts"
import * as ProjectFiles from "./architecture/ProjectFiles.ts"
import { blanked, codeLines, type SourceFile } from "./architecture/SourceText.ts"
import * as Weight from "./architecture/Weight.ts"
import * as Words from "./architecture/Words.ts"

const files = ProjectFiles.all()
const sources = ProjectFiles.sources(files)

describe("a view", () => {
  it("is the whole project", () => {
    assert.isAbove(sources.length, 150)
    assert.isAbove(sources.flatMap(importsOf).length, 700)
    assert.isAbove(sources.flatMap(functionsOf).length, 1_000)
    assert.isAbove(files.length, sources.length + 100)
  })

  for (const place of [
    "core",
    "schemes/evm",
    "adapters/koa",
    "adapters/nestjs",
    "adapters/fetch",
    "apps/facilitator"
  ]) {
    it(`includes ${place}`, () => {
      assert.isAbove(sources.filter(({ path }) => path.startsWith(`${place}/src/`)).length, 1)
    })
  }

  it("includes every floor of the core, and every file is in a layer", () => {
    const floors = Layers.table.filter(({ files: prefix }) => prefix.startsWith("core/"))
    assert.isAbove(floors.length, 8)
    for (const { files: prefix } of floors)
      assert.isTrue(
        sources.some(({ path }) => path.startsWith(prefix)),
        prefix
      )
    for (const { path } of sources)
      assert.isTrue(
        Layers.table.some(({ files: prefix }) => path.startsWith(prefix)),
        path
      )
  })
})

describe("the project", () => {
  it("keeps the layers", () => assert.deepStrictEqual(Layers.breaches(sources, ProjectFiles.isStable), []))
  it("keeps the order of folders", () => assert.deepStrictEqual(Folders.breaches(sources), []))
  it("has no crowded folder", () => assert.deepStrictEqual(Folders.crowdedFolders(sources), []))
  it("uses one word for one thing", () => assert.deepStrictEqual(Words.wordBreaches(files), []))
  it("begins its sentences with their noun", () => assert.deepStrictEqual(Words.sentenceBreaches(files), []))
  it("keeps the size budget", () => assert.deepStrictEqual(Budget.sizeBreaches(sources), []))
  it("names each file after its concept", () => assert.deepStrictEqual(Budget.nameBreaches(sources), []))
  it("keeps clocks, chance and floats out of its libraries", () =>
    assert.deepStrictEqual(Budget.wordBreaches(sources), []))
  it("knows dialects by name in one place", () => assert.deepStrictEqual(Budget.dialectBreaches(sources), []))
  it("mentions no place on one machine", () => assert.deepStrictEqual(Budget.placeBreaches(files), []))
  it("is written in the language of Node 20 where that runs it", () =>
    assert.deepStrictEqual(Budget.languageBreaches(files), []))
  it("installs little, and the peers apart", () => assert.deepStrictEqual(Weight.weightBreaches(files), []))
})

const file = (path: string, text: string): SourceFile => ({ path, text })
const layersOf = (...planted: ReadonlyArray<SourceFile>) =>
  Layers.breaches(planted, (module) => module !== "effect/http/HttpClient")
const statements = (count: number) => Array.from({ length: count }, (_, index) => `  use(${index})`).join("\n")

describe("a planted breach of the layers is found:", () => {
  const cases: Readonly<Record<string, readonly [string, string]>> = {
    "the floor below imports the one above": ["core/src/protocol/A.ts", 'import { b } from "../wire/B.ts"'],
    "the lowest floor imports any": ["core/src/platform/A.ts", 'import type { b } from "../protocol/B.ts"'],
    "two of one floor import each other's": ["core/src/wire/A.ts", 'export { b } from "../scheme/B.ts"'],
    "the client imports the server": ["core/src/client/A.ts", 'export * as B from "../server/B.ts"'],
    "the server imports the engine": ["core/src/server/A.ts", 'import { b } from "../facilitator/SettlementEngine.ts"'],
    "the server imports a file whose name begins alike": [
      "core/src/server/A.ts",
      'import { b } from "../facilitator/Facilitator.ts.ts"'
    ],
    "the core imports Node": ["core/src/facilitator/A.ts", 'import { b } from "node:crypto"'],
    "the core imports a library": ["core/src/client/A.ts", 'const b = await import("viem")'],
    "the core's barrel exports what is for tests": ["core/src/index.ts", 'export * as A from "./testing/A.ts"'],
    "a source imports what is for tests": ["core/src/server/A.ts", 'import { b } from "../testing/B.ts"'],
    "a library imports another's tests": ["adapters/koa/src/A.ts", 'import { b } from "@pontage/core/testing"'],
    "a scheme imports another scheme": ["schemes/ton/src/A.ts", 'import { b } from "@pontage/evm"'],
    "a scheme imports another family's library": ["schemes/tron/src/A.ts", 'import "viem/chains"'],
    "a scheme imports an adapter": ["schemes/evm/src/A.ts", 'import { b } from "@pontage/koa"'],
    "an adapter imports a scheme": ["adapters/koa/src/A.ts", 'import { b } from "@pontage/evm"'],
    "an adapter imports a chain library": ["adapters/fetch/src/A.ts", 'import { b } from "viem"'],
    "an adapter imports another host": ["adapters/koa/src/A.ts", 'import { b } from "@nestjs/common"'],
    "a library imports an app": ["adapters/koa/src/A.ts", 'import { b } from "@pontage/facilitator"'],
    "a path leaves the package": ["adapters/koa/src/A.ts", 'import { b } from "../../../core/src/index.ts"'],
    "a path has no extension": ["core/src/client/A.ts", 'import { b } from "./B"'],
    "a role imports another": ["schemes/evm/src/exact/ExactEvmClient.ts", 'import { b } from "./ExactEvmServer.ts"'],
    "a file imports Effect's barrel": ["apps/demo/src/A.ts", 'import { Effect } from "effect"'],
    "a library imports an unstable module of Effect": [
      "core/src/client/A.ts",
      'import * as B from "effect/http/HttpClient"'
    ],
    "nobody has placed the package": ["tools/x/src/A.ts", 'import * as B from "effect/Effect"']
  }
  for (const [name, [path, text]] of Object.entries(cases)) {
    it(`where ${name}`, () => assert.isNotEmpty(layersOf(file(path, `/** A. */\n${text}\n`))))
  }

  it("a cycle of two, and one of three, of types too", () => {
    const two = [
      file("core/src/wire/A.ts", 'import type { b } from "./B.ts"'),
      file("core/src/wire/B.ts", 'import { a } from "./A.ts"')
    ]
    assert.strictEqual(layersOf(...two).filter((one) => one.startsWith("a cycle")).length, 1)
    const three = ["AB", "BC", "CA"].map(([from, to]) =>
      file(`core/src/wire/${from}.ts`, `export { x } from "./${to}.ts"`)
    )
    assert.strictEqual(layersOf(...three).filter((one) => one.startsWith("a cycle")).length, 1)
  })

  it("and what is allowed is not", () => {
    const allowed = [
      file("core/src/platform/P.ts", 'import * as Effect from "effect/Effect"'),
      file("core/src/server/A.ts", 'import { b } from "../facilitator/Facilitator.ts"\nimport { c } from "./C.ts"'),
      file("core/src/testing/A.ts", 'import { b } from "../facilitator/SettlementEngine.ts"'),
      file(
        "schemes/evm/src/exact/ExactEvmClient.ts",
        'import { a } from "viem/accounts"\nimport { b } from "./ExactEvm.ts"'
      ),
      file(
        "apps/demo/src/A.ts",
        'import { a } from "@pontage/evm/testing"\nimport * as B from "effect/http/HttpClient"'
      )
    ]
    assert.deepStrictEqual(layersOf(...allowed), [])
  })
})

const lockOf = (packages: Readonly<Record<string, object>>) => JSON.stringify({ packages })
const locks = (mine: Readonly<Record<string, object>>, theirs: Readonly<Record<string, object>> = {}) =>
  Weight.weightBreaches([
    file("package-lock.json", lockOf(mine)),
    file("apps/conformance/package-lock.json", lockOf(theirs))
  ])
const many = (count: number, entry: object) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`node_modules/p${index}`, entry]))

describe("a planted breach of the weight is found:", () => {
  const cases: Readonly<Record<string, ReadonlyArray<string>>> = {
    "there are too many packages": locks(many(Weight.packageCap + 1, { version: "1.0.0" })),
    "a peer comes with the workspaces": locks({ "node_modules/x402-express": { version: "1.2.0" } }),
    "a peer comes below another package": locks({
      "node_modules/a/node_modules/@t402/evm": { version: "2.2.0" }
    }),
    "a lock file names a registry": locks({ "node_modules/a": { resolved: "https://registry.example/a.tgz" } }),
    "the peers' lock file names a registry": locks({}, { "node_modules/a": { resolved: "https://a.example/a" } }),
    "the peers meet another viem": locks(
      { "node_modules/viem": { version: "2.57.1" } },
      { "node_modules/viem": { version: "2.57.2" } }
    ),
    "a lock file is missing": Weight.weightBreaches([file("package-lock.json", lockOf({}))]),
    "a lock file is none": Weight.weightBreaches([
      file("package-lock.json", "{}"),
      file("apps/conformance/package-lock.json", lockOf({}))
    ])
  }
  for (const [name, found] of Object.entries(cases)) it(`where ${name}`, () => assert.lengthOf(found, 1))

  it("and what is allowed is not", () => {
    const light = { "node_modules/@x402/fetch": { version: "2.27.0" }, "node_modules/@pontage/core": { link: true } }
    const platforms = many(Weight.packageCap + 1, { version: "1.0.0", os: ["linux"], cpu: ["x64"] })
    assert.deepStrictEqual(locks({ ...light, ...platforms }, { "node_modules/x402": { version: "1.2.0" } }), [])
  })
})

describe("a planted breach of the words is found:", () => {
  for (const text of [
    "const flights = 1",
    "interface Traveller {}",
    "// the lane departs",
    "const inTheAir = 2",
    "/** The payer's half. */",
    " * @category models"
  ])
    it(`"${text}"`, () => assert.isNotEmpty(Words.wordBreaches([file("apps/demo/src/A.ts", text)])))
  for (const text of [
    "/** What a buyer pays. */",
    " * Whoever asks waits.",
    "// waits so long",
    "/** Nobody reads it. */",
    'it.effect("what was sent is found", () =>',
    'law(\n  "whoever pays is served", () =>'
  ])
    it(`"${text}"`, () => assert.isNotEmpty(Words.sentenceBreaches([file("apps/demo/src/A.ts", text)])))

  it("and plain ones are not", () => {
    const plain = [
      file("apps/demo/src/A.ts", '/** The price, in cents. */\nconst preflight = "in_flight"\n// as long as it holds')
    ]
    assert.deepStrictEqual([...Words.wordBreaches(plain), ...Words.sentenceBreaches(plain)], [])
  })
})

describe("a planted breach of the order of folders is found:", () => {
  it("an import from a folder above", () => {
    const planted = [file("schemes/evm/src/node/A.ts", 'import { b } from "../exact/B.ts"')]
    assert.strictEqual(Folders.breaches(planted).length, 1)
  })
  it("a file in no folder", () =>
    assert.strictEqual(Folders.breaches([file("schemes/ton/src/attic/A.ts", "")]).length, 1))
  it("a crowded folder", () => {
    const crowd = Array.from({ length: Folders.mostBeside + 1 }, (_, index) => file(`core/src/wire/A${index}.ts`, ""))
    assert.strictEqual(Folders.crowdedFolders(crowd).length, 1)
  })
  it("and imports of the own folder and those below are not", () => {
    const planted = [
      file("schemes/evm/src/node/A.ts", 'import { b } from "../primitives/B.ts"\nimport { c } from "./C.ts"')
    ]
    assert.deepStrictEqual(Folders.breaches(planted), [])
  })
})

const specifiers = (text: string) => importsOf(file("A.ts", text)).map(({ specifier }) => specifier)

describe("imports are read", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ['import a from "x"', ["x"]],
    ['import * as a from "x"', ["x"]],
    ['import type { A } from "x"', ["x"]],
    ['import {\n  a,\n  type B as C\n} from "x"', ["x"]],
    ['import a, { b } from "x"', ["x"]],
    ['import "x"', ["x"]],
    ["import 'x'", ["x"]],
    ['export { a } from "x"', ["x"]],
    ['export * from "x"', ["x"]],
    ['export * as a from "x"', ["x"]],
    ['export type { A } from "x"', ["x"]],
    ['const a = await import("x")', ["x"]],
    ["const a = await import(\n  `x`\n)", ["x"]],
    ['type A = import("x").A', ["x"]],
    ['import a from "x"; import b from "y"', ["x", "y"]],
    ['import a from "x" with { type: "json" }', ["x"]],
    ['// import a from "x"', []],
    ['/* import a from "x" */', []],
    ["const a = 'import b from \"x\"'", []],
    ['const a = `import b from "x"`', []],
    ['const a = /import b from "x"/', []],
    ['const from = "x"', []],
    ['export const a = "x"', []],
    ['const a = `${await import("x")} import("y")`', ["x"]],
    ["const a = import.meta.url", []]
  ]
  for (const [text, expected] of cases) {
    it(`in ${JSON.stringify(text)}`, () => assert.deepStrictEqual(specifiers(text), expected))
  }
})

describe("code is told from what is not", () => {
  const cases: ReadonlyArray<readonly [string, string]> = [
    ["a // b", "a     "],
    ["a /* b\nc */ d", "a     \n     d"],
    ['"a//b" c', '"    " c'],
    ["`a${b}c` d", "` ${b} ` d"],
    ["`a${`b${c}`}d`", "` ${` ${c}`} `"],
    ['x = /a"b/ + c', "x = /   / + c"],
    ['x = /[/"]/ + c', "x = /    / + c"],
    ["a / b / c", "a / b / c"],
    ['"a\\"b" c', '"    " c']
  ]
  for (const [text, expected] of cases) {
    it(`in ${JSON.stringify(text)}`, () => assert.strictEqual(blanked(text), expected))
  }

  it("lines of code are neither blank nor comment", () => {
    assert.strictEqual(codeLines(blanked("/** A.\n * B.\n */\n\nconst a = 1 // c\n// d\nconst b = `\n`\n")), 3)
  })
})

const lengths = (text: string) => functionsOf(file("A.ts", text)).map(({ lines }) => lines)

describe("functions are measured", () => {
  const cases: ReadonlyArray<readonly [string, string, ReadonlyArray<number>]> = [
    ["an arrow with a body", "const f = () => {\n  a()\n\n  // b\n  c()\n}\n", [4]],
    ["an arrow with an expression", "const f = (a) =>\n  a\n    ? b\n    : c\n\nconst g = 1\n", [4]],
    ["an arrow with parameters on lines of their own", "const f = (\n  a: A,\n  b: B\n): C => {\n  a(b)\n}\n", [6]],
    ["an arrow in a call", "f(\n  (a) => a,\n  b\n)\n", [1]],
    ["a function", "export function* f<A>(a: A): G<{ b: A }> {\n  a()\n}\n", [3]],
    ["a method", "class A {\n  private async f(a: B): Promise<C> {\n    a()\n  }\n}\n", [3]],
    ["a generator in a call", "const f = Effect.fn(function* (\n  a: A\n) {\n  yield* a\n})\n", [5]],
    ["no function in types", "interface A {\n  readonly f: (a: B) => C\n  f(a: B): C\n}\ntype F = (a: B) => C\n", []],
    ["no function in statements", "if (a) {\n  b()\n}\n", []]
  ]
  for (const [name, text, expected] of cases) {
    it(`as ${name}`, () => assert.deepStrictEqual(lengths(text), expected))
  }
})

const compiled = (path: string, lib: string) => Budget.languageBreaches([file(path, `{ "lib": [${lib}] }`)]).length

describe("a planted breach of the budget is found:", () => {
  const path = "core/src/wire/A.ts"
  const many = Array.from({ length: 40 }, (_, index) => file(`core/src/wire/Small${index}.ts`, "const a = () => 1\n"))

  it("a file that is too long", () => {
    const long = file(path, "const a = 1\n".repeat(Budget.fileCap + 1))
    assert.deepStrictEqual(Budget.sizeBreaches([...many, long]), [`${path}: 501 lines of code`])
    const commented = file(path, `${"// a\n".repeat(5_000)}${"const a = 1\n".repeat(Budget.fileCap)}`)
    assert.deepStrictEqual(Budget.sizeBreaches([...many, commented]), [])
  })

  it("a function that is too long, in whatever form", () => {
    for (const head of ["const f = () => {", "function f() {", "const f = Effect.fn(function* (a) {"]) {
      const end = head.includes("(function") ? "})" : "}"
      const long = file(path, `${head}\n${statements(Budget.functionCap - 1)}\n${end}\n`)
      assert.deepStrictEqual(Budget.sizeBreaches([...many, long]), [`${path}:1: a function of 81 lines`], head)
      const fits = file(path, `${head}\n${statements(Budget.functionCap - 2)}\n${end}\n`)
      assert.deepStrictEqual(Budget.sizeBreaches([...many, fits]), [], head)
    }
    const expression = file(path, `const f = () =>\n  pipe(\n${statements(Budget.functionCap)}\n  )\n`)
    assert.strictEqual(Budget.sizeBreaches([...many, expression]).length, 1)
    const method = file(path, `class A {\n  f(a: B): C {\n${statements(Budget.functionCap)}\n  }\n}\n`)
    assert.strictEqual(Budget.sizeBreaches([...many, method]).length, 1)
  })

  it("too many long files, too many long functions", () => {
    const longFiles = Array.from({ length: 50 }, (_, index) =>
      file(`core/src/wire/Long${index}.ts`, "const a = 1\n".repeat(400))
    )
    assert.strictEqual(Budget.sizeBreaches([...many, ...longFiles]).length, 2)
    const longFunctions = Array.from({ length: 10 }, (_, index) =>
      file(`core/src/wire/Long${index}.ts`, `const f = () => {\n${statements(60)}\n}\n`)
    )
    assert.strictEqual(Budget.sizeBreaches([...many, ...longFunctions]).length, 1)
  })

  for (const name of ["utils.ts/x", "shop-window.ts", "camelCase.ts", "Snake_case.ts", "a.b.ts"]) {
    it(`the name ${name}`, () => {
      assert.strictEqual(Budget.nameBreaches([file(`core/src/wire/${name.split("/")[0]}`, "")]).length, 1)
    })
  }

  it("names that too many share", () => {
    const shared = [file("core/src/wire/Same.ts", ""), file("core/src/client/Same.ts", "")]
    assert.strictEqual(Budget.nameBreaches([...many, ...shared]).length, 0)
    const more = ["server", "scheme", "facilitator"].map((folder) => file(`core/src/${folder}/Same.ts`, ""))
    assert.strictEqual(Budget.nameBreaches([...many, ...shared, ...more]).length, 1)
  })

  it("names that are allowed are not", () => {
    const paths = [
      "core/src/index.ts",
      "apps/demo/src/main.ts",
      "adapters/fetch/src/node.ts",
      "adapters/nestjs/src/payment.guard.ts"
    ]
    assert.deepStrictEqual(Budget.nameBreaches(paths.map((one) => file(one, ""))), [])
  })

  for (const word of ["Date.now()", "new Date()", "Math.random()", "parseFloat(a)"]) {
    it(`${word} in a library, and not in a comment, a text or an app`, () => {
      assert.strictEqual(Budget.wordBreaches([file("adapters/koa/src/A.ts", `const a = ${word}`)]).length, 1)
      const elsewhere = [
        file("adapters/koa/src/A.ts", `// ${word}\nconst a = "${word}"`),
        file("apps/bench/src/A.ts", `const a = ${word}`)
      ]
      assert.deepStrictEqual(Budget.wordBreaches(elsewhere), [])
    })
  }

  it("a dialect's name in a library, and not in a comment, a module's path, an app, or where dialects are written", () => {
    for (const code of ["const a = x402v2Seller", 'const a = "X402"', "const a = `${b} x402`"]) {
      assert.strictEqual(Budget.dialectBreaches([file("core/src/client/A.ts", code)]).length, 1, code)
      assert.deepStrictEqual(Budget.dialectBreaches([file("core/src/wire/A.ts", code)]), [], code)
      assert.deepStrictEqual(Budget.dialectBreaches([file("apps/bench/src/A.ts", code)]), [], code)
    }
    const named = '/** x402 */\n// x402\nimport * as Asking from "../wire/X402ClientApi.ts"\n'
    assert.deepStrictEqual(Budget.dialectBreaches([file("core/src/client/A.ts", named)]), [])
  })

  it("a language that Node 20 does not speak, in what is published and in the service", () => {
    const newer = '"es2024", "esnext.disposable", "dom", "dom.iterable"'
    const older = '"es2023", "esnext.disposable", "dom", "dom.iterable"'
    for (const path of ["core", "schemes/evm", "adapters/mcp", "apps/facilitator"]) {
      assert.strictEqual(compiled(`${path}/tsconfig.json`, newer), 1)
      assert.strictEqual(compiled(`${path}/tsconfig.json`, older), 0)
      assert.strictEqual(Budget.languageBreaches([file(`${path}/tsconfig.json`, "{}")]).length, 1)
    }
    assert.strictEqual(compiled("apps/bench/tsconfig.json", newer), 0)
  })

  it("a place on one machine, in any file", () => {
    const place = ["", "work", "somewhere"].join("/")
    assert.strictEqual(Budget.placeBreaches([file("README.md", `see ${place}/x`)]).length, 1)
    assert.deepStrictEqual(Budget.placeBreaches([file("README.md", `see the.net${place} and net${place}`)]), [])
  })
})
