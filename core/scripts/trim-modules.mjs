/**
 * Deletes what no command here reads from the installed packages: the C headers that the npm package `node` brings for
 * native builds (67 MB), and source maps (84 MB), which only a debugger reads. It runs after every installation, on
 * whichever Node that has, so it is plain JavaScript.
 */
import { existsSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"

const modules = join(import.meta.dirname, "../../node_modules")
const programs = join(modules, "node/node_modules")

for (const entry of existsSync(programs) ? readdirSync(programs, { withFileTypes: true }) : []) {
  if (entry.isDirectory()) rmSync(join(programs, entry.name, "include"), { recursive: true, force: true })
}

/** Links lead to the packages of this repository, and are left alone. */
const trim = (folder) => {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) trim(path)
    else if (entry.isFile() && entry.name.endsWith(".map")) rmSync(path, { force: true })
  }
}

if (existsSync(modules)) trim(modules)
