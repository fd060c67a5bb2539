/** The operator's inventory as the option of a network's `exact` scheme, and the words by which the log marks it. */
import type { Misconfigured } from "@pontage/core"
import type { EvmCrypto, EvmSigner } from "@pontage/evm"
import { exactTron, TronNetwork } from "@pontage/tron"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

import type { EvmNetworkSettings } from "../settings/EvmSettings.ts"
import type { FacilitatorSettings } from "../settings/FacilitatorSettings.ts"
import * as InventorySettings from "../settings/InventorySettings.ts"
import type { TronSettings } from "../settings/TronSettings.ts"
import * as EvmSigners from "./EvmSigners.ts"

/** Header of the provider's key at TRON nodes. */
export const tronKeyHeader = "TRON-PRO-API-KEY"

/** The inventory of the settings, with its signer. */
export interface Inventory {
  readonly signer: EvmSigner.EvmSigner
  readonly pairs: InventorySettings.InventoryTerms["pairs"]
  /** All EVM networks that are settled on. */
  readonly networks: ReadonlyArray<EvmNetworkSettings>
  /** The account of the same key on TRON, and what it connects by; absent where TRON is not settled on. */
  readonly tron: TronAccount | undefined
}

interface TronAccount {
  readonly network: string
  readonly key: Redacted.Redacted
  readonly settings: TronSettings
}

/** Makes the inventory; `undefined` without one. The log says what the operator takes on. */
export const make = Effect.fnUntraced(function* (
  { evm, inventory, tron: settings }: FacilitatorSettings,
  crypto: EvmCrypto.Shape
): Effect.fn.Return<Inventory | undefined, Misconfigured> {
  if (inventory === undefined) return undefined
  const { key, pairs } = inventory
  const signer = yield* EvmSigners.make("PONTAGE_BRIDGE_INVENTORY_KEY", key, crypto)
  const names = pairs.map(({ from, perDay, to }) => `${from} to ${to} (at most ${perDay} in 24 hours)`)
  const tron = settings && { network: settings.terms.network ?? TronNetwork.mainnet, key, settings }
  const isThere = tron !== undefined && pairs.some(({ to }) => InventorySettings.isSame(to, tron.network))
  const there = isThere ? `, on TRON ${exactTron.localSigner(key).address}` : ""
  yield* Effect.logWarning(
    `PONTAGE_BRIDGE_INVENTORY: custody: the account ${signer.address}${there} takes buyers' money and pays shops from its own: ${names.join(", ")}`
  )
  return { signer, pairs, networks: evm, tron }
})

/** The pairs that buyers pay on this network. */
const pairsFrom = ({ pairs }: Inventory, network: string | undefined) =>
  pairs.filter(({ from }) => InventorySettings.isSame(from, network))

/** The option `inventory` of `exactEvm.facilitator` on a network; `undefined` where no buyer pays there. */
export const optionOf = (inventory: Inventory | undefined, network: string | undefined) => {
  if (inventory === undefined) return undefined
  const pairs = pairsFrom(inventory, network).flatMap(({ to, toAsset, ...terms }) => {
    const end = endOf(inventory, to, toAsset)
    return end === undefined ? [] : [{ ...limitsOf(terms), to: end }]
  })
  return pairs.length === 0 ? undefined : { signer: inventory.signer, pairs }
}

type Limits = Omit<Inventory["pairs"][number], "from" | "to" | "toAsset">

const limitsOf = ({ asset, fee, lossBudget, maximumAmount, minimumAmount, perDay }: Limits): Limits => ({
  fee,
  perDay,
  ...(asset !== undefined && { asset }),
  ...(lossBudget !== undefined && { lossBudget }),
  ...(minimumAmount !== undefined && { minimumAmount }),
  ...(maximumAmount !== undefined && { maximumAmount })
})

/** The end of a pair; `undefined` where its network is not settled on. */
const endOf = (inventory: Inventory, to: string, asset: string | undefined) => {
  const { tron } = inventory
  if (tron !== undefined && InventorySettings.isSame(to, tron.network)) return onTron(tron, asset)
  const far = farOf(inventory, to)
  return far && toOf(far, to, asset)
}

const onTron = ({ key, network, settings: { apiKey, rpcUrl, terms } }: TronAccount, asset: string | undefined) => ({
  payouts: exactTron.payouts({
    signer: exactTron.localSigner(key),
    rpcUrl: Redacted.value(rpcUrl),
    network,
    ...(apiKey !== undefined && { rpcHeaders: { [tronKeyHeader]: Redacted.value(apiKey) } }),
    ...(terms.assets !== undefined && { assets: terms.assets })
  }),
  ...(asset !== undefined && { asset })
})

const farOf = ({ networks }: Inventory, to: string) =>
  networks.find(({ network }) => InventorySettings.isSame(to, network))

/** The other network is the one of its own entry: its payments are sent there. */
const toOf = ({ rpcUrl, terms }: EvmNetworkSettings, network: string, asset: string | undefined) => ({
  network,
  rpcUrl: Redacted.value(rpcUrl),
  ...(asset !== undefined && { asset }),
  ...(terms?.finalityDepth !== undefined && { finalityDepth: terms.finalityDepth })
})
