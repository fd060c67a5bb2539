/**
 * The settings of an operator's inventory, and the service that they make: buyers pay to the operator's account on this network, and the
 * operator pays the shop from the same account on another one. It is custody: between the two the operator holds the buyer's money.
 */
import { type Asset, type AssetTable, type ChainUnavailable, Misconfigured, type Payouts } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"

import * as FarRoute from "../bridge/FarRoute.ts"
import * as EvmChainHead from "../node/EvmChainHead.ts"
import * as EvmLagGuard from "../node/EvmLagGuard.ts"
import * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import type { EvmSigner } from "../wallet/EvmSigner.ts"
import * as InventoryLosses from "./InventoryLosses.ts"
import type { ServedInventory, ServedPair } from "./ServedInventory.ts"

/** A network of this family where shops are paid, by the inventory's own key. */
export interface InventoryEnd {
  readonly network: string
  readonly rpcUrl: string
  /** The token that shops get, by symbol or address; default the network's dollar stablecoin. It has as many decimals as the first. */
  readonly asset?: string
  /** Blocks behind the head from which a block there counts as final; default 64. */
  readonly finalityDepth?: number
}

/** A network of another family where shops are paid, such as TRON. */
export interface InventoryAccount {
  /** The account that pays, such as `exactTron.payouts({ signer, rpcUrl })`. */
  readonly payouts: Payouts
  /** The token that shops get, by symbol or address; default the network's dollar stablecoin. It has as many decimals as the first. */
  readonly asset?: string
}

/** A pair of tokens: one that buyers pay in here, and one that shops get on another network. */
export interface InventoryPair {
  /** The token that buyers pay in, by symbol or address; default the network's dollar stablecoin. */
  readonly asset?: string
  /** Where shops are paid. The facilitator has to settle `exact` there: its payments are sent by that network's signers. */
  readonly to: InventoryEnd | InventoryAccount
  /** The fee that buyers pay beside the price, in the token's smallest unit: it has to cover the gas of both payments. */
  readonly fee: bigint
  /** The least price, in the token's smallest unit; default 1. */
  readonly minimumAmount?: bigint
  /** The highest price of one payment, in the token's smallest unit; default `perDay`. */
  readonly maximumAmount?: bigint
  /** The most that is paid to shops over this pair in any 24 hours, in the token's smallest unit. */
  readonly perDay: bigint
  /**
   * The most that reorganisations may cost in 24 hours, in the token's smallest unit; default a tenth of `perDay`. A buyer's payment that its
   * chain takes back after the shop was paid is lost; above this sum the pair takes no new payments.
   */
  readonly lossBudget?: bigint
}

/** Settings of an inventory. */
export interface Inventory {
  /** The key of the account that buyers pay to, and that pays shops: the same address on all networks, without code. */
  readonly signer: EvmSigner
  readonly pairs: ReadonlyArray<InventoryPair>
}

const checkEnd = OptionCheck.options<InventoryEnd>({
  network: OptionCheck.text,
  rpcUrl: OptionCheck.nodeUrl(EvmNetwork.nodeExample),
  asset: OptionCheck.optional(OptionCheck.text),
  finalityDepth: OptionCheck.optional(OptionCheck.whole())
})

const checkAccount = OptionCheck.options<InventoryAccount>({
  payouts: OptionCheck.having<Payouts>("an account, such as exactTron.payouts({ signer, rpcUrl })", "sign", "observe"),
  asset: OptionCheck.optional(OptionCheck.text)
})

/** Names the mistake of the kind that is meant: an account is the one that has `payouts`. */
const checkTo: OptionCheck.Check<InventoryEnd | InventoryAccount> = {
  fault: (value) =>
    (typeof value === "object" && value !== null && "payouts" in value ? checkAccount : checkEnd).fault(value)
}

/** The check of {@link Inventory}. */
export const check = OptionCheck.options<Inventory>({
  signer: OptionCheck.having<EvmSigner>(
    "a signer, such as exactEvm.localSigner(privateKey) or a viem local account",
    "address",
    "signTypedData"
  ),
  pairs: OptionCheck.list(
    OptionCheck.options<InventoryPair>({
      asset: OptionCheck.optional(OptionCheck.text),
      to: checkTo,
      fee: OptionCheck.amount(),
      minimumAmount: OptionCheck.optional(OptionCheck.amount(1n)),
      maximumAmount: OptionCheck.optional(OptionCheck.amount(1n)),
      perDay: OptionCheck.amount(1n),
      lossBudget: OptionCheck.optional(OptionCheck.amount(1n))
    })
  )
})

/** The facilitator that serves an inventory. */
export interface InventoryOwner {
  readonly network: ServedInventory["network"]
  readonly assets: AssetTable.AssetTable
  /** The time for which any node is waited for; `undefined` for the default. */
  readonly rpcTimeoutMillis: number | undefined
  /** Compares a token with its chain. */
  readonly prove: (rpc: EvmRpc.Shape, token: Asset) => Effect.Effect<void, ChainUnavailable | Misconfigured>
}

/** Makes the service: connects to the other networks, and compares both tokens of each pair with their chains. */
export const make = Effect.fnUntraced(function* (
  near: EvmRpc.Shape,
  owner: InventoryOwner,
  { pairs, signer }: Inventory
): Effect.fn.Return<ServedInventory, Misconfigured | ChainUnavailable> {
  const account = EvmAddress.fromText(signer.address)
  if (account === undefined) return yield* wrong(`signer: its address "${signer.address}" is not an address`)
  if (pairs.length === 0) return yield* wrong("pairs: give at least one pair, or leave inventory out")
  yield* isPlain(near, account)
  const served: Array<ServedPair> = []
  for (const pair of pairs) {
    const one = yield* pairOf(near, owner, account, pair)
    if (served.some((other) => other.name === one.name)) {
      return yield* wrong(`pairs: ${one.name} is there twice; keep one`)
    }
    served.push(one)
  }
  return { account, signer, network: owner.network, pairs: served }
})

const pairOf = Effect.fnUntraced(function* (
  near: EvmRpc.Shape,
  owner: InventoryOwner,
  account: EvmAddress.Address,
  { asset, fee, lossBudget, maximumAmount, minimumAmount = 1n, perDay, to }: InventoryPair
): Effect.fn.Return<ServedPair, Misconfigured | ChainUnavailable> {
  const { assets, network, prove } = owner
  const paid = yield* tokenOf(assets, network, asset)
  const end = yield* "payouts" in to ? accountOf(to) : endOf(owner, account, to)
  const { arriving, chain, proof } = end
  const name = `${paid.symbol} on ${network} to ${arriving.symbol} on ${chain.network}`
  if (paid.decimals !== arriving.decimals) {
    return yield* wrong(`pairs: ${name}: the tokens have ${paid.decimals} and ${arriving.decimals} decimals`)
  }
  const most = maximumAmount ?? perDay
  if (minimumAmount > most || most > perDay) {
    return yield* wrong(`pairs: ${name}: minimumAmount, maximumAmount and perDay have to rise in this order`)
  }
  yield* prove(near, paid)
  return {
    name,
    paid,
    arriving,
    fee,
    minimumAmount,
    maximumAmount: most,
    perDay,
    losses: yield* InventoryLosses.make(lossBudget ?? (perDay < 10n ? perDay : perDay / 10n)),
    proven: yield* FarRoute.whenever(chain.network, Effect.as(proof, true)),
    chain
  }
})

/** The other end of a pair. */
interface PairEnd extends Pick<ServedPair, "arriving" | "chain"> {
  /** Compares it with its chain. */
  readonly proof: Effect.Effect<void, ChainUnavailable | Misconfigured>
}

const endOf = Effect.fnUntraced(function* (
  { assets, network, prove, rpcTimeoutMillis }: InventoryOwner,
  account: EvmAddress.Address,
  to: InventoryEnd
): Effect.fn.Return<PairEnd, Misconfigured | ChainUnavailable> {
  const far = EvmNetwork.fromText(to.network)
  if (far === undefined) {
    return yield* wrong(
      `pairs: to.network "${to.network}" ${EvmNetwork.fault}; a network of another family is given as to.payouts`
    )
  }
  if (far === network) return yield* wrong(`pairs: to.network ${far} is the network that is paid on`)
  const arriving = yield* tokenOf(assets, far, to.asset)
  const node = yield* EvmRpc.make({
    url: to.rpcUrl,
    network: far,
    ...(rpcTimeoutMillis !== undefined && { timeout: rpcTimeoutMillis })
  })
  const lagGuard = EvmLagGuard.make(node)
  const proof = Effect.gen(function* () {
    const served = EvmNetwork.fromChainId(yield* node.chainId)
    if (served !== far) return yield* wrong(`pairs: the RPC configured for ${far} serves ${served}`)
    yield* prove(lagGuard.rpc, arriving)
    return yield* isPlain(lagGuard.rpc, account)
  })
  const depth = to.finalityDepth === undefined ? {} : { finalityDepth: to.finalityDepth }
  return { arriving, proof, chain: { network: far, lagGuard, chainHead: EvmChainHead.make(lagGuard.rpc, depth) } }
})

const accountOf = ({ asset: text, payouts }: InventoryAccount): Effect.Effect<PairEnd, Misconfigured> => {
  const { network } = payouts
  const arriving = payouts.asset(text)
  return arriving === undefined
    ? wrong(
        `pairs: the token ${text ?? "of dollars"} on ${network} is not known; give it to its payouts as one of assets`
      )
    : Effect.succeed({ arriving, proof: payouts.prove(arriving), chain: { network, payouts } })
}

const tokenOf = Effect.fnUntraced(function* (
  assets: AssetTable.AssetTable,
  network: string,
  text: string | undefined
): Effect.fn.Return<Asset, Misconfigured> {
  const asset = assets.find(network, text)
  if (asset === undefined) {
    return yield* wrong(`pairs: the token ${text ?? "of dollars"} on ${network} is not known; give it as one of assets`)
  }
  return EvmAsset.hasAuthorizations(asset)
    ? asset
    : yield* wrong(
        `pairs: ${asset.symbol} on ${network} has no transfer authorizations (EIP-3009), by which inventories are paid and pay`
      )
})

/** The account's key alone signs for it: another account's code could spend the money, or refuse it. */
const isPlain = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  account: EvmAddress.Address
): Effect.fn.Return<void, Misconfigured | ChainUnavailable> {
  if ((yield* rpc.getCode(account)) === "0x") return
  return yield* wrong(`signer: ${EvmAddress.checksum(account)} has code on ${rpc.network}; give a plain account`)
})

const wrong = (what: string): Effect.Effect<never, Misconfigured> =>
  Effect.fail(new Misconfigured({ message: `exactEvm.facilitator: inventory: ${what}` }))
