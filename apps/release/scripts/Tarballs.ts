/** The tarballs of all published packages, as a registry would get them, and the checks of their contents. */
import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"

import { type Manifest, type Package, published, top } from "./Packages.ts"
import { run } from "./Program.ts"

/** A packed package. */
export interface Tarball extends Package {
  /** The file. */
  readonly path: string
  /** The folder with its unpacked contents. */
  readonly unpacked: string
}

/** Packs one package into a folder; its `prepack` compiles it. */
const pack = async (one: Package, into: string): Promise<Tarball> => {
  const printed = await run("npm", ["pack", "--silent", "--pack-destination", into], {
    cwd: join(top, one.directory)
  })
  const name = printed.trim().split("\n").at(-1) ?? ""
  const path = join(into, basename(name))
  const unpacked = join(into, basename(name, ".tgz"))
  mkdirSync(unpacked, { recursive: true })
  await run("tar", ["-xzf", path, "-C", unpacked, "--strip-components=1"], { cwd: into })
  return { ...one, path, unpacked }
}

/** Packs every package, one after the other: they compile the same packages. */
export const packAll = async (into: string): Promise<ReadonlyArray<Tarball>> => {
  const tarballs: Array<Tarball> = []
  // oxlint-disable-next-line no-await-in-loop -- two builds at once would write the same files
  for (const one of published()) tarballs.push(await pack(one, into))
  return tarballs
}

const targetsOf = ({ bin = {}, exports = {} }: Manifest): ReadonlyArray<string> => [
  ...Object.values(bin),
  ...Object.values(exports).flatMap((conditions) => Object.values(conditions))
]

/** The faults of a tarball's contents, as sentences. */
export const contentFaults = ({ directory, manifest, unpacked }: Tarball): ReadonlyArray<string> => {
  const missing = ["LICENSE", "README.md", ...targetsOf(manifest)].filter((path) => !existsSync(join(unpacked, path)))
  const bins = Object.values(manifest.bin ?? {}).filter(
    (path) =>
      existsSync(join(unpacked, path)) &&
      !readFileSync(join(unpacked, path), "utf8").startsWith("#!/usr/bin/env node\n")
  )
  return [
    ...missing.map((path) => `${directory}: its tarball lacks ${path}`),
    ...bins.map((path) => `${directory}: ${path} is a command and does not begin with #!/usr/bin/env node`)
  ]
}
