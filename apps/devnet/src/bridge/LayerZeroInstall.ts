/**
 * LayerZero's contracts on their first use: a process of its own installs the packages and compiles the tokens' contracts, so that a
 * program that needs them later goes on meanwhile.
 */
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

import * as Effect from "effect/Effect"

import { installedBy } from "../FirstUse.ts"
import * as OftContracts from "./OftContracts.ts"

const script = fileURLToPath(new URL("../../scripts/InstallLayerZero.ts", import.meta.url))

const textOf = (name: string): string | undefined => {
  const file = new URL(name, OftContracts.folder)
  return existsSync(file) ? readFileSync(file, "utf8") : undefined
}

const isInstalled = (): boolean => {
  const lock = textOf("package-lock.json")
  return lock !== undefined && lock === textOf("node_modules/.installed-lock.json")
}

/** Completes once the contracts are there. Its messages go to standard error. Dies where npm or the compiler fails. */
export const ready: Effect.Effect<void> = Effect.suspend(() =>
  isInstalled() && OftContracts.isCompiled() ? Effect.void : installedBy(script, "LayerZero's contracts")
)
