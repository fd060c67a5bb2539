/**
 * LayerZero's published contracts, from the packages that `scripts/InstallLayerZero.ts` installs beside this app: the bytecode of the
 * protocol's own, and the two shapes of an OFT, compiled from `layerzero/contracts`.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"

import * as Schema from "effect/Schema"
import solc from "solc"
import { type Hex, isHex } from "viem"

const folder = new URL("../../layerzero/", import.meta.url)

const require = createRequire(folder)

const PublishedArtifact = Schema.decodeUnknownSync(Schema.Struct({ bytecode: Schema.String }))

const hexOf = (bytecode: string, name: string): Hex => {
  if (!isHex(bytecode)) throw new Error(`${name} has no bytecode`)
  return bytecode
}

const published = (path: string): Hex => hexOf(PublishedArtifact(require(`@layerzerolabs/${path}.json`)).bytecode, path)

const library = (path: string, name: string): Hex =>
  published(`lz-evm-messagelib-v2/artifacts/contracts/${path}${name}.sol/${name}`)

/** The bytecode of the protocol's contracts, as published. */
export const protocol = () => ({
  endpoint: published("lz-evm-protocol-v2/artifacts/contracts/EndpointV2.sol/EndpointV2"),
  sendLibrary: library("uln/uln302/", "SendUln302"),
  receiveLibrary: library("uln/uln302/", "ReceiveUln302"),
  dvn: library("uln/dvn/", "DVN"),
  dvnFees: library("uln/dvn/", "DVNFeeLib"),
  executor: library("", "Executor"),
  executorFees: library("", "ExecutorFeeLib"),
  prices: library("", "PriceFeed"),
  treasury: library("", "Treasury")
})

/** The tokens' contracts: one that is its own OFT, and the lockbox of a token that exists already. */
export interface OftContracts {
  readonly token: Hex
  readonly lockbox: Hex
}

const Bytecode = Schema.Struct({ evm: Schema.Struct({ bytecode: Schema.Struct({ object: Schema.String }) }) })

const decodeOutput = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({
      errors: Schema.optionalKey(
        Schema.Array(Schema.Struct({ severity: Schema.String, formattedMessage: Schema.String }))
      ),
      contracts: Schema.Struct({ "LocalOft.sol": Schema.Struct({ LocalOft: Bytecode, LocalLockbox: Bytecode }) })
    })
  )
)

let compiled: OftContracts | undefined

/** Compiles the tokens' contracts, once for a process. Throws with the compiler's message. */
export const oft = (): OftContracts => (compiled ??= compile())

const compile = (): OftContracts => {
  const input = {
    language: "Solidity",
    sources: {
      "LocalOft.sol": { content: readFileSync(new URL("contracts/LocalOft.sol", folder), "utf8") }
    },
    settings: {
      evmVersion: "cancun",
      optimizer: { enabled: true, runs: 10_000 },
      outputSelection: { "*": { "*": ["evm.bytecode.object"] } }
    }
  }
  const findImport = (path: string) => ({ contents: readFileSync(new URL(`node_modules/${path}`, folder), "utf8") })
  const { contracts, errors = [] } = decodeOutput(solc.compile(JSON.stringify(input), { import: findImport }))
  const problems = errors.filter(({ severity }) => severity === "error")
  if (problems.length > 0) throw new Error(problems.map(({ formattedMessage }) => formattedMessage).join("\n"))
  const { LocalLockbox, LocalOft } = contracts["LocalOft.sol"]
  return {
    token: hexOf(`0x${LocalOft.evm.bytecode.object}`, "LocalOft"),
    lockbox: hexOf(`0x${LocalLockbox.evm.bytecode.object}`, "LocalLockbox")
  }
}
