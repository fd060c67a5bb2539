import type * as PeerChain from "../PeerChain.ts"
/**
 * Our shop on one host as a process of its own.
 */
import * as MeasuredProcess from "./MeasuredProcess.ts"
import * as RoleProcess from "./RoleProcess.ts"
import type { Copied, Copies, HostName } from "./ShopHosts.ts"

/** Opens it at a facilitator, or without a gate, and waits until it sells. `copies` are responses that it sends as constants. */
export const start = async (
  chain: PeerChain.PeerChain,
  facilitator?: string,
  host: HostName = "koa",
  copies: Copies = {}
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
    host,
    JSON.stringify(copies)
  )
  while ((await statusOf(shop.url)) === 503) await new Promise((resolve) => setTimeout(resolve, 20))
  return { url: shop.url, cpuMicros: async () => (await shop.usage()).cpuMicros, stop: shop.stop }
}

/** A response as another shop can send it: without the headers that Node adds by itself. */
export const copyOf = async (url: string): Promise<Copied> => {
  const response = await fetch(url)
  const body = await response.text()
  const headers = [...response.headers].filter(([name]) => !nodesOwn.has(name))
  return { status: response.status, headers: Object.fromEntries(headers), body }
}

const nodesOwn: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "date",
  "keep-alive",
  "transfer-encoding"
])

const statusOf = async (url: string): Promise<number> => {
  const response = await fetch(`${url}/report`)
  await response.arrayBuffer()
  return response.status
}
