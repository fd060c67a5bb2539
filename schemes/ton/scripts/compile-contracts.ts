/** Writes the artifacts of all contracts; run it after a change in `contracts/`: `npx node scripts/compile-contracts.ts`, which takes the Node 24 of the workspace. */
import { mkdirSync, writeFileSync } from "node:fs"

import { artifactsDirectory, renderAll } from "./TolkArtifact.ts"

mkdirSync(artifactsDirectory, { recursive: true })
for (const [file, text] of await renderAll()) writeFileSync(new URL(file, artifactsDirectory), text)
