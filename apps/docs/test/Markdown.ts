/** The documents as data: headings and their anchors, links, marked tables and marked JSON examples. */
import { globSync, readFileSync } from "node:fs"

/** The top folder of the repository. */
export const root = new URL("../../../", import.meta.url)

/** The text of a file, by its path from the top folder. */
export const read = (path: string): string => readFileSync(new URL(path, root), "utf8")

/** Paths from the top folder. `node_modules` and what is built are left out. */
export const filesOf = (...patterns: ReadonlyArray<string>): ReadonlyArray<string> =>
  globSync([...patterns], { cwd: root, exclude: ["**/node_modules/**", "**/dist/**"] }).map((path) =>
    path.replaceAll("\\", "/")
  )

/** All documents of the repository. */
export const documents: ReadonlyArray<string> = filesOf("*.md", ".github/*.md", "{core,adapters,schemes,apps}/**/*.md")

/** A document without its fenced code, whose lines look like headings and links. */
const prose = (text: string): string => text.replace(/^```[\s\S]*?^```$/gm, "")

/** The anchors of a document's headings, as GitHub makes them. */
export const anchorsOf = (text: string): ReadonlySet<string> => {
  const anchors = new Set<string>()
  for (const [, heading = ""] of prose(text).matchAll(/^#{1,6} (.+)$/gm)) {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "")
    const slug = plain
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/\s/g, "-")
    let anchor = slug
    for (let count = 1; anchors.has(anchor); count++) anchor = `${slug}-${count}`
    anchors.add(anchor)
  }
  return anchors
}

/** A relative link: the path as it is written, empty for the same document, and the anchor, empty for none. */
export interface Link {
  readonly path: string
  readonly anchor: string
}

/** The pages of published packages link to the files of this repository by their address. */
const own = /\]\(https:\/\/github\.com\/pontage\/pontage\/(?:blob|tree)\/main\/?([^)#\s]*)(?:#([^)\s]*))?\)/g

/** The links of a document to files of this repository. */
export const linksOf = (text: string): ReadonlyArray<Link> => [
  ...[...prose(text).matchAll(/\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].map(linkOf("")),
  ...[...prose(text).matchAll(own)].map(linkOf("/"))
]

/** `folder` is the one that the path begins at: the document's own, or the repository's root, `/`. */
const linkOf =
  (folder: "" | "/") =>
  ([, path = "", anchor = ""]: RegExpMatchArray): Link => ({ path: `${folder}${path}`, anchor })

/** A JSON example and the name of the shape that it claims to have. */
export interface Example {
  readonly shape: string
  readonly json: string
}

/** The examples behind `<!-- shape: Name -->`. */
export const examplesOf = (text: string): ReadonlyArray<Example> =>
  [...text.matchAll(/<!-- shape: (\w+) -->\n\n```json\n([\s\S]*?)```/g)].map(([, shape = "", json = ""]) => ({
    shape,
    json
  }))

/** Number of JSON fences, marked or not. */
export const fencesOf = (text: string): number => [...text.matchAll(/^```json$/gm)].length

/** A row of a table of fields. */
export interface FieldRow {
  readonly name: string
  readonly isRequired: boolean
}

/** The rows of the tables behind `<!-- fields: Name -->`, by that name: first column the field, third `yes` or `no`. */
export const fieldTablesOf = (text: string): ReadonlyMap<string, ReadonlyArray<FieldRow>> =>
  new Map(
    [...text.matchAll(/<!-- fields: (\w+) -->\n\n\|[^\n]*\n\|[^\n]*\n((?:\|[^\n]*\n)+)/g)].map(
      ([, name = "", rows = ""]) => [
        name,
        rows
          .trim()
          .split("\n")
          .map((row) => {
            const [field = "", , required = ""] = row
              .split("|")
              .slice(1)
              .map((cell) => cell.trim())
            return { name: field.replaceAll("`", ""), isRequired: required === "yes" }
          })
      ]
    )
  )
