/** The operator's inventory as the option of a network's `exact` scheme, and the words by which the log marks it. */
import { Misconfigured, type Payouts } from "@pontage/core"
import type { EvmCrypto, EvmSigner } from "@pontage/evm"
import { exactTon, TonNetwork, TonWallet } from "@pontage/ton"
import { exactTron, TronNetwork } from "@pontage/tron"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

import type { EvmNetworkSettings } from "../settings/EvmSettings.ts"
import type { FacilitatorSettings } from "../settings/FacilitatorSettings.ts"
import * as InventorySettings from "../settings/InventorySettings.ts"
import * as TonSettings from "../settings/TonSettings.ts"
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
  /** The accounts on networks of other families that are settled on. */
  readonly accounts: ReadonlyArray<Account>
}

/** An account on a network of another family. */
interface Account {
  readonly network: string
  readonly payouts: Payouts
}

/** Makes the inventory; `undefined` without one. The log says what the operator takes on. */
export const make = Effect.fnUntraced(function* (
  { evm, inventory, ton, tron }: FacilitatorSettings,
  crypto: EvmCrypto.Shape
): Effect.fn.Return<Inventory | undefined, Misconfigured> {
  if (inventory === undefined) return undefined
  const { key, pairs, tonKey } = inventory
  const signer = yield* EvmSigners.make("PONTAGE_BRIDGE_INVENTORY_KEY", key, crypto)
  const names = pairs.map(({ from, perDay, to }) => `${from} to ${to} (at most ${perDay} in 24 hours)`)
  const accounts = yield* accountsOf(
    [tron && (() => onTron(key, tron)), ton && tonKey && (() => onTon(tonKey, ton))],
    (network) => pairs.some(({ to }) => InventorySettings.isSame(to, network))
  )
  const there = accounts.map(({ network, payouts: { account } }) => `, on ${network} ${account}`).join("")
  yield* Effect.logWarning(
    `PONTAGE_BRIDGE_INVENTORY: custody: the account ${signer.address}${there} takes buyers' money and pays shops from its own: ${names.join(", ")}`
  )
  return { signer, pairs, networks: evm, accounts }
})

/** Makes the accounts of the networks where shops are paid. */
const accountsOf = (
  makers: ReadonlyArray<(() => Account) | undefined>,
  isPaid: (network: string) => boolean
): Effect.Effect<ReadonlyArray<Account>, Misconfigured> =>
  Effect.try({
    try: () =>
      makers.flatMap((maker) => {
        const account = maker?.()
        return account !== undefined && isPaid(account.network) ? [account] : []
      }),
    catch: (cause) =>
      cause instanceof Misconfigured
        ? cause
        : new Misconfigured({ message: `PONTAGE_BRIDGE_INVENTORY: ${String(cause)}` })
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
  const account = inventory.accounts.find(({ network }) => InventorySettings.isSame(to, network))
  if (account !== undefined) return { payouts: account.payouts, ...(asset !== undefined && { asset }) }
  const far = farOf(inventory, to)
  return far && toOf(far, to, asset)
}

/** The account of the same key on TRON. */
const onTron = (key: Redacted.Redacted, { apiKey, rpcUrl, terms }: TronSettings): Account => {
  const { assets, network = TronNetwork.mainnet } = terms
  const payouts = exactTron.payouts({
    signer: exactTron.localSigner(key),
    rpcUrl: Redacted.value(rpcUrl),
    network,
    ...(apiKey !== undefined && { rpcHeaders: { [tronKeyHeader]: Redacted.value(apiKey) } }),
    ...(assets !== undefined && { assets })
  })
  return { network, payouts }
}

/** The wallet on TON; the first relayer gets its unused TON. */
const onTon = (key: Redacted.Redacted, { apiKey, rpcUrl, signerKeys, terms }: TonSettings.TonSettings): Account => {
  const { assets, attachedTon, network = TonNetwork.mainnet, subwallet } = terms
  const [relayer] = signerKeys.map(TonSettings.keyPairOf)
  const walletId = TonNetwork.walletId(TonNetwork.fromText(network) ?? TonNetwork.mainnet, subwallet)
  const payouts = exactTon.payouts({
    signer: exactTon.localSigner(key),
    relayer: relayer === undefined ? "" : TonWallet.w5Address(relayer.publicKey, walletId),
    rpcUrl: Redacted.value(rpcUrl),
    network,
    ...(apiKey !== undefined && { apiKey: Redacted.value(apiKey) }),
    ...(assets !== undefined && { assets }),
    ...(attachedTon !== undefined && { attachedTon })
  })
  return { network, payouts }
}

const farOf = ({ networks }: Inventory, to: string) =>
  networks.find(({ network }) => InventorySettings.isSame(to, network))

/** The other network is the one of its own entry: its payments are sent there. */
const toOf = ({ rpcUrl, terms }: EvmNetworkSettings, network: string, asset: string | undefined) => ({
  network,
  rpcUrl: Redacted.value(rpcUrl),
  ...(asset !== undefined && { asset }),
  ...(terms?.finalityDepth !== undefined && { finalityDepth: terms.finalityDepth })
})
