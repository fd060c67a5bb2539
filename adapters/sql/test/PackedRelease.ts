/**
 * Earlier releases as programs: `ReleaseProgram` as of each release, with all its dependencies
 * (`scripts/pack-release.ts`). Before anything was published, the SQL names inside 0.1.0 were changed together with the
 * first migration.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"

import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

const folder = join(import.meta.dirname, "releases")

/** The versions, the oldest first. */
export const versions: ReadonlyArray<string> = readdirSync(folder)
  .map((file) => file.replace(/\.mjs\.gz$/, ""))
  .toSorted((a, b) => a.localeCompare(b, "en", { numeric: true }))

/** The release before this one. */
export const latest: string = versions.at(-1) ?? ""

/** Writes the program of a release to a file that lives as long as the scope. */
export const program = (version: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "pontage-release-"))),
      (place) => Effect.sync(() => rmSync(place, { recursive: true }))
    ),
    (place) => {
      const file = join(place, "release.mjs")
      writeFileSync(file, gunzipSync(readFileSync(join(folder, `${version}.mjs.gz`))))
      return file
    }
  )

/** The program of this release. */
export const own = "ReleaseProgram.ts"
