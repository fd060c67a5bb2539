/** The packages that are published: every workspace that is not private. */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"

/** The project's root. */
export const top = join(import.meta.dirname, "../../..")

/** The fields of a manifest that this program reads and writes; the others are left alone. */
export interface Manifest {
  name: string
  version: string
  private?: boolean
  description?: string
  keywords?: ReadonlyArray<string>
  homepage?: string
  bugs?: { readonly url: string }
  repository?: { readonly type: string; readonly url: string; readonly directory?: string }
  license?: string
  files?: ReadonlyArray<string>
  workspaces?: ReadonlyArray<string>
  bin?: Readonly<Record<string, string>>
  exports?: Readonly<Record<string, Readonly<Record<string, string>>>>
  publishConfig?: { readonly access: string; readonly provenance: boolean }
  scripts?: Readonly<Record<string, string>>
  dependencies?: Readonly<Record<string, string>>
  devDependencies?: Readonly<Record<string, string>>
  peerDependencies?: Readonly<Record<string, string>>
  peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  engines?: Readonly<Record<string, string>>
}

/** A package: its folder below the root, and its manifest. */
export interface Package {
  readonly directory: string
  readonly manifest: Manifest
}

const read = (path: string): Manifest => JSON.parse(readFileSync(path, "utf8"))

/** The manifest of the project itself. */
export const project = (): Manifest => read(join(top, "package.json"))

/** All published packages, in the order of their folders. */
export const published = (): ReadonlyArray<Package> => {
  const patterns = project().workspaces ?? []
  const folders = globSync(
    patterns.filter((pattern) => !pattern.startsWith("!")),
    {
      cwd: top,
      exclude: patterns.filter((pattern) => pattern.startsWith("!")).map((pattern) => pattern.slice(1))
    }
  )
  return folders
    .toSorted()
    .map((directory) => ({ directory, manifest: read(join(top, directory, "package.json")) }))
    .filter(({ manifest }) => manifest.private !== true)
}
