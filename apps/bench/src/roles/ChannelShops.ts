/**
 * Shops that sell by payment channels, as processes of their own on one chain: ours with its facilitator inside or at our service, and
 * the peer's, whose facilitator is a process too. Both take the same channels: of the chain's payee, with the claims authorized by its third signer.
 */
import { join } from "node:path"

import type * as PeerChain from "../PeerChain.ts"
import * as MeasuredProcess from "./MeasuredProcess.ts"
import * as RoleProcess from "./RoleProcess.ts"

/** A running shop. */
export interface ChannelShop {
  readonly url: string
  /** CPU time of the shop's process in microseconds. */
  readonly cpuMicros: () => Promise<number>
  /** The same of its facilitator, if that is another process. */
  readonly facilitatorMicros: () => Promise<number>
  readonly stop: () => Promise<void>
}

/** The terms of both. */
export interface Terms {
  readonly price: string
  /** Seconds from a payer's request to withdraw until it can take the money. */
  readonly withdrawDelay: number
  /** Milliseconds that the handler of `/other` takes; that of `/report` takes none. */
  readonly otherMillis: number
}

const keysOf = ({ accounts: { signers } }: Pick<PeerChain.PeerChain, "accounts">) => {
  const [gas, sender, authorizer] = signers
  return { gas: gas.privateKey, sender: sender.privateKey, authorizer: authorizer.privateKey }
}

/** Opens ours with its facilitator inside; the records are in the folder. */
export const ours = async (chain: PeerChain.PeerChain, terms: Terms, folder: string): Promise<ChannelShop> => {
  const { stop, url, usage } = await ourShop(chain, terms, folder)
  const cpuMicros = async () => (await usage()).cpuMicros
  return { url, cpuMicros, facilitatorMicros: () => Promise.resolve(0), stop }
}

/** The key by which the service knows the shop. */
const apiKey = "key-of-the-measured-shop-0001"

/** Opens ours at our service, which has its records in the folder and its limits lifted: all load comes from one address. */
export const oursAtService = async (chain: PeerChain.PeerChain, terms: Terms, folder: string): Promise<ChannelShop> => {
  const { authorizer, gas, sender } = keysOf(chain)
  const service = await RoleProcess.startOnPort(
    {
      module: "facilitator/dist/main.js",
      environment: {
        PONTAGE_STORE: `sqlite:${join(folder, "records.sqlite")}`,
        PONTAGE_API_KEYS: JSON.stringify([{ key: apiKey, payees: [chain.accounts.payee.address] }]),
        PONTAGE_EVM_RPC_URL: chain.rpcUrl,
        PONTAGE_EVM_SIGNER_KEY: gas,
        PONTAGE_EVM_CHANNEL_SIGNER_KEY: sender,
        PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY: authorizer,
        PONTAGE_RATE: "999999/999999",
        PONTAGE_PAYER_RATE: "999999/999999"
      }
    },
    "/ready"
  )
  const { stop, url, usage } = await ourShop(chain, terms, folder, { url: service.url, key: apiKey })
  return {
    url,
    cpuMicros: async () => (await usage()).cpuMicros,
    facilitatorMicros: service.cpuMicros,
    stop: async () => {
      await stop()
      await service.stop()
    }
  }
}

const ourShop = async (
  { accounts, network, rpcUrl }: PeerChain.PeerChain,
  { otherMillis, price }: Terms,
  folder: string,
  facilitator?: { readonly url: string; readonly key: string }
): Promise<MeasuredProcess.MeasuredProcess> => {
  const { authorizer, sender } = keysOf({ accounts })
  const options = {
    port: await RoleProcess.freePort(),
    rpcUrl,
    network,
    payTo: accounts.payee.address,
    price,
    otherMillis,
    senderKey: sender,
    authorizerKey: authorizer,
    folder,
    ...(facilitator !== undefined && { facilitator })
  }
  return MeasuredProcess.start("ChannelShopRole.js", JSON.stringify(options))
}

/** Opens the peer's; without a folder its records are in memory. */
export const theirs = async (
  chain: PeerChain.PeerChain,
  { otherMillis, price, withdrawDelay }: Terms,
  folder?: string
): Promise<ChannelShop> => {
  const { accounts, rpcUrl } = chain
  const { authorizer, gas } = keysOf(chain)
  const facilitator = await RoleProcess.startPeer("channelFacilitator", { rpcUrl, key: gas, pollingMillis: 20 })
  const shop = await RoleProcess.startPeer("channels", {
    facilitator: facilitator.url,
    rpcUrl,
    payTo: accounts.payee.address,
    price,
    otherMillis,
    authorizerKey: authorizer,
    withdrawDelay,
    ...(folder !== undefined && { folder })
  })
  return {
    url: shop.url,
    cpuMicros: shop.cpuMicros,
    facilitatorMicros: facilitator.cpuMicros,
    stop: async () => {
      await shop.stop()
      await facilitator.stop()
    }
  }
}
