/**
 * Deletes the C headers that the npm package `node` brings for native builds (67 MB): no package here is built. It runs
 * after every installation, on whichever Node that has, so it is plain JavaScript.
 */
import { existsSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"

const programs = join(import.meta.dirname, "../../node_modules/node/node_modules")

for (const name of existsSync(programs) ? readdirSync(programs) : []) {
  rmSync(join(programs, name, "include"), { recursive: true, force: true })
}
