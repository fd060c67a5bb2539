/**
 * `npm run docs` serves the documents as a site while they are written; `npm run docs:build` writes it, and fails for a dead link.
 * Both make the reference first.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"

import { installApart } from "../../../core/scripts/InstallApart.ts"
import { writeReference } from "./Reference.ts"

const folder = import.meta.dirname
installApart(folder, "VitePress and TypeDoc, some 200 MB,")
await writeReference()
const program = join(folder, "node_modules/vitepress/bin/vitepress.js")
const { status } = spawnSync(process.execPath, [program, process.argv[2] ?? "dev", folder], { stdio: "inherit" })
process.exitCode = status ?? 1
