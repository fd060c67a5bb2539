/**
 * A shop to be measured that sells the goods by payment channels: Express with the peer's middleware and its server of the scheme.
 */
import { setTimeout as delay } from "node:timers/promises"

import { BatchSettlementEvmScheme } from "@x402/evm/batch-settlement/server"
import { FileChannelStorage } from "@x402/evm/batch-settlement/server/file-storage"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { privateKeyToAccount } from "viem/accounts"

import * as Goods from "./Goods.ts"
import * as PeerExpressShop from "./PeerExpressShop.ts"

const Hex = Schema.TemplateLiteral(["0x", Schema.String])

/** The options of the shop. */
export const ChannelShopOptions = Schema.Struct({
  facilitator: Schema.String,
  rpcUrl: Schema.String,
  payTo: Hex,
  price: Schema.String,
  /** The key that authorizes claims. */
  authorizerKey: Hex,
  withdrawDelay: Schema.Number,
  /** Milliseconds that the handler of the other goods takes. */
  otherMillis: Schema.Number,
  /** The folder of its records; default in memory, as is its package's. */
  folder: Schema.optionalKey(Schema.String)
})

/** Opens it as long as the scope. */
export const start = Effect.fnUntraced(function* (options: typeof ChannelShopOptions.Type) {
  const { authorizerKey, facilitator, folder, otherMillis, payTo, price, rpcUrl, withdrawDelay } = options
  const scheme = new BatchSettlementEvmScheme(payTo, {
    receiverAuthorizerSigner: privateKeyToAccount(authorizerKey),
    withdrawDelay,
    ...(folder !== undefined && { storage: new FileChannelStorage({ directory: folder }) })
  })
  const before = async (path: Goods.Path) => {
    if (path === Goods.paths.other) await delay(otherMillis)
  }
  const more = { scheme: "batch-settlement", price: () => price, before }
  return yield* PeerExpressShop.open({ facilitator, rpcUrl, payTo }, scheme, more)
})
