/** A local chain with channels, and x402's own facilitator and shop on it. */
import * as BaseSepoliaChain from "@pontage/devnet/BaseSepoliaChain"
import { ChannelContracts } from "@pontage/evm/testing"
import { BatchSettlementEvmScheme as ChannelFacilitator } from "@x402/evm/batch-settlement/facilitator"
import { BatchSettlementEvmScheme as ChannelServer } from "@x402/evm/batch-settlement/server"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

import * as PeerFacilitator from "../../src/facilitators/PeerFacilitator.ts"
import * as PeerExpressShop from "../../src/shops/PeerExpressShop.ts"

/** Seconds of the shop's channels between a withdrawal's start and its end. */
export const withdrawDelay = 900

export const opened = Effect.gen(function* () {
  const chain = yield* BaseSepoliaChain.make
  const { node } = chain
  yield* ChannelContracts.deploy(node)
  const [first, second] = node.accounts.signers
  const facilitator = yield* PeerFacilitator.start({ rpcUrl: node.rpcUrl, key: first.privateKey, pollingMillis: 20 }, [
    (signer) => new ChannelFacilitator(signer)
  ])
  const { address: payTo } = node.accounts.payee
  const scheme = new ChannelServer(payTo, { receiverAuthorizerSigner: second, withdrawDelay, onchainStateTtlMs: 0 })
  const shop = yield* PeerExpressShop.open({ facilitator: facilitator.url, rpcUrl: node.rpcUrl, payTo }, scheme, {
    scheme: "batch-settlement"
  })
  return { chain, shop, payTo, scheme }
})

export class Market extends Context.Service<Market, Effect.Success<typeof opened>>()("Market") {}
