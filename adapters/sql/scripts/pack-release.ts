/**
 * Packs `test/ReleaseProgram.ts` with all that it runs on, Effect and the driver too, as this release has them: one file, to
 * be run beside later releases. Run it when a release is made, and once: `npx node scripts/pack-release.ts <version>`.
 */
import { existsSync, writeFileSync } from "node:fs"
import { gzipSync } from "node:zlib"

import { build, defaultServerConditions } from "vite"

const [version = ""] = process.argv.slice(2)
const target = new URL(`../test/releases/${version}.mjs.gz`, import.meta.url)
if (!/^\d+\.\d+\.\d+$/.test(version) || existsSync(target)) {
  throw new Error(`a version that is not packed yet was expected, such as 0.2.0, and came "${version}"`)
}
const [packed] = [
  await build({
    configFile: false,
    logLevel: "error",
    ssr: { noExternal: true, resolve: { conditions: ["@pontage/source", ...defaultServerConditions] } },
    build: {
      ssr: new URL("../test/ReleaseProgram.ts", import.meta.url).pathname,
      minify: true,
      write: false,
      rollupOptions: { output: { codeSplitting: false } }
    }
  })
].flat()
if (packed === undefined || !("output" in packed) || packed.output.length !== 1) {
  throw new Error("one file was expected of the bundler")
}
writeFileSync(target, gzipSync(packed.output[0].code, { level: 9 }))
