/**
 * The peers' programs, which belong to `apps/conformance`: their packages are installed, and the programs compiled where
 * this runs compiled, before they are first started.
 */
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"

import * as Effect from "effect/Effect"

const top = new URL("../../../../", import.meta.url)

const runScript = (path: string, ...args: ReadonlyArray<string>) =>
  Effect.sync(() => execFileSync(process.execPath, [fileURLToPath(new URL(path, top)), ...args], { stdio: "inherit" }))

/** Dies if a script fails; the script has printed the reason. */
export const ready: Effect.Effect<void> = Effect.gen(function* () {
  yield* runScript("apps/conformance/scripts/InstallPeers.ts")
  if (import.meta.url.endsWith(".js")) yield* runScript("core/scripts/compile.ts", "apps/conformance")
})
