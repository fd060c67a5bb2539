/**
 * The second chain of a trial, where the facilitator's operator pays shops from its own money (its inventory), and the payments that go on
 * that way. They are put together by hand, as the others of a trial are: the nonce that is signed is the hash of the route. The second leg
 * is held by the depth at which a payment is final: the operator pays no earlier.
 */
import { type Anvil, EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Address, type Hex, getAddress, keccak256, toBytes } from "viem"

import * as InventoryFacts from "../audit/InventoryFacts.ts"
import * as ChainRpc from "../world/ChainRpc.ts"
import * as TrialPayment from "../world/TrialPayment.ts"
import type { TrialRandom } from "../world/TrialRandom.ts"
import type { OnwardLeg } from "./OnwardLeg.ts"

/** The options of the second leg. */
export interface Options {
  /** Seconds between blocks. */
  readonly blockTime: number
  /** Blocks until a block is final on the second chain. */
  readonly finalityDepth: number
}

const secondChainId = 31_338
/** The operator's fee for each payment. */
const fee = 50_000n
/** More than any trial brings to the shop. */
const stock = 10n ** 15n
/** Until 2100, in Unix seconds: a payment on record is shown again with its own offer. */
const quotedUntil = 4_102_444_800
/** Blocks until a payment is final in a world whose second leg is held. */
const heldDepth = 60

/** Starts the second chain, with the operator's money on it. */
export const make = Effect.fnUntraced(function* (
  first: EvmTestChain.Shape,
  { blockTime, finalityDepth }: Options
): Effect.fn.Return<OnwardLeg, Anvil.AnvilFailed, Scope.Scope> {
  const second = yield* EvmTestChain.make({ chainId: secondChainId })
  const operator = first.accounts.stranger
  yield* second.mint(operator.address, stock)
  yield* Effect.promise(() => second.client.setIntervalMining({ interval: blockTime }))
  const rpc = ChainRpc.make(second.rpcUrl)
  const [signer] = second.accounts.signers
  const firstBlock = yield* rpc.ask(ChainRpc.Quantity, "eth_blockNumber")
  const place = { network: second.network, asset: getAddress(second.token.address), account: operator.address }
  const near = { chainId: first.chainId, token: first.token.address, operator: operator.address, fee }
  const far = { token: second.token.address, operator: operator.address, signer: signer.address, firstBlock }
  let isReleased = true
  return {
    second,
    rpc,
    settings: {
      inventory: {
        asset: { network: second.network, ...second.token },
        rpcUrl: second.rpcUrl,
        signerKey: signer.privateKey,
        operatorKey: operator.privateKey,
        fee,
        perDay: stock,
        finalityDepth
      }
    },
    sign: (market, terms, luck) => sign(market, place, terms, luck),
    account: operator.address,
    readNear: (from) => InventoryFacts.readNear(ChainRpc.make(first.rpcUrl), near, from),
    readFar: (payee) => InventoryFacts.readFar(rpc, far, payee),
    hold: Effect.sync(() => void (isReleased = false)),
    release: Effect.map(first.mine(heldDepth), () => void (isReleased = true)),
    isReleased: () => isReleased,
    heldDepth
  }
})

/** Where payments lead: the other network, its token, and the operator's account, which is the same on both. */
interface Place {
  readonly network: string
  readonly asset: Address
  readonly account: Address
}

const sign = async (
  market: TrialPayment.Market,
  { account, asset, network }: Place,
  terms: TrialPayment.Terms,
  random: TrialRandom
): Promise<TrialPayment.TrialPayment> => {
  const { amount, payTo: recipient } = terms
  const { nonce: tag, payload: bound } = TrialPayment.drawnNonce(terms, random)
  const route = { network, asset, recipient, amount: `${amount}`, fee: `${fee}`, tag }
  const parts = [
    "pontage inventory 1",
    `${market.chainId}`,
    market.token.address.toLowerCase(),
    account.toLowerCase(),
    network,
    asset,
    recipient,
    `${amount}`,
    `${fee}`,
    tag
  ]
  const hash = keccak256(toBytes(JSON.stringify(parts)))
  const nonce: Hex = `0x${hash.slice(2, 50)}${"0".repeat(16)}`
  const offered = { network, asset, payTo: recipient, amount: `${amount}`, fee: `${fee}`, quotedUntil }
  const total = { ...terms, payTo: account, amount: amount + fee }
  return TrialPayment.authorized(market, total, nonce, "TransferWithAuthorization", {
    payload: { inventory: route, ...bound },
    extra: { assetTransferMethod: "inventory", inventory: offered }
  })
}
