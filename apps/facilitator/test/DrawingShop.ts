/** Shops of payment channels whose ledger is kept by the service: its environment, their clients over HTTP, and their channels. */
import { assert } from "@effect/vitest"
import { type Claim, DrawId, FacilitatorClient, type PaymentRequest } from "@pontage/core"
import type { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

import * as TestChannel from "./TestChannel.ts"

/** The keys of two shops with a payee each, and of a caller without one. */
export const keys = { shop: "key-of-the-shop-0001", rival: "key-of-the-rival-001", open: "key-of-an-open-one-1" }

/** The payees of the two shops. */
export const payees = ({ accounts }: EvmTestChain.Shape) => ({
  shop: accounts.signers[0].address,
  rival: accounts.payee.address
})

/** The price of a request, which the offers of `TestChannel` name. */
export const price = 1_000n

/** The variables of a service that keeps the ledger of both shops. */
export const environmentOn = (chain: EvmTestChain.Shape, store: string) => {
  const { accounts, network, rpcUrl, token } = chain
  const { address, decimals, name, symbol, version } = token
  const { rival, shop } = payees(chain)
  return {
    PORT: "0",
    PONTAGE_STORE: store,
    PONTAGE_API_KEYS: JSON.stringify([
      { key: keys.shop, payees: [shop] },
      { key: keys.rival, payees: [rival] },
      keys.open
    ]),
    PONTAGE_EVM_RPC_URL: rpcUrl,
    PONTAGE_EVM_SIGNER_KEY: accounts.signers[1].privateKey,
    PONTAGE_EVM_CHANNEL_SIGNER_KEY: accounts.signers[2].privateKey,
    PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY: accounts.stranger.privateKey,
    PONTAGE_EVM_ASSETS: JSON.stringify([{ network, address, symbol, decimals, name, version }])
  }
}

/** A shop's client of a service. */
export const clientOf = Effect.fnUntraced(function* (
  url: string,
  key: string = keys.shop,
  options: Partial<FacilitatorClient.Options> = {}
) {
  const client = yield* FacilitatorClient.make({ url, headers: { authorization: `Bearer ${key}` }, ...options })
  yield* client.supported
  return client
})

/** A shop's client of a service. */
export type Client = Effect.Success<ReturnType<typeof clientOf>>

/** A claim on the report that the shops sell. */
export const claimOf = (name: string): Claim => ({ id: name.padEnd(22, "x"), resource: "report".padEnd(43, "x") })

/** The credits of a client that has them. */
export const creditsOf = ({ credits }: Client) => credits ?? assert.fail("the client has no credits")

let channels = 0

/** A new channel with a deposit, and the draws that pay for its requests in turn. */
export const opened = Effect.fnUntraced(function* (
  chain: EvmTestChain.Shape,
  client: Client,
  payee = payees(chain).shop
) {
  const channel = yield* TestChannel.make(chain, chain.accounts.stranger.address, ++channels, payee)
  yield* client.settle(TestChannel.request(channel, channel.deposit))
  const request = (maximum: bigint): Effect.Effect<PaymentRequest> =>
    Effect.map(
      Effect.promise(() => channel.voucherOf(maximum)),
      (payload) => TestChannel.request(channel, payload)
    )
  const draw = (maximum: bigint, name: string, by: Client = client) =>
    Effect.flatMap(request(maximum), (one) => by.settle(one, claimOf(name)))
  return { channel, request, draw, id: (maximum: bigint) => DrawId.make(channel.channelId, maximum) }
})

/** Repeats what was not answered, at once. */
export const insistent = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
  Effect.retry(effect, { while: ({ _tag }) => _tag === "FacilitatorUnavailable", schedule: Schedule.recurs(5) })
