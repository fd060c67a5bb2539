/** Writes the artifacts of all contracts; run it after a change in `contracts/`: `npx node scripts/compile-contracts.ts`, which takes the Node 24 of the workspace. */
import { mkdirSync, writeFileSync } from "node:fs"

import { renderAll } from "./ContractArtifact.ts"

for (const [directory, files] of renderAll()) {
  mkdirSync(directory, { recursive: true })
  for (const [file, text] of files) writeFileSync(new URL(file, directory), text)
}
