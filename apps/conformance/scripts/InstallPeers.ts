/**
 * Installs the published peers' packages beside this app, by this app's own lock file, unless they are there already.
 * `npm run conformance`, `npm run bench`, `npm run check` and the attacks on a peer run it first; this app's tests call
 * `setup` once before they begin. Its messages go to standard error.
 */
import { join } from "node:path"

import { installApart } from "../../../core/scripts/InstallApart.ts"

/** Throws where npm fails. */
export const setup = (): void =>
  installApart(join(import.meta.dirname, ".."), "the published peers' packages, some 600 MB,")

if (import.meta.main) setup()
