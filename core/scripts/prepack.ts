/**
 * Runs before a package is packed, in the package's folder: compiles it, removes compiled files whose source is gone, and puts
 * the licence beside its manifest, where npm takes it into the tarball.
 */
import { spawnSync } from "node:child_process"
import { copyFileSync, existsSync, globSync, rmSync } from "node:fs"
import { join, relative } from "node:path"

const top = join(import.meta.dirname, "../..")
const folder = process.cwd()
const place = relative(top, folder)

const { error, status } = spawnSync("tsc", ["-b", folder], { cwd: top, stdio: ["ignore", 2, 2] })
if (error !== undefined) throw new Error(`tsc did not start (${error.message}): run npm ci in the project's root first`)
if (status !== 0) throw new Error(`${place} does not compile`)

for (const file of globSync("dist/**/*.{js,d.ts,js.map,d.ts.map}", { cwd: folder })) {
  const source = file.replace(/^dist/, "src").replace(/\.(?:d\.ts|js)(?:\.map)?$/, ".ts")
  if (!existsSync(join(folder, source))) rmSync(join(folder, file))
}

const bundle = join(folder, "scripts/bundle.ts")
if (existsSync(bundle)) {
  const bundled = spawnSync(process.execPath, [bundle], { cwd: folder, stdio: ["ignore", 2, 2] })
  if (bundled.status !== 0) throw new Error(`${place} is not bundled`)
}

copyFileSync(join(top, "LICENSE"), join(folder, "LICENSE"))
