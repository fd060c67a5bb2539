/**
 * TON wallets by TON Connect. Only a wallet with the feature `SignMessage` can pay: it signs a message that the facilitator sends
 * and pays for. A wallet without it would have to send the payment itself, before a journal could hold it: refused.
 */
import {
  type Change,
  type Connection,
  type TonWalletSigner,
  type Wallet,
  WalletError,
  type WalletReason
} from "../Wallet.ts"
import { fieldOf, isRecord } from "../WalletText.ts"
import type { TonBridge } from "./TonBridge.ts"

/** A wallet as it describes itself. */
export interface TonWalletFacts {
  readonly id: string
  readonly name: string
  readonly icon: string | undefined
  /** The wallet's own list; `undefined` where only the connection tells it. */
  readonly features: unknown
}

/** Global ids of the networks, as wallets name them. */
const globalIds: Readonly<Record<string, string>> = { "ton:mainnet": "-239", "ton:testnet": "-3", "ton:local": "-217" }

/** The wallet behind a bridge. */
export const make = (
  { features, icon, id, name }: TonWalletFacts,
  bridge: TonBridge
): Wallet<"ton", TonWalletSigner> => ({
  family: "ton",
  id,
  name,
  icon,
  features: features === undefined || canSign(features) ? ["sign"] : [],
  connect: async (network, { manifestUrl } = {}) => {
    const chain = globalIds[network]
    if (chain === undefined)
      throw new WalletError("unsupported", `expected a TON network such as ton:mainnet, got ${network}`)
    if (manifestUrl === undefined)
      throw new WalletError("failed", "expected manifestUrl, the address of the application's TON Connect manifest")
    if (features !== undefined && !canSign(features)) throw cannotSign(name)
    const { account, features: told } = accountIn(await bridge.connect(manifestUrl))
    if (!canSign(told)) throw cannotSign(name)
    if (account.network !== chain) {
      const message = `the wallet is on the network ${account.network}; expected ${chain} (${network}): change it there`
      throw new WalletError("wrong_network", message)
    }
    return connectionOf(bridge, account.address, network)
  }
})

/** Whether a list of features has `SignMessage`; older wallets list their features as texts. */
const canSign = (features: unknown): boolean =>
  Array.isArray(features) &&
  features.some((feature) => feature === "SignMessage" || fieldOf(feature, "name") === "SignMessage")

const cannotSign = (name: string) =>
  new WalletError("unsupported", `${name} lacks TON Connect's signMessage and cannot pay here; use another wallet`)

const reasons: ReadonlyMap<unknown, WalletReason> = new Map<unknown, WalletReason>([
  [300, "rejected"],
  [400, "unsupported"],
  [100, "locked"]
])

const refusalOf = (error: unknown, what: string): WalletError => {
  const message = fieldOf(error, "message")
  const said = typeof message === "string" ? message.slice(0, 200) : "no reason given"
  return new WalletError(reasons.get(fieldOf(error, "code")) ?? "failed", `the wallet did not ${what}: ${said}`)
}

/** The account and the features in the event that opens a connection. */
const accountIn = (event: unknown) => {
  const payload = fieldOf(event, "payload")
  if (fieldOf(event, "event") === "connect_error") throw refusalOf(payload, "share an account")
  const items = fieldOf(payload, "items")
  const item: unknown = Array.isArray(items) ? items.find((one) => fieldOf(one, "name") === "ton_addr") : undefined
  const address = fieldOf(item, "address")
  const network = fieldOf(item, "network")
  if (typeof address !== "string" || !/^0:[0-9a-f]{64}$/.test(address) || typeof network !== "string")
    throw new WalletError("failed", "the wallet opened the connection without an account of workchain 0")
  return { account: { address, network }, features: fieldOf(fieldOf(payload, "device"), "features") }
}

let lastId = 0

const connectionOf = (bridge: TonBridge, address: string, network: string): Connection<TonWalletSigner> => ({
  address,
  network,
  onChange: (listener: (change: Change) => void) =>
    bridge.listen((event) => {
      if (fieldOf(event, "event") === "disconnect") listener("disconnect")
    }),
  signer: {
    address,
    signMessage: async (order) => {
      lastId += 1
      const response = await bridge.send({ method: "signMessage", params: [JSON.stringify(order)], id: `${lastId}` })
      const error = fieldOf(response, "error")
      if (isRecord(error)) throw refusalOf(error, "sign")
      const internalBoc = fieldOf(fieldOf(response, "result"), "internalBoc")
      if (typeof internalBoc === "string") return { internalBoc }
      throw new WalletError("failed", "the wallet returned no signed message (internalBoc)")
    }
  }
})
