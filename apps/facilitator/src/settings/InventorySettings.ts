/**
 * Settings of the operator's inventory: its key, and the pairs of tokens by which buyers pay it on one network and it pays shops on another.
 * Both networks are settled on: by entries of `PONTAGE_EVM`, or TRON and TON by `PONTAGE_TRON_RPC_URL` and `PONTAGE_TON_RPC_URL`, where
 * shops alone are paid.
 */
import { EvmNetwork } from "@pontage/evm"
import { TonNetwork } from "@pontage/ton"
import { TronNetwork } from "@pontage/tron"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

import { make, NativeAmount, namesSet, PositiveAmount, type Values } from "./EnvironmentVariable.ts"

/** A pair. Networks of other families are refused by a sentence of their own. */
const Pair = Schema.Struct({
  from: Schema.NonEmptyString,
  to: Schema.NonEmptyString,
  asset: Schema.optionalKey(Schema.NonEmptyString),
  toAsset: Schema.optionalKey(Schema.NonEmptyString),
  fee: NativeAmount,
  minimumAmount: Schema.optionalKey(PositiveAmount),
  maximumAmount: Schema.optionalKey(PositiveAmount),
  perDay: PositiveAmount,
  lossBudget: Schema.optionalKey(PositiveAmount)
})

const table = {
  pairs: make(
    "PONTAGE_BRIDGE_INVENTORY",
    "a JSON list of pairs of networks, each with from (where buyers pay), to (where shops are paid), fee and perDay (in the token's smallest unit, as text) and, optionally, asset and toAsset (symbol or address), minimumAmount, maximumAmount and lossBudget",
    `'[{"from":"arbitrum","to":"polygon","fee":"50000","perDay":"1000000000"}]'`,
    Schema.fromJsonString(Schema.NonEmptyArray(Pair))
  ),
  key: make(
    "PONTAGE_BRIDGE_INVENTORY_KEY",
    "the private key of the account that buyers pay to and that pays shops, 0x and 64 hexadecimal digits",
    "0x<64 hexadecimal digits>",
    Schema.String.check(Schema.isPattern(/^0x[0-9a-fA-F]{64}$/))
  ),
  tonKey: make(
    "PONTAGE_BRIDGE_INVENTORY_TON_KEY",
    "the seed of the key whose wallet pays shops on TON, 64 hexadecimal digits",
    "<64 hexadecimal digits>",
    Schema.String.check(Schema.isPattern(/^[0-9a-fA-F]{64}$/))
  )
}

/** The variables. */
export const tables = { bridgeInventory: table }

/** Values of these variables. */
export interface InventoryValues {
  readonly bridgeInventory: Values<typeof table>
}

/** The operator's inventory. */
export interface InventoryTerms {
  readonly key: Redacted.Redacted
  /** The seed of its wallet on TON; absent where no shop is paid there. */
  readonly tonKey: Redacted.Redacted | undefined
  readonly pairs: ReadonlyArray<typeof Pair.Type>
}

/** The settings; `undefined` without an inventory. */
export const fromValues = ({ bridgeInventory: { key, pairs, tonKey } }: InventoryValues): InventoryTerms | undefined =>
  key === undefined || pairs === undefined
    ? undefined
    : { key: Redacted.make(key), tonKey: tonKey === undefined ? undefined : Redacted.make(tonKey), pairs }

/** The other settings that contradict these. */
export interface Beside {
  /** The networks of the entries of `PONTAGE_EVM`, as they are written; none is `undefined`. */
  readonly networks: ReadonlyArray<string | undefined>
  /** The networks of other families that are settled on, as they are written. */
  readonly tron: string | undefined
  readonly ton: string | undefined
  /** The variables of keys that schemes sign with, and of the seeds of relayers on TON. */
  readonly signerKeys: ReadonlyArray<string | undefined>
  readonly tonKeys: string | undefined
}

/** Contradictions between these variables, and to others. */
export const contradictions = (values: InventoryValues, beside: Beside): ReadonlyArray<string> => {
  const { pairs } = values.bridgeInventory
  if (pairs === undefined) {
    return namesSet(table, values.bridgeInventory).map(
      (name) => `${name}: no inventory is served without PONTAGE_BRIDGE_INVENTORY; set that too, or remove it`
    )
  }
  const known = new Set(beside.networks.map((one) => one && EvmNetwork.fromText(one)))
  const mistakes = [
    ...[...new Set(pairs.map(({ from }) => from))].flatMap((one) => objectionTo(known, one)),
    ...[...new Set(pairs.map(({ to }) => to))].flatMap((one) => objectionToEnd(known, beside, one))
  ].filter((one, index, all) => all.indexOf(one) === index)
  return [...mistakes, ...keyMistakes(values, beside), ...tonKeyMistakes(values, beside)]
}

const keyMistakes = ({ bridgeInventory: { key } }: InventoryValues, { signerKeys }: Beside): ReadonlyArray<string> => {
  if (key === undefined) {
    return [
      "PONTAGE_BRIDGE_INVENTORY_KEY: no key pays shops; set it to the private key of an account of its own, which holds the tokens that shops get"
    ]
  }
  const others = new Set(signerKeys.flatMap((text) => text?.toLowerCase().split(",") ?? []))
  return others.has(key.toLowerCase())
    ? [
        "PONTAGE_BRIDGE_INVENTORY_KEY: the key is set for something else too; the money of buyers has an account of its own"
      ]
    : []
}

const tonKeyMistakes = (
  { bridgeInventory: { pairs, tonKey } }: InventoryValues,
  { tonKeys }: Beside
): ReadonlyArray<string> => {
  const isPaid = pairs?.some(({ to }) => TonNetwork.fromText(to) !== undefined) === true
  if (isPaid && tonKey === undefined) {
    return [
      "PONTAGE_BRIDGE_INVENTORY_TON_KEY: no key pays shops on TON; set it to the seed of a wallet of its own, which holds the Jettons that shops get"
    ]
  }
  if (tonKey === undefined) return []
  if (!isPaid) return ["PONTAGE_BRIDGE_INVENTORY_TON_KEY: no pair of PONTAGE_BRIDGE_INVENTORY leads to TON; remove it"]
  const others = new Set(tonKeys?.toLowerCase().split(",") ?? [])
  return others.has(tonKey.toLowerCase())
    ? ["PONTAGE_BRIDGE_INVENTORY_TON_KEY: the key is a relayer's too; the money of buyers has a wallet of its own"]
    : []
}

/** Why a network of a pair is not served. */
const objectionTo = (known: ReadonlySet<string | undefined>, text: string): ReadonlyArray<string> => {
  const network = EvmNetwork.fromText(text)
  if (network !== undefined && known.has(network)) return []
  const reason =
    network === undefined
      ? "is not an EVM network; buyers pay inventories on EVM networks alone, and inventories pay shops there, on TRON and on TON"
      : "is not settled on; give it an entry with its network in PONTAGE_EVM"
  return [`PONTAGE_BRIDGE_INVENTORY: ${text} ${reason}`]
}

/** Why shops are not paid on a network. */
const objectionToEnd = (
  known: ReadonlySet<string | undefined>,
  { ton, tron }: Beside,
  text: string
): ReadonlyArray<string> => {
  const [family, served] = TronNetwork.fromText(text) === undefined ? ["TON", ton] : ["TRON", tron]
  if (TonNetwork.fromText(text) === undefined && TronNetwork.fromText(text) === undefined)
    return objectionTo(known, text)
  return isSame(text, served)
    ? []
    : [
        `PONTAGE_BRIDGE_INVENTORY: ${text} is not settled on; set PONTAGE_${family}_RPC_URL, and PONTAGE_${family}_NETWORK to that network`
      ]
}

const networkOf = (text: string): string | undefined =>
  EvmNetwork.fromText(text) ?? TronNetwork.fromText(text) ?? TonNetwork.fromText(text)

/** Whether two texts name one network. */
export const isSame = (one: string, other: string | undefined): boolean =>
  other !== undefined && networkOf(one) === networkOf(other)
