/**
 * Installs Chromium and its remote control beside these tests, by their own lock file, unless they are there already.
 * `npm run check` runs it first; the tests call `setup` once before they begin. Its messages go to standard error.
 */
import { join } from "node:path"

import { installApart } from "../../../core/scripts/InstallApart.ts"

/** Throws where npm fails. */
export const setup = (): void => installApart(join(import.meta.dirname, ".."), "a browser, some 110 MB,")

if (import.meta.main) setup()
