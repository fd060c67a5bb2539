/**
 * A folder for a measurement's files, on this machine's disk.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import * as Effect from "effect/Effect"

/** The path of an empty folder, which goes with the scope. */
export const make = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "pontage-bench-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)
