/**
 * The part of a manifest that is the same for every published package: who made it, where it is, how it is built and published.
 * `npm run release:manifests` writes it, so that a new package needs its name, its description and its exports only.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"

import { type Manifest, type Package, project, published, top } from "./Packages.ts"

const commonKeywords = ["402", "payment-required", "x402", "payments", "micropayments", "stablecoin"]

/** The manifest as it has to be. */
const completed = ({ directory, manifest }: Package, { bugs, repository }: Manifest): Manifest => {
  const site = (repository?.url ?? "").replace(/^git\+/, "").replace(/\.git$/, "")
  const topic = manifest.name.slice(manifest.name.indexOf("/") + 1)
  const up = relative(join(top, directory), top)
  return {
    ...manifest,
    license: "MIT",
    keywords: [...new Set([...commonKeywords, topic, ...(manifest.keywords ?? [])])].toSorted(),
    homepage: `${site}/tree/main/${directory}#readme`,
    ...(bugs && { bugs }),
    ...(repository && { repository: { ...repository, directory } }),
    publishConfig: { access: "public", provenance: true },
    scripts: { ...manifest.scripts, prepack: `node ${up}/core/scripts/prepack.ts` }
  }
}

const order = [
  "name",
  "version",
  "private",
  "description",
  "keywords",
  "homepage",
  "bugs",
  "license",
  "repository",
  "bin",
  "files",
  "type",
  "sideEffects",
  "imports",
  "exports",
  "publishConfig",
  "scripts"
]

const inOrder = (manifest: Manifest): Record<string, unknown> => {
  const entries = Object.entries(manifest)
  const known = order.flatMap((key) => entries.filter(([name]) => name === key))
  return Object.fromEntries([...known, ...entries.filter(([name]) => !order.includes(name))])
}

/** The links of a page that work only inside the repository. */
const relativeLink = /\]\((?!https?:|#|mailto:)([^)]+)\)/g

/** The page with absolute links: a registry shows it without the repository around it. */
const linked = (directory: string, text: string, { repository }: Manifest): string => {
  const site = (repository?.url ?? "").replace(/^git\+/, "").replace(/\.git$/, "")
  return text.replace(relativeLink, (_, target: string) => {
    const [path = "", anchor] = target.split("#")
    const file = relative(top, join(top, directory, path))
    return `](${site}/blob/main/${file}${anchor === undefined ? "" : `#${anchor}`})`
  })
}

/** Writes what is missing, and returns the changed files. */
export const write = (): ReadonlyArray<string> => {
  const root = project()
  return published().flatMap(({ directory, manifest }) => {
    const pairs: ReadonlyArray<readonly [string, (before: string) => string]> = [
      ["package.json", () => `${JSON.stringify(inOrder(completed({ directory, manifest }, root)), null, 2)}\n`],
      ["README.md", (before) => linked(directory, before, root)]
    ]
    return pairs.flatMap(([name, next]) => {
      const path = join(top, directory, name)
      if (!existsSync(path)) return []
      const before = readFileSync(path, "utf8")
      const after = next(before)
      if (after === before) return []
      writeFileSync(path, after)
      return [join(directory, name)]
    })
  })
}

/** The breaches of one package with this page, as sentences. */
export const faultsOf = (one: Package, page: string, root: Manifest): ReadonlyArray<string> => {
  const { directory, manifest } = one
  const expected = completed(one, root)
  const keys = ["license", "keywords", "homepage", "bugs", "repository", "publishConfig", "scripts"] as const
  const differing = keys.filter((key) => JSON.stringify(manifest[key]) !== JSON.stringify(expected[key]))
  const files = manifest.files ?? []
  return [
    ...differing.map((key) => `${directory}/package.json: ${key} is not as npm run release:manifests writes it`),
    ...(manifest.description === undefined ? [`${directory}/package.json: description is missing`] : []),
    ...(files.includes("dist") && files.includes("src")
      ? []
      : [`${directory}/package.json: files lists not both dist and src`]),
    ...(/^## Install$/m.test(page) ? [] : [`${directory}/README.md: the heading "## Install" is missing`]),
    ...(linked(directory, page, root) === page
      ? []
      : [`${directory}/README.md: a relative link works in no registry; npm run release:manifests makes it absolute`]),
    ...deadLinks(directory, page, root)
  ]
}

/** Absolute links into the repository whose file is gone. */
const deadLinks = (directory: string, page: string, { repository }: Manifest): ReadonlyArray<string> => {
  const site = (repository?.url ?? "").replace(/^git\+/, "").replace(/\.git$/, "")
  const links = [...page.matchAll(/\]\((https?:[^)#]+)[^)]*\)/g)].map(([, target = ""]) => target)
  return links
    .filter((link) => link.startsWith(`${site}/blob/main/`) || link.startsWith(`${site}/tree/main/`))
    .map((link) => link.slice(`${site}/blob/main/`.length))
    .filter((path) => !existsSync(join(top, path)))
    .map((path) => `${directory}/README.md: a link names ${path}, which is not there`)
}

/** Every breach of every published package. */
export const faults = (): ReadonlyArray<string> => {
  const root = project()
  return published().flatMap((one) => {
    const readme = join(top, one.directory, "README.md")
    return faultsOf(one, existsSync(readme) ? readFileSync(readme, "utf8") : "", root)
  })
}
