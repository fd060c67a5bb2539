/**
 * LayerZero's published contracts, from the packages that `scripts/InstallLayerZero.ts` installs beside this app: the bytecode of the
 * protocol's own.
 */
import { createRequire } from "node:module"

import * as Schema from "effect/Schema"
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
