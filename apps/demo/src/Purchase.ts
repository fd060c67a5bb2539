/**
 * One purchase, seen from outside: what was asked for, what came, what it cost, and whether the chain agrees.
 */
import type { EvmTestChain } from "@pontage/evm/testing"
import { type PayingFetch, settlementOf } from "@pontage/fetch"
import * as Effect from "effect/Effect"

/**
 * What a person, or a program that reads JSON lines, learns of a purchase.
 */
export interface Purchase {
  readonly network: string
  readonly route: string
  /** The HTTP status of the paid answer. */
  readonly status: number
  readonly transaction: string
  readonly payer: string
  /** In the smallest unit of the token. */
  readonly amount: string
  /** From the first request to the answer: 402, signature, settlement, answer. */
  readonly milliseconds: number
}

/**
 * Buys a resource and looks its transfer up on the chain. Dies when it was not served or when the chain does not show
 * the transfer: a demonstration that cannot fail would show nothing.
 */
export const buy = Effect.fnUntraced(function* (
  paying: PayingFetch,
  chain: EvmTestChain.Shape,
  origin: string,
  path: string
) {
  const start = performance.now()
  const response = yield* Effect.promise(() => paying(`${origin}${path}`))
  const body = yield* Effect.promise(() => response.text())
  const milliseconds = Math.round(performance.now() - start)
  const receipt = settlementOf(response)
  if (!response.ok || receipt === undefined) {
    return yield* Effect.die(new Error(`GET ${path} was not served: ${response.status} ${body}`))
  }
  const transfers = yield* chain.transfers()
  const proof = transfers.find(({ transactionHash }) => transactionHash === receipt.transaction)
  if (proof === undefined || `${proof.value}` !== receipt.amount || proof.to !== chain.accounts.payee.address) {
    return yield* Effect.die(new Error(`the chain does not show the transfer of ${receipt.transaction}`))
  }
  const { amount, network, payer, transaction } = receipt
  return {
    network,
    route: `GET ${path}`,
    status: response.status,
    transaction,
    payer,
    amount,
    milliseconds
  } satisfies Purchase
})
