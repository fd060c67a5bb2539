/** Top-ups of a command: `--top-up` names the facilitator, `--rpc` the nodes, `--bridges` what is not known. */
import { readFileSync } from "node:fs"

import type { TopUps } from "@pontage/core"
import { type EvmSigner, topUpEvm } from "@pontage/evm"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { misused } from "../CommandFailed.ts"
import type { Nodes } from "./PayerNetworks.ts"

const KnownBeside = Schema.Struct({
  assets: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        network: Schema.String,
        address: Schema.String,
        symbol: Schema.String,
        decimals: Schema.Int,
        name: Schema.String,
        version: Schema.String,
        dollar: Schema.optionalKey(Schema.Boolean)
      })
    )
  ),
  bridges: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        kind: Schema.optionalKey(Schema.Literals(["oft", "cctp"])),
        network: Schema.String,
        asset: Schema.String,
        bridge: Schema.String,
        endpointId: Schema.Int
      })
    )
  )
})

/** Tokens and bridges beside the known ones. */
export type KnownBeside = typeof KnownBeside.Type

const decode = Schema.decodeUnknownResult(Schema.fromJsonString(KnownBeside))

/** Reads the file of `--bridges`. */
export const besideFrom = (path: string | undefined): KnownBeside => {
  if (path === undefined) return {}
  const read = Result.try(() => readFileSync(path, "utf8"))
  if (Result.isFailure(read)) throw misused(`--bridges: the file ${path} cannot be read`)
  const beside = decode(read.success)
  if (Result.isSuccess(beside)) return beside.success
  throw misused(
    `--bridges: ${path} is not { "assets": [...], "bridges": [...] }: ${beside.failure.message.slice(0, 300)}`
  )
}

/** Settings of the command. */
export interface Settings extends KnownBeside {
  /** The facilitator's address. */
  readonly facilitator: string
  readonly atLeast: string | undefined
  readonly nodes: Nodes
  readonly signer: EvmSigner.EvmSigner
}

/** Makes the top-ups of a wallet. */
export const make = ({ assets, atLeast, bridges, facilitator, nodes, signer }: Settings): TopUps.TopUps => {
  if (!URL.canParse(facilitator)) throw misused(`"${facilitator}" is not the URL of a facilitator`)
  return topUpEvm.topUps({
    signer,
    facilitator,
    nodes: Object.fromEntries(Object.entries(nodes).filter(([network]) => network.startsWith("eip155:"))),
    ...(assets !== undefined && { assets }),
    ...(bridges !== undefined && { bridges }),
    ...(atLeast !== undefined && { atLeast })
  })
}
