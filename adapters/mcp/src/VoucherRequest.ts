/** Takes the vouchers of a shop's metered tools, by a request of its own: it answers as the voucher URL does over HTTP. */
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js"
import { MetaSeller, Misconfigured, type PricedRoute, type Seller, VoucherRoute } from "@pontage/core"

import * as MeteredMeta from "./MeteredMeta.ts"
import * as SentCall from "./SentCall.ts"

const { paymentHeader } = MetaSeller.metaSeller

/** The shops whose vouchers servers take. */
const shops = new WeakMap<McpServer, Seller.Seller>()

/** Lets a server take vouchers, in the dialects of the route. Throws `Misconfigured` for a server that takes another shop's. */
export const take = (seller: Seller.Seller, { dialects, name }: PricedRoute, server: McpServer): void => {
  const known = shops.get(server)
  if (known !== undefined && known !== seller) {
    throw new Misconfigured({
      message: `${name}: the server sells another shop's metered tools, and takes the vouchers of one shop; sell them by one`
    })
  }
  if (known === undefined) SentCall.handlersOf(server).set(MeteredMeta.voucherMethod, handlerOf(seller, dialects))
  shops.set(server, seller)
}

const handlerOf =
  (seller: Seller.Seller, dialects: PricedRoute["dialects"]): SentCall.RequestHandler =>
  async (_request, extra) => {
    const vouchers = seller.vouchers()
    const header = MetaSeller.headersIn(extra._meta)
    if (vouchers === undefined || header(paymentHeader) === undefined) {
      throw new McpError(ErrorCode.InvalidParams, `send the voucher in params._meta["${paymentHeader}"]`)
    }
    const request = {
      method: "POST",
      target: VoucherRoute.pathOf(vouchers),
      header,
      headers: {},
      params: {},
      query: {},
      body: undefined,
      native: extra
    }
    const decision = await seller.decide({ ...vouchers, dialects }, request)
    if (decision._tag !== "Refused") throw new McpError(ErrorCode.InternalError, "the voucher was not decided")
    const { body, status } = decision.response
    return { status, body: JSON.parse(body) }
  }
