/**
 * The tokens' contracts between the local chains: the two shapes of an OFT, compiled from `layerzero/contracts`. They are kept beside
 * the packages that they are compiled with, since the compiler takes ten seconds and a hundred megabytes.
 */
import { createHash } from "node:crypto"
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"

import * as Schema from "effect/Schema"
import { type Hex, isHex } from "viem"

/** One that is its own OFT, and the lockbox of a token that exists already. */
export interface OftContracts {
  readonly token: Hex
  readonly lockbox: Hex
}

/** The folder of LayerZero's packages. */
export const folder = new URL("../../layerzero/", import.meta.url)

/** The compiler's input. */
export const input = () => ({
  language: "Solidity",
  sources: {
    "LocalOft.sol": { content: readFileSync(new URL("contracts/LocalOft.sol", folder), "utf8") }
  },
  settings: {
    evmVersion: "cancun",
    optimizer: { enabled: true, runs: 10_000 },
    outputSelection: { "*": { "*": ["evm.bytecode.object"] } }
  }
})

const compiler = createRequire(import.meta.url)("solc/package.json")
const { version } = Schema.decodeUnknownSync(Schema.Struct({ version: Schema.String }))(compiler)

/** Below `node_modules`, which npm empties before it installs other packages. Its name tells the state of all sources. */
const keptFile = (): URL => {
  const lock = readFileSync(new URL("package-lock.json", folder), "utf8")
  const state = createHash("sha256").update(`${version} ${JSON.stringify(input())} ${lock}`)
  return new URL(`node_modules/.oft-${state.digest("hex").slice(0, 32)}.json`, folder)
}

/** Whether they are compiled. */
export const isCompiled = (): boolean => existsSync(keptFile())

const bytecode = Schema.String.check(Schema.makeFilter((text) => isHex(text)))
const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ token: bytecode, lockbox: bytecode })))

/** The contracts, once `LayerZeroInstall.ready` has completed. Throws before. */
export const read = (): OftContracts => {
  const { lockbox, token } = decode(readFileSync(keptFile(), "utf8"))
  return { token: `0x${token.slice(2)}`, lockbox: `0x${lockbox.slice(2)}` }
}

/** Keeps them. Another process may keep the same now: a file is complete when it has its name. */
export const keep = (contracts: OftContracts): void => {
  const file = keptFile()
  const unfinished = new URL(`${file.href}.${process.pid}`)
  writeFileSync(unfinished, JSON.stringify(contracts))
  renameSync(unfinished, file)
}
