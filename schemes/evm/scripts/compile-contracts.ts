/** Writes the artifacts of all contracts; run it after a change in `contracts/`: `node scripts/compile-contracts.ts`. */
import { writeFileSync } from "node:fs"

import { artifactsDirectory, renderAll } from "./ContractArtifact.ts"

for (const [file, text] of renderAll()) writeFileSync(new URL(file, artifactsDirectory), text)
