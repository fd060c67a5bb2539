/**
 * Installs LayerZero's published contracts in `layerzero`, by that folder's own lock file, unless they are there already. The
 * tests of this app call `setup` once before they begin. Run as a program, it compiles the tokens' contracts too.
 */
import { join } from "node:path"

import { installApart } from "../../../core/scripts/InstallApart.ts"

/** Throws where npm fails. */
export const setup = (): void =>
  installApart(join(import.meta.dirname, "../layerzero"), "LayerZero's published contracts, some 40 MB,")

if (import.meta.main) {
  setup()
  const { run } = await import("../src/bridge/OftCompiler.ts")
  run()
}
