/** Projects of strangers: a folder outside of the repository with the tarballs and nothing else of ours. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import type { Manifest } from "./Packages.ts"
import { run } from "./Program.ts"
import type { Tarball } from "./Tarballs.ts"

/** A project to make. */
export interface ProjectPlan {
  readonly folder: string
  readonly type: "module" | "commonjs"
  readonly tarballs: ReadonlyArray<Tarball>
  /** The packages that a user installs beside them, with exact versions. */
  readonly others: Readonly<Record<string, string>>
}

/** Makes the folder and installs. Peer dependencies of the packages are installed by npm itself, as at a user's. */
export const make = async ({ folder, others, tarballs, type }: ProjectPlan): Promise<void> => {
  mkdirSync(folder, { recursive: true })
  const ours = Object.fromEntries(tarballs.map(({ manifest, path }) => [manifest.name, `file:${path}`]))
  const manifest = {
    name: "a-clean-project",
    private: true,
    type,
    dependencies: { ...ours, ...others },
    // Packages of ours that depend on each other take the tarballs too, not a registry's.
    overrides: Object.fromEntries(tarballs.map(({ manifest: { name } }) => [name, `$${name}`]))
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2))
  await run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline"], { cwd: folder })
}

/** Every entry point of the installed packages, by the name that a program imports. */
export const entryPoints = (tarballs: ReadonlyArray<Tarball>): ReadonlyArray<string> =>
  tarballs.flatMap(({ manifest: { exports = {}, name } }) =>
    Object.keys(exports).map((key) => (key === "." ? name : `${name}${key.slice(1)}`))
  )

const optionalPeers = ({ peerDependenciesMeta = {} }: Manifest): ReadonlyArray<string> =>
  Object.keys(peerDependenciesMeta).filter((peer) => peerDependenciesMeta[peer]?.optional === true)

const fenced = /^```ts\n([\s\S]*?)^```$/gm

/**
 * The complete samples of the packages' pages: those that import a package of ours. One that imports an optional peer of its
 * package is left to the test that installs the peer.
 */
export const samples = (
  tarballs: ReadonlyArray<Tarball>
): ReadonlyArray<{ readonly name: string; readonly text: string }> =>
  tarballs.flatMap(({ manifest, unpacked }) =>
    [...readFileSync(join(unpacked, "README.md"), "utf8").matchAll(fenced)]
      .map(([, text = ""]) => text)
      .filter((text) => /^import .*"@pontage\//m.test(text))
      .filter((text) => !optionalPeers(manifest).some((peer) => text.includes(`from "${peer}"`)))
      .map((text, index) => ({ name: `${manifest.name.replace(/^@[^/]*\//, "")}-${index}.ts`, text }))
  )
