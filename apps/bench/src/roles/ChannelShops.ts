/**
 * Shops that sell by payment channels, as processes of their own on one chain: ours with its facilitator inside, and the peer's, whose
 * facilitator is a process too. Both take the same channels: of the chain's payee, with the claims authorized by its third signer.
 */
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

const keysOf = ({ accounts: { signers } }: PeerChain.PeerChain) => {
  const [gas, sender, authorizer] = signers
  return { gas: gas.privateKey, sender: sender.privateKey, authorizer: authorizer.privateKey }
}

/** Opens ours; its records are in the folder. */
export const ours = async (
  chain: PeerChain.PeerChain,
  { otherMillis, price }: Terms,
  folder: string
): Promise<ChannelShop> => {
  const { accounts, network, rpcUrl } = chain
  const { authorizer, sender } = keysOf(chain)
  const options = {
    port: await RoleProcess.freePort(),
    rpcUrl,
    network,
    payTo: accounts.payee.address,
    price,
    otherMillis,
    senderKey: sender,
    authorizerKey: authorizer,
    folder
  }
  const shop = await MeasuredProcess.start("ChannelShopRole.js", JSON.stringify(options))
  return {
    url: shop.url,
    cpuMicros: async () => (await shop.usage()).cpuMicros,
    facilitatorMicros: () => Promise.resolve(0),
    stop: shop.stop
  }
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
