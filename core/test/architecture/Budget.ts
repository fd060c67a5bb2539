/** The limits of what a reader can hold in the head: sizes of files and functions, names of files, forbidden calls. */
import { functionsOf } from "./FunctionLength.ts"
import { blanked, codeLines, type SourceFile } from "./SourceText.ts"

export const fileCap = 500
export const fileNinth = 350
export const fileMedian = 100
export const functionCap = 80
export const functionNinth = 35

/** The value below which a percentage of the values lies. */
export const percentile = (values: ReadonlyArray<number>, percent: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? 0
}

/** Written by a program, not to be read. */
const isGenerated = (path: string) => path.includes("/artifacts/")

/** Every breach of the size budget. */
export const sizeBreaches = (project: ReadonlyArray<SourceFile>): ReadonlyArray<string> => {
  const written = project.filter(({ path }) => !isGenerated(path))
  const files = written.map(({ path, text }) => ({ path, lines: codeLines(blanked(text)) }))
  const functions = written.flatMap(functionsOf)
  const fileLines = files.map(({ lines }) => lines)
  const functionLines = functions.map(({ lines }) => lines)
  const spread: ReadonlyArray<readonly [string, number, number]> = [
    ["median of the files", percentile(fileLines, 50), fileMedian],
    ["90th percentile of the files", percentile(fileLines, 90), fileNinth],
    ["90th percentile of the functions", percentile(functionLines, 90), functionNinth]
  ]
  return [
    ...files.flatMap(({ lines, path }) => (lines > fileCap ? [`${path}: ${lines} lines of code`] : [])),
    ...functions.flatMap(({ line, lines, path }) =>
      lines > functionCap ? [`${path}:${line}: a function of ${lines} lines`] : []
    ),
    ...spread.flatMap(([what, found, allowed]) =>
      found > allowed ? [`${what}: ${found} lines, at most ${allowed}`] : []
    )
  ]
}

const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1)

/** An entry point is named after the subpath it serves, a command's after its work, Nest's files after Nest's habit. */
const mayRepeat = (path: string) => /\/(?:index|main)\.ts$/.test(path)
const isEntryPoint = (path: string) => /\/src\/[a-z]+\.ts$/.test(path)
const isNests = (path: string) => /^adapters\/nestjs\/src\/[a-z]+(?:-[a-z]+)*\.[a-z]+(?:-[a-z]+)*\.ts$/.test(path)

/** Every file that is not named after its one concept; and too many that share a name. */
export const nameBreaches = (project: ReadonlyArray<SourceFile>): ReadonlyArray<string> => {
  const named = project.map(({ path }) => path).filter((path) => !mayRepeat(path))
  const wrong = named.filter(
    (path) => !/^[A-Z][A-Za-z0-9]*\.ts$/.test(nameOf(path)) && !isEntryPoint(path) && !isNests(path)
  )
  const shared = named.filter((path) => named.some((other) => other !== path && nameOf(other) === nameOf(path)))
  return [
    ...wrong.map((path) => `${path}: not in PascalCase`),
    ...(shared.length * 10 > named.length ? [`${shared.length} files of ${named.length} share a name`] : [])
  ]
}

const libraries = /^(?:core|schemes\/[a-z]+|adapters\/[a-z]+)\/src\//

/** The calls that no library makes: they read a clock or chance past the services, or put money near floating point. */
const forbidden: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bDate\.now\s*\(/, "Date.now()"],
  [/\bnew\s+Date\b/, "new Date"],
  [/\bMath\.random\b/, "Math.random"],
  [/\bparseFloat\b/, "parseFloat"],
  [/\bprocess\.hrtime\b/, "process.hrtime"]
]

/** Every forbidden word in the code of a library. */
export const wordBreaches = (project: ReadonlyArray<SourceFile>): ReadonlyArray<string> =>
  project
    .filter(({ path }) => libraries.test(path))
    .flatMap(({ path, text }) => {
      const code = blanked(text)
      return forbidden.flatMap(([pattern, word]) => (pattern.test(code) ? [`${path}: ${word}`] : []))
    })

/** Dialects are known by name where they are written, where another facilitator speaks one, and in the list of exports. */
const namesDialects = (path: string) =>
  path.startsWith("core/src/wire/") || path.startsWith("core/src/facilitator/x402/") || path === "core/src/index.ts"

/** Code with its texts; comments may name a dialect for the reader, and a module's path is where it lies. */
const spoken = (text: string): string =>
  text
    .replaceAll(/\/\*[\s\S]*?\*\//g, "")
    .replaceAll(/(^|\s)\/\/.*$/gm, "")
    .replaceAll(/\bfrom "[^"]*"/g, "")

/**
 * Every library file that knows a foreign dialect by name: inside there is one vocabulary. An address may begin with its digits, and
 * a contract's name is in what is signed and in what is generated of its source.
 */
export const dialectBreaches = (project: ReadonlyArray<SourceFile>): ReadonlyArray<string> =>
  project
    .filter(({ path }) => libraries.test(path) && !namesDialects(path) && !isGenerated(path))
    .flatMap(({ path, text }) =>
      /(?<!0)x402(?! Batch Settlement")/i.test(spoken(text)) ? [`${path}: a dialect's name`] : []
    )

/** Put together, so that this file does not mention it. */
const workplace = new RegExp(`(?<![\\w.-])${["", "work", ""].join("/")}`)

/** Every file, code or not, that mentions a path of one machine. */
export const placeBreaches = (files: ReadonlyArray<SourceFile>): ReadonlyArray<string> =>
  files.flatMap(({ path, text }) => (workplace.test(text) ? [`${path}: a path of one machine`] : []))

/** The published packages and the service run on Node 20, which has the language of 2023 and a part of that of 2024. */
const onNode20 = /^(?:core|schemes\/[^/]+|adapters\/[^/]+|apps\/facilitator)\/tsconfig\.json$/
const languageOf2023 = /"lib": \["es2023", (?:"es2024\.string", )?"esnext\.disposable", "dom", "dom\.iterable"\]/

/** Every package that would be compiled although it calls what Node 20 does not have. */
export const languageBreaches = (files: ReadonlyArray<SourceFile>): ReadonlyArray<string> =>
  files.flatMap(({ path, text }) =>
    onNode20.test(path) && !languageOf2023.test(text) ? [`${path}: not the language of Node 20`] : []
  )
