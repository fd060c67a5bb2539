import { globSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { join } from "node:path"

import { defaultServerConditions } from "vite"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

import root from "./package.json" with { type: "json" }

/** Workers and the processes that tests start compile each module once. */
process.env["NODE_COMPILE_CACHE"] ??= join(tmpdir(), "node-compile-cache")

/** Tests read every package from its sources, so that nothing has to be built first. */
const conditions = ["@pontage/source", ...defaultServerConditions]

/** Projects with tests that put something else in a module's place, so that each file needs modules of its own. */
const isolated: ReadonlySet<string> = new Set(["adapters/fetch"])

const architecture = "core/test/Architecture.test.ts"
/** No workspace: its browser is installed by a lock file of its own before its tests. */
const browsers = "apps/e2e"

/** Packages of a lock file of their own, installed before a project's tests. */
const setups: Readonly<Record<string, string>> = {
  [browsers]: `${browsers}/scripts/InstallBrowser.ts`,
  "apps/devnet": "apps/devnet/scripts/InstallLayerZero.ts"
}

/** A package's tests. All projects have one root: a module that is transformed for one is transformed for all. */
const project = (directory: string) => ({
  extends: true as const,
  test: {
    name: directory,
    include: [`${directory}/test/**/*.test.ts`],
    exclude: [architecture],
    // Tests share nothing that changes: to load the modules again for each file would take most of the time of most files.
    isolate: isolated.has(directory),
    globalSetup: setups[directory] ?? []
  }
})

const isExcluded = (pattern: string) => pattern.startsWith("!")
const workspaces = globSync(
  root.workspaces.filter((pattern) => !isExcluded(pattern)),
  { cwd: import.meta.dirname, exclude: root.workspaces.filter(isExcluded).map((pattern) => pattern.slice(1)) }
)
const packages = [...workspaces, browsers, "apps/release"].map(project)

/** No workspace either: the published peers are installed by a lock file of their own before its tests. */
const conformance = project("apps/conformance")

/**
 * Files that take long, the longest first: begun last, one of them would run alone at the end. A file that is not named here, or
 * no longer there, costs time and nothing else.
 */
const longest = [
  "apps/trials/test/attacks/ShopAttacks.integration.test.ts",
  "apps/trials/test/CrashTrials.integration.test.ts",
  "apps/trials/test/FaultTrials.integration.test.ts",
  "apps/trials/test/attacks/EvmAttacks.integration.test.ts",
  "apps/trials/test/attacks/TonTronAttacks.integration.test.ts",
  "apps/trials/test/attacks/RestoredFaults.integration.test.ts",
  "apps/trials/test/Simulations.test.ts",
  "schemes/evm/test/SchemeLaws.integration.test.ts",
  "apps/trials/test/SettingsTrials.integration.test.ts"
].map((file) => join(import.meta.dirname, file))

class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    // oxlint-disable-next-line no-array-sort -- the sequencer's method returns a new list
    const usual = await super.sort(files)
    const first = longest.flatMap((file) => usual.filter(({ moduleId }) => moduleId === file))
    return [...first, ...usual.filter((file) => !first.includes(file))]
  }
}

export default defineConfig({
  ssr: { resolve: { conditions } },
  test: {
    // More workers than cores: many tests wait for chains, databases and processes.
    maxWorkers: Math.max(4, availableParallelism()),
    sequence: { sequencer: LongestFirst },
    // A test that stands still ends some time. No verdict depends on it: a machine that is ten times slower stays below it.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    projects: [
      ...packages,
      { ...conformance, test: { ...conformance.test, globalSetup: ["apps/conformance/scripts/InstallPeers.ts"] } },
      { extends: true as const, test: { name: "architecture", include: [architecture] } }
    ]
  }
})
