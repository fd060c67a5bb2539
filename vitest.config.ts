import { globSync } from "node:fs"
import { availableParallelism } from "node:os"

import { defaultServerConditions } from "vite"
import { defineConfig } from "vitest/config"

import root from "./package.json" with { type: "json" }

/** Tests read every package from its sources, so that nothing has to be built first. */
const conditions = ["@pontage/source", ...defaultServerConditions]

const packages = globSync(root.workspaces, { cwd: import.meta.dirname }).map((directory) => ({
  extends: true as const,
  root: directory,
  test: { name: directory, include: ["test/**/*.test.ts"], exclude: ["test/Architecture.test.ts"] }
}))

export default defineConfig({
  ssr: { resolve: { conditions } },
  test: {
    // On two cores one worker would leave one of them idle: many tests wait for chains and databases.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 60_000,
    hookTimeout: 120_000,
    projects: [
      ...packages,
      {
        extends: true as const,
        root: "core",
        test: { name: "architecture", include: ["test/Architecture.test.ts"] }
      }
    ]
  }
})
