/** Writes `dist/Files.js`: the page's scripts as one module. It runs after the packages are compiled. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { bundle } from "./PageBundle.ts"

const { entry, files } = await bundle(false)
const text = `export const entry = ${JSON.stringify(entry)}\nexport const files = new Map(${JSON.stringify([...files])})\n`
writeFileSync(join(import.meta.dirname, "../dist/Files.js"), text)
