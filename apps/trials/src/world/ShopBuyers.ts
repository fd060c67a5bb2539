/**
 * Buyers in front of a shop, of two kinds: our `fetch` that pays, and the peer's (`@x402/fetch`). Both repeat what they were
 * told to repeat, the same payment, for as long as the shop says "come again".
 */
import { exactEvm } from "@pontage/evm"
import type { EvmTestAccounts } from "@pontage/evm/testing"
import { wrapFetch } from "@pontage/fetch"
import { registerExactEvmScheme } from "@x402/evm/exact/client"
import { wrapFetchWithPayment, x402Client } from "@x402/fetch"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { privateKeyToAccount } from "viem/accounts"

import type { CallerOutcome } from "../audit/TrialJournal.ts"
import * as PaidHeaders from "./PaidHeaders.ts"
import type { TrialShop } from "./TrialShop.ts"
import type { TrialWorld } from "./TrialWorld.ts"

/** The kinds. */
export const buyerKinds = ["ours", "x402"] as const

export type BuyerKind = (typeof buyerKinds)[number]

/**
 * A purchase: when its payment was first sent and when the goods came, in milliseconds of the monotonic clock, the longest wait for one
 * response to the payment (or for the end of its connection), and the authorization. The last response is for people.
 */
export interface ShopPurchase {
  readonly kind: BuyerKind
  readonly key: string | undefined
  readonly paidAt: number | undefined
  readonly servedAt: number | undefined
  readonly slowestMillis: number
  readonly last: string
}

/** The buyers and their patience. */
export interface Options {
  readonly world: TrialWorld
  readonly shop: TrialShop
  /** Buyers of each kind at once. */
  readonly concurrency: number
  /** Time that a buyer repeats a payment, in milliseconds. */
  readonly patienceMillis: number
}

/** Purchases per thousand of goods that are paid after their handler has run. */
const lateGoods = 250

/** Buys until `enough` says so; adds to `purchases` as it goes. */
export const run = (
  options: Options,
  purchases: Array<ShopPurchase>,
  enough: (begun: number) => boolean
): Effect.Effect<void> => {
  let begun = 0
  const luck = options.world.random.branch("shop buyers")
  const buyer = (kind: BuyerKind) =>
    Effect.gen(function* () {
      while (!enough(begun)) {
        const turn = luck.branch(begun++)
        const payer = turn.pick(options.world.load.payers)
        const name = `${turn.perMille(lateGoods) ? "late" : "goods"}/${kind}-${begun}`
        purchases.push(yield* Effect.promise(() => purchase(options, kind, payer, name)))
      }
    })
  const buyers = buyerKinds.flatMap((kind) => Array.from({ length: options.concurrency }, () => buyer(kind)))
  return Effect.forEach(buyers, (one) => one, { concurrency: "unbounded", discard: true })
}

const purchase = async (
  { patienceMillis, shop, world }: Options,
  kind: BuyerKind,
  payer: EvmTestAccounts.TestAccount,
  name: string
): Promise<ShopPurchase> => {
  const url = `${shop.url}/${name}`
  const wire = watched(world, shop)
  const deadline = performance.now() + patienceMillis
  const isOver = () => performance.now() > deadline
  const buy = kind === "ours" ? ours(world, payer, wire.send, isOver) : peers(payer, wire.send, isOver)
  let last = "served"
  let servedAt: number | undefined
  try {
    const response = await buy(url)
    if (response.status === 200) {
      await response.arrayBuffer()
      servedAt = performance.now()
    } else last = `${response.status} ${await response.text()}`.slice(0, 300)
  } catch (error) {
    last = causesOf(error).slice(0, 300)
  }
  return { kind, key: wire.key(), paidAt: wire.paidAt(), servedAt, slowestMillis: wire.slowestMillis(), last }
}

/** An error and what it was caused by: `fetch failed` alone says nothing. */
const causesOf = (error: unknown): string =>
  error instanceof Error && error.cause !== undefined ? `${error}: ${causesOf(error.cause)}` : String(error)

/** A `fetch` that records payments and the shop's responses to them. */
const watched = ({ journal }: TrialWorld, shop: TrialShop) => {
  let key: string | undefined
  let paidAt: number | undefined
  let slowest = 0
  const send: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const payment = PaidHeaders.paymentIn((name) => request.headers.get(name))
    if (payment === undefined) return fetch(request)
    key ??= PaidHeaders.keyOf(payment)
    const sentAt = performance.now()
    paidAt ??= sentAt
    const order = journal.noteRequest({ operation: "settle", facilitator: shop.url, payment, claimId: undefined })
    try {
      const response = await fetch(request)
      journal.noteOutcome(order, await toldBy(response.clone()))
      return response
    } catch (error) {
      journal.noteOutcome(order, { _tag: "Lost" })
      throw error
    } finally {
      slowest = Math.max(slowest, performance.now() - sentAt)
    }
  }
  return { send, key: () => key, paidAt: () => paidAt, slowestMillis: () => slowest }
}

const Refusal = Schema.fromJsonString(
  Schema.Struct({
    code: Schema.optionalKey(Schema.String),
    reason: Schema.optionalKey(Schema.String),
    detail: Schema.optionalKey(Schema.String)
  })
)
const decodeRefusal = Schema.decodeUnknownOption(Refusal)

/** The shop's response to a payment as the journal's outcome. */
const toldBy = async (response: Response): Promise<CallerOutcome> => {
  const { headers, status } = response
  const isLater = status >= 500 || (status === 409 && headers.has("retry-after"))
  if (isLater) return { _tag: "CannotTell", httpStatus: status }
  const paid = { paymentId: "", status: "included", execution: undefined, transaction: "" }
  if (status === 200) return { _tag: "Verdict", ...paid, success: true, refusal: undefined, detail: undefined }
  const { code, detail, reason } = Option.getOrElse(
    decodeRefusal(await response.text()),
    (): typeof Refusal.Type => ({})
  )
  const refusal = code ?? reason ?? (status === 409 ? "already_used" : `${status}`)
  return { _tag: "Verdict", ...paid, success: false, refusal, detail }
}

type Buy = (url: string) => Promise<Response>

/** Its own promise is to repeat within the payment's validity; after that its caller asks again, and it sends the same. */
const ours = (
  { chain }: TrialWorld,
  { privateKey }: EvmTestAccounts.TestAccount,
  send: typeof fetch,
  isOver: () => boolean
): Buy => {
  const assets = [{ network: chain.network, ...chain.token }]
  const signer = exactEvm.localSigner(privateKey)
  const buy = wrapFetch(send, { schemes: [exactEvm.client({ signer, network: chain.network, assets })] })
  const again: Buy = async (url) => {
    try {
      return await buy(url)
    } catch (error) {
      if (!isPending(error) || isOver()) throw error
      return again(url)
    }
  }
  return again
}

const isPending = (error: unknown): boolean =>
  typeof error === "object" && error !== null && Reflect.get(error, "_tag") === "SettlementPending"

/** Pause before a request whose connection has broken is sent again, in milliseconds. */
const brokenPause = 500

/**
 * The peer's `fetch` sends its payment once; its program repeats the request as the response says, and if the connection breaks: on a
 * busy machine a connection that was kept may be closed just when it is used again.
 */
const peers = ({ privateKey }: EvmTestAccounts.TestAccount, send: typeof fetch, isOver: () => boolean): Buy => {
  const repeating: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const response = await send(request.clone()).catch((error: unknown) => {
      if (isOver()) throw error
    })
    if (response === undefined) {
      await new Promise((resume) => setTimeout(resume, brokenPause))
      return repeating(request)
    }
    const seconds = Number(response.headers.get("retry-after") ?? Number.NaN)
    const isLater = response.status === 503 || response.status === 409
    if (!isLater || Number.isNaN(seconds) || isOver()) return response
    await response.arrayBuffer()
    await new Promise((resume) => setTimeout(resume, seconds * 1000))
    return repeating(request)
  }
  // The chain's token is in no package's table: any token is paid, at any amount.
  const client = x402Client.fromConfig({ schemes: [], spendControls: false })
  registerExactEvmScheme(client, { signer: privateKeyToAccount(privateKey) })
  return wrapFetchWithPayment(repeating, client)
}
