/** Writes the artifacts of all contracts. Run it after a change in `contracts/`: `node scripts/compile-contracts.ts`. */
import { mkdirSync, writeFileSync } from "node:fs"

import { artifactsDirectory, renderAll } from "./TronArtifact.ts"

mkdirSync(artifactsDirectory, { recursive: true })
for (const [file, text] of renderAll()) writeFileSync(new URL(file, artifactsDirectory), text)
