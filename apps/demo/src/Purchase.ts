/**
 * One purchase, seen from outside: what was asked for, what came, what it cost, and whether the chain agrees.
 */
import { type PayingFetch, settlementOf } from "@pontage/fetch"
import * as Effect from "effect/Effect"

/**
 * Report of a purchase, for a person or as JSON lines for a program.
 */
export interface Purchase {
  /** The name of the shop: `Koa`. */
  readonly shop: string
  /** The kind of the buyer's account: `key`, `Safe, not deployed`. */
  readonly buyer: string
  readonly network: string
  readonly route: string
  /** The HTTP status of the paid response. */
  readonly status: number
  readonly transaction: string
  readonly payer: string
  /** In the smallest unit of the token. */
  readonly amount: string
  /** From the first request to the response: 402, signature, settlement, answer. */
  readonly milliseconds: number
}

/**
 * A transfer as its chain shows it. The amount is in the smallest unit of the token.
 */
export interface Transfer {
  readonly transaction: string
  readonly to: string
  readonly amount: bigint
}

/**
 * Where a purchase is looked up: who is to be paid, and what the chain itself says of it.
 */
export interface Ledger {
  readonly payTo: string
  readonly transfers: Effect.Effect<ReadonlyArray<Transfer>>
}

/** A buyer: the kind of its account, its `fetch`, and where its transfers are looked up. */
export interface Buyer {
  readonly kind: string
  readonly pay: PayingFetch
  readonly ledger: Ledger
}

/** A shop: its name and its address. */
export interface Shop {
  readonly name: string
  readonly origin: string
}

/**
 * Buys a resource and looks its transfer up on the chain. Dies when it was not served or when the chain does not show
 * the transfer: a demonstration that cannot fail would show nothing.
 */
export const buy = Effect.fnUntraced(function* ({ kind, ledger, pay }: Buyer, shop: Shop, path: string) {
  const start = performance.now()
  const response = yield* Effect.promise(() => pay(`${shop.origin}${path}`))
  const body = yield* Effect.promise(() => response.text())
  const milliseconds = Math.round(performance.now() - start)
  const receipt = settlementOf(response)
  if (!response.ok || receipt === undefined) {
    return yield* Effect.die(new Error(`GET ${path} was not served: ${response.status} ${body}`))
  }
  const transfers = yield* ledger.transfers
  const proof = transfers.find(({ transaction }) => transaction === receipt.transaction)
  if (proof === undefined || `${proof.amount}` !== receipt.amount || proof.to !== ledger.payTo) {
    return yield* Effect.die(new Error(`the chain does not show the transfer of ${receipt.transaction}`))
  }
  const { network, payer = "", transaction } = receipt
  return {
    shop: shop.name,
    buyer: kind,
    network,
    route: `GET ${path}`,
    status: response.status,
    transaction,
    payer,
    amount: `${proof.amount}`,
    milliseconds
  } satisfies Purchase
})
