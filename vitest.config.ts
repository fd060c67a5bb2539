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

/** Tests of packages. All projects have one root: a module that is transformed for one is transformed for all. */
const project = (name: string, directories: ReadonlyArray<string> = [name]) => ({
  extends: true as const,
  test: {
    name,
    include: directories.map((directory) => `${directory}/test/**/*.test.ts`),
    exclude: [architecture],
    // Tests share nothing that changes: to load the modules again for each file would take most of the time of most files.
    isolate: directories.some((directory) => isolated.has(directory)),
    globalSetup: directories.flatMap((directory) => setups[directory] ?? [])
  }
})

const isExcluded = (pattern: string) => pattern.startsWith("!")
const workspaces = globSync(
  root.workspaces.filter((pattern) => !isExcluded(pattern)),
  { cwd: import.meta.dirname, exclude: root.workspaces.filter(isExcluded).map((pattern) => pattern.slice(1)) }
)
const directories = [...workspaces, browsers, "apps/release"]

/** Whether this run is of all packages, not of some files or projects. */
const isWhole = process.argv
  .slice(2)
  .every((argument) => argument === "run" || (argument.startsWith("--") && !/^--project(?:=[^!]|$)/.test(argument)))

/** Folders whose packages are one project in a whole run: a worker ends with its project, and the next one loads all modules anew. */
const families: ReadonlySet<string> = new Set(["adapters"])

const familyOf = (directory: string): string => {
  const [family = directory] = directory.split("/")
  return isWhole && families.has(family) && !isolated.has(directory) ? family : directory
}
const packages = [...Map.groupBy(directories, familyOf)].map(([name, members]) => project(name, members))

/** No workspace either: the published peers are installed by a lock file of their own before its tests. */
const conformance = project("apps/conformance")

/**
 * Files that take long, the longest first, a project after the other: begun last, one of them would run alone at the end. A file
 * that is not named here, or no longer there, costs time and nothing else.
 */
const longest = [
  "apps/trials/test/attacks/EvmAttacks.integration.test.ts",
  "apps/trials/test/attacks/RestoredFaults.integration.test.ts",
  "apps/trials/test/FaultTrials.integration.test.ts",
  "apps/trials/test/CrashTrials.integration.test.ts",
  "apps/trials/test/ChannelTrials.integration.test.ts",
  "apps/trials/test/attacks/ShopAttacks.integration.test.ts",
  "apps/trials/test/attacks/TonTronAttacks.integration.test.ts",
  "apps/trials/test/Simulations.test.ts",
  "apps/e2e/test/page/Forms.integration.test.ts",
  "apps/docs/test/Shops.integration.test.ts",
  "apps/trials/test/EvmModel.integration.test.ts",
  "apps/e2e/test/Families.integration.test.ts",
  "apps/cli/test/ShopKeeping.integration.test.ts",
  "apps/e2e/test/page/Page.integration.test.ts",
  "adapters/koa/test/KoaLaws.integration.test.ts",
  "apps/cli/test/PayCommand.integration.test.ts",
  "apps/trials/test/simulation/Simulation.test.ts",
  "apps/trials/test/SettingsTrials.integration.test.ts",
  "adapters/sql/test/PostgresPaymentStore.integration.test.ts",
  "adapters/sql/test/postgres/PostgresLaneLeases.integration.test.ts",
  "adapters/sql/test/SideBySide.integration.test.ts",
  "schemes/ton/test/exact/ExactTonFacilitator.integration.test.ts",
  "schemes/evm/test/SchemeLaws.integration.test.ts",
  "schemes/ton/test/sending/TonTariff.integration.test.ts",
  "adapters/express/test/ExpressLaws.integration.test.ts",
  "schemes/evm/test/sending/EvmLosses.integration.test.ts",
  "schemes/ton/test/SchemeLaws.integration.test.ts",
  "schemes/evm/test/testing/ContractArtifacts.test.ts"
].map((file) => join(import.meta.dirname, file))

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = longest.indexOf(moduleId)
  return place === -1 ? longest.length : place
}

class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    // oxlint-disable-next-line no-array-sort -- the sequencer's method returns a new list
    const usual = await super.sort(files)
    const begins = new Map<string, number>()
    for (const file of usual) {
      const { name } = file.project
      begins.set(name, Math.min(begins.get(name) ?? longest.length, placeOf(file)))
    }
    const beginOf = ({ project }: TestSpecification) => begins.get(project.name) ?? longest.length
    return usual.toSorted((a, b) => beginOf(a) - beginOf(b) || placeOf(a) - placeOf(b))
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
