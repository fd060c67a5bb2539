import type * as PeerChain from "./PeerChain.ts"
/**
 * A facilitator, a shop and buyers who belong together, each a process of its own: ours, or the peer's.
 */
import * as MeasuredShop from "./roles/MeasuredShop.ts"
import * as OurService from "./roles/OurService.ts"
import * as RoleProcess from "./roles/RoleProcess.ts"

/** The processes whose CPU time is told apart, and the chain they share. */
export interface PaidMarket {
  readonly name: string
  readonly isOurs: boolean
  readonly chain: PeerChain.PeerChain
  readonly buyers: RoleProcess.RoleProcess
  readonly shop: RoleProcess.RoleProcess
  readonly facilitator: RoleProcess.RoleProcess
}

type Ours = OurService.Options & { readonly name: string }

/** Opens one of ours. */
export const ours = async (chain: PeerChain.PeerChain, { name, ...options }: Ours): Promise<PaidMarket> => {
  const facilitator = await OurService.start(chain, options)
  const shop = await MeasuredShop.start(chain, facilitator.url)
  return { name, isOurs: true, chain, facilitator, shop, buyers: await crowdOf(chain, "ours", shop.url) }
}

/** How the peer is set up. */
export interface Theirs {
  readonly name: string
  readonly shop: "express" | "hono"
  /** The settings of its facilitator beside the chain's node. */
  readonly facilitator: Readonly<Record<string, unknown>>
}

/** Opens one of the peer's. */
export const theirs = async (chain: PeerChain.PeerChain, { name, ...options }: Theirs): Promise<PaidMarket> => {
  const { accounts, rpcUrl } = chain
  const facilitator = await RoleProcess.startPeer("facilitator", { rpcUrl, ...options.facilitator })
  const payTo = accounts.payee.address
  const shop = await RoleProcess.startPeer(options.shop, { facilitator: facilitator.url, payTo })
  return { name, isOurs: false, chain, facilitator, shop, buyers: await crowdOf(chain, "peer", shop.url) }
}

/** Ends all of its processes. */
export const stop = async ({ buyers, facilitator, shop }: PaidMarket): Promise<void> => {
  await buyers.stop()
  await shop.stop()
  await facilitator.stop()
}

const crowdOf = ({ accounts, rpcUrl }: PeerChain.PeerChain, buyer: "ours" | "peer", shop: string) =>
  RoleProcess.startPeer("crowd", {
    buyer,
    addons: buyer === "ours",
    keys: accounts.payers.map(({ privateKey }) => privateKey),
    rpcUrl,
    url: `${shop}/report`
  })
