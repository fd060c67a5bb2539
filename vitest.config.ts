import { globSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { join } from "node:path"

import { defaultServerConditions } from "vite"
import { defineConfig } from "vitest/config"

import root from "./package.json" with { type: "json" }

/** Workers and the processes that tests start compile each module once. */
process.env["NODE_COMPILE_CACHE"] ??= join(tmpdir(), "node-compile-cache")

/** Tests read every package from its sources, so that nothing has to be built first. */
const conditions = ["@pontage/source", ...defaultServerConditions]

const project = (directory: string) => ({
  extends: true as const,
  root: directory,
  test: {
    name: directory,
    include: ["test/**/*.test.ts"],
    exclude: ["test/Architecture.test.ts"],
    // The core's tests share nothing that changes: a worker for each of its files would be the longest part of them.
    isolate: directory !== "core"
  }
})

const isExcluded = (pattern: string) => pattern.startsWith("!")
const packages = globSync(
  root.workspaces.filter((pattern) => !isExcluded(pattern)),
  { cwd: import.meta.dirname, exclude: root.workspaces.filter(isExcluded).map((pattern) => pattern.slice(1)) }
).map(project)

/** The one app that is no workspace: the published peers have a lock file of their own, and are installed when it is tested. */
const conformance = project("apps/conformance")

export default defineConfig({
  ssr: { resolve: { conditions } },
  test: {
    // On two cores one worker would leave one of them idle: many tests wait for chains and databases.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // A test that stands still ends some time. No verdict hangs on it: a busy machine is given five times what an idle one takes.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    projects: [
      ...packages,
      { ...conformance, test: { ...conformance.test, globalSetup: ["scripts/InstallPeers.ts"] } },
      {
        extends: true as const,
        root: "core",
        test: { name: "architecture", include: ["test/Architecture.test.ts"] }
      }
    ]
  }
})
