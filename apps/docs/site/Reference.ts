/**
 * The reference of all published packages, made by TypeDoc from their declarations. TypeDoc runs on TypeScript 6 in this folder,
 * because TypeScript 7.0 has no compiler API. Its pages are plain HTML beside the site's: VitePress would take minutes to render
 * them.
 */
import { spawnSync } from "node:child_process"
import { globSync, readFileSync, rmSync } from "node:fs"
import { dirname, join, relative } from "node:path"

const top = join(import.meta.dirname, "../../..")

/** The folder of the pages, which VitePress serves and copies as they are; Git ignores it. */
const folder = join(import.meta.dirname, "../public/reference")

interface EntryPoint {
  /** The text of an import: `@pontage/core/testing`. */
  readonly name: string
  readonly declarations: string
}

/** All entry points of the packages that are published as libraries. */
const entryPoints = (): ReadonlyArray<EntryPoint> =>
  globSync("{core,schemes/*,adapters/*,apps/facilitator}/package.json", { cwd: top })
    .toSorted()
    .flatMap((manifest) => {
      const { exports, name } = JSON.parse(readFileSync(join(top, manifest), "utf8"))
      return Object.entries<{ readonly types: string }>(exports).flatMap(([subpath, { types }]) =>
        types === undefined
          ? []
          : [{ name: `${name}${subpath.slice(1)}`, declarations: join(top, dirname(manifest), types) }]
      )
    })

/** Writes the pages anew. Throws where the packages do not compile or TypeDoc fails. */
export const writeReference = async (): Promise<void> => {
  const entries = entryPoints()
  const folders = [...new Set(entries.map(({ declarations }) => declarations.replace(/\/dist\/.*$/, "")))]
  const { status } = spawnSync("tsc", ["-b", ...folders], { cwd: top, stdio: ["ignore", 2, 2] })
  if (status !== 0) throw new Error("the packages do not compile, so that there is no reference: run npm run build")
  rmSync(folder, { recursive: true, force: true })
  const { Application, LogLevel } = await import("typedoc")
  const application = await Application.bootstrap({
    entryPoints: entries.map(({ declarations }) => declarations),
    tsconfig: join(import.meta.dirname, "tsconfig.json"),
    out: folder,
    name: "Pontage",
    readme: "none",
    router: "structure",
    skipErrorChecking: true,
    disableSources: true,
    excludeExternals: true,
    excludePrivate: true,
    excludeReferences: true,
    includeHierarchySummary: false,
    navigationLinks: { Documentation: "/" },
    validation: { invalidLink: true, invalidPath: true, notExported: false, notDocumented: false },
    logLevel: LogLevel.Warn
  })
  const project = await application.convert()
  if (project === undefined) throw new Error("TypeDoc read none of the packages")
  const names = new Map(entries.map(({ declarations, name }) => [moduleOf(declarations), name]))
  for (const module of project.children ?? []) module.name = names.get(module.name) ?? module.name
  application.validate(project)
  const { logger } = application
  if (logger.hasErrors() || logger.hasWarnings())
    throw new Error("TypeDoc reports the problems above, perhaps dead links")
  await application.generateOutputs(project)
}

/** The name that TypeDoc gives a module: its place, without the ending and `index`. */
const moduleOf = (declarations: string): string => relative(top, declarations).replace(/(?:\/index)?\.d\.ts$/, "")
