import type * as PeerChain from "../PeerChain.ts"
/**
 * Our shop on one host as a process of its own.
 */
import * as MeasuredProcess from "./MeasuredProcess.ts"
import * as RoleProcess from "./RoleProcess.ts"
import type { HostName } from "./ShopHosts.ts"

/** Opens it at a facilitator, or without a gate, and waits until it sells. */
export const start = async (
  chain: PeerChain.PeerChain,
  facilitator?: string,
  host: HostName = "koa"
): Promise<RoleProcess.RoleProcess> => {
  const kind = facilitator === undefined ? "bare" : "gated"
  const port = `${await RoleProcess.freePort()}`
  const { accounts, network, rpcUrl } = chain
  const shop = await MeasuredProcess.start(
    "ShopRole.js",
    kind,
    port,
    rpcUrl,
    facilitator ?? "",
    accounts.payee.address,
    network,
    host
  )
  while ((await statusOf(shop.url)) === 503) await new Promise((resolve) => setTimeout(resolve, 20))
  return { url: shop.url, cpuMicros: async () => (await shop.usage()).cpuMicros, stop: shop.stop }
}

const statusOf = async (url: string): Promise<number> => {
  const response = await fetch(`${url}/report`)
  await response.arrayBuffer()
  return response.status
}
