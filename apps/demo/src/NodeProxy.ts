/**
 * Koa middleware: the way of the shop's page to a chain's node, at the shop's own origin. It passes on only the reads that a payer
 * needs: the node serves nothing else.
 */
import type { Middleware } from "koa"

/** A node behind a path. */
export interface ProxiedNode {
  /** Path at the shop: `/nodes/ton`. */
  readonly path: string
  readonly url: string
  /** Whether a payer needs this request: the rest of the path, and the body. */
  readonly isNeeded: (rest: string, body: string) => boolean
}

/** Requests of TON's JSON-RPC API by which a payer finds its Jetton wallet. */
export const tonReads: ProxiedNode["isNeeded"] = (rest, body) =>
  rest === "" && /"method"\s*:\s*"(?:runGetMethod|getAddressInformation)"/.test(body)

/** The request of a TRON node by which a payer finds a recent block. */
export const tronReads: ProxiedNode["isNeeded"] = (rest) => rest === "/walletsolidity/getblock"

const longestBody = 16_384

/** The body of a request; `undefined` if it is longer than a payer's requests are. */
const bodyOf = async (request: AsyncIterable<unknown>): Promise<string | undefined> => {
  const chunks: Array<Uint8Array> = []
  let length = 0
  for await (const chunk of request) {
    if (!(chunk instanceof Uint8Array) || (length += chunk.length) > longestBody) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Passes payers' reads on to the nodes, and refuses all other requests below their paths. */
export const nodeProxy =
  (nodes: ReadonlyArray<ProxiedNode>): Middleware =>
  async (context, next) => {
    const node = nodes.find(({ path }) => context.path === path || context.path.startsWith(`${path}/`))
    if (node === undefined) return next()
    const rest = context.path.slice(node.path.length)
    const body = context.method === "POST" ? await bodyOf(context.req) : undefined
    if (body === undefined || !node.isNeeded(rest, body)) return context.throw(403)
    const response = await fetch(node.url.replace(/\/$/, "") + rest, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      signal: AbortSignal.timeout(10_000)
    })
    context.status = response.status
    context.type = "application/json"
    context.body = await response.text()
  }
