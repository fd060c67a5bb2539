/**
 * One purchase, seen from outside: what was asked for, what came, what it cost, and whether the chain agrees.
 */
import { Settlement } from "@pontage/core"
import { type PayingFetch, settlementOf } from "@pontage/fetch"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"

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
  /** Where the money went on to another network: its arrival there, and the fee of that; absent otherwise. */
  readonly delivery?: {
    readonly network: string
    readonly transaction: string
    readonly amount: string
    readonly fee: string
  }
  /** Where it was sold by the unit: the units that came, and the most that the vouchers for them allow; absent otherwise. */
  readonly stream?: { readonly unit: string; readonly units: string; readonly signed: string }
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
export const buy = Effect.fnUntraced(function* (buyer: Buyer, shop: Shop, path: string) {
  return (yield* paid(buyer, shop, path)).purchase
})

const paid = Effect.fnUntraced(function* ({ kind, ledger, pay }: Buyer, shop: Shop, path: string) {
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
  const { network, payer = "", paymentId, transaction } = receipt
  const purchase: Purchase = {
    shop: shop.name,
    buyer: kind,
    network,
    route: `GET ${path}`,
    status: response.status,
    transaction,
    payer,
    amount: `${proof.amount}`,
    milliseconds
  }
  return { purchase, paymentId }
})

/** Where the arrival of a purchase is looked up: the record of the payment, and the other network's ledger. */
export interface Arrivals {
  /** The facilitator's URL. */
  readonly facilitator: string
  readonly ledger: Ledger
}

const decodeRecord = Schema.decodeUnknownEffect(Settlement.PaymentRecord)

/** Buys from a shop that is paid on another network, and looks the arrival up on that one too. Dies as `buy` does. */
export const buyAcross = Effect.fnUntraced(function* (
  buyer: Buyer,
  shop: Shop,
  path: string,
  { facilitator, ledger }: Arrivals
): Effect.fn.Return<Purchase> {
  const { paymentId, purchase } = yield* paid(buyer, shop, path)
  const answer = yield* Effect.promise(async (): Promise<unknown> =>
    (await fetch(`${facilitator}/payments/${paymentId}`)).json()
  )
  const { delivery } = yield* Effect.orDie(decodeRecord(answer))
  const arrival = (yield* ledger.transfers).find(({ transaction }) => transaction === delivery?.transaction)
  if (delivery === undefined || arrival === undefined || arrival.to !== ledger.payTo) {
    return yield* Effect.die(new Error(`no chain shows the arrival of the payment ${paymentId}`))
  }
  const { amount, transaction } = arrival
  const fee = `${BigInt(purchase.amount) - amount}`
  return { ...purchase, delivery: { network: delivery.network, transaction, amount: `${amount}`, fee } }
})

/** A shop sells nothing (503) before it has proven its wiring against chain and facilitator, which takes a moment. */
export const untilOnSale = (origin: string, path = "/report"): Effect.Effect<void> =>
  Effect.promise(() => fetch(`${origin}${path}`)).pipe(
    Effect.map(({ status }) => status === 402),
    Effect.repeat({ until: (onSale) => onSale, schedule: Schedule.spaced("20 millis") }),
    Effect.timeout("5 minutes"),
    Effect.orDie
  )
