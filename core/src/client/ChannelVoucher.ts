/**
 * One voucher of a payment through a channel: planned within the limits, funded, signed, and written with its channel before it
 * leaves. A request signs one for its price, and a metered stream one for each of its windows.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as PaymentId from "../protocol/PaymentId.ts"
import { defaultMaxTimeoutSeconds, type PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import type { Channel, ChannelSigner, ChannelStanding, DrawnDeposit, OfferedChannel } from "../scheme/ChannelSigner.ts"
import type { HeaderFields } from "../wire/pontage/Dialect.ts"
import type * as ChannelBooks from "./ChannelBooks.ts"
import type { ChannelEntry } from "./ChannelEntry.ts"
import * as ChannelFunds from "./ChannelFunds.ts"
import type { JournalEntry } from "./JournalEntry.ts"
import type { PurchaseFailure } from "./OwnPurchase.ts"
import type { PayableRequest } from "./PayableRequest.ts"
import { decline, type PaymentDeclined } from "./PaymentDeclined.ts"
import { spendingsOf } from "./PaymentPolicy.ts"
import * as Purchase from "./Purchase.ts"

/** The longest validity of a deposit, in seconds. */
const longestDeposit = 3600

/** Makes the effect interruptible again. */
export type Restore = <A, E, R>(interruptible: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** The purchase's surroundings. */
export interface Scene {
  readonly context: Purchase.PurchaseContext
  readonly signer: ChannelSigner
  readonly request: PayableRequest
  readonly order: Purchase.PurchaseOrder
  readonly offered: OfferedChannel
  /** Whether the voucher opens a metered stream, or a further window of one; `undefined` for any other request. */
  readonly stream: "opened" | "continued" | undefined
}

/** The state of the purchase between two vouchers. */
export interface Progress extends ChannelBooks.Drawn {
  readonly ceiling: bigint
  readonly entry: JournalEntry
  /** The sum of the increases that its vouchers have allowed to claim. */
  readonly exposed: bigint
}

/** A voucher that is signed and written, with the headers that carry it. */
export interface Signed extends Progress {
  readonly headers: HeaderFields
}

/**
 * Plans, signs and writes the next voucher, for the amount of the order's quote. If nothing could be signed, the purchase is
 * written as `otherwise` makes it of its entry. An interruption while the journal writes is felt afterwards: a voucher that the books
 * have is counted, because they never forget what a shop can claim.
 */
export const drawn = Effect.fnUntraced(function* (
  scene: Scene,
  restore: Restore,
  progress: Progress,
  otherwise: (entry: JournalEntry) => JournalEntry
) {
  const { context, offered } = scene
  const reserved = yield* reserve(scene, restore, progress)
  const undo = Effect.andThen(
    context.journal.write(otherwise(reserved.entry)),
    dropUnsigned(context, offered, reserved.entry)
  )
  return yield* Effect.onError(sign(scene, restore, reserved), () => Effect.ignore(undo))
})

/** A voucher that is reserved in the books. */
interface Reserved extends Progress {
  readonly deposit: DrawnDeposit | undefined
  /** The most that it allows to claim. */
  readonly next: bigint
  /** The book that it was planned by. */
  readonly bookIn: ChannelEntry
}

const reserve = Effect.fnUntraced(function* (scene: Scene, restore: Restore, progress: Progress) {
  const { context, offered, order, signer } = scene
  const { quote } = order
  const channels = yield* context.journal.channels
  const before = channels.get(offered.id)
  const standing = ChannelFunds.needsChain(before, quote.amount)
    ? yield* restore(signer.read(offered.id, ChannelFunds.sentDeposit(before)))
    : undefined
  if (standing?.isClosing === true) return yield* closing(order)
  const now = yield* Clock.currentTimeMillis
  const bookIn = (known: ReadonlyMap<string, ChannelEntry>) => bookOf(scene, known.get(offered.id), standing, now)
  const planIn = (known: ReadonlyMap<string, ChannelEntry>) =>
    Result.flatMap(bookIn(known), (book) =>
      Result.map(ChannelFunds.plan(book, order, offered, known), (plan) => ({ book, plan }))
    )
  const { plan: wish } = yield* Effect.fromResult(planIn(channels))
  const confirmed = wish.funding._tag === "Deposit" ? yield* restore(confirm(scene, wish.funding.amount)) : 0n
  return yield* context.journal.draw(progress.entry.id, (books) => {
    return Result.flatMap(planIn(books.channels), ({ book, plan }) => {
      const declined = order.exceeds(books.spent, plan.increase)
      if (declined !== undefined) return Result.fail(declined)
      if (plan.funding._tag === "Deposit" && plan.funding.amount > confirmed) return Result.fail(changed(order))
      const exposed = progress.exposed + plan.increase
      const entry: JournalEntry = { ...progress.entry, spendings: writtenSpendings(exposed, order) }
      const deposit = depositOf(plan.funding, book, depositEnd(order, now))
      const line = deposit?._tag === "New" ? withOpen(book, deposit) : book
      const lost = standing !== undefined && standing.balance > standing.claimed && !books.channels.has(offered.id)
      const reserved: Reserved = {
        entry,
        exposed,
        ceiling: ChannelFunds.larger(plan.ceiling, progress.ceiling),
        floor: ChannelFunds.larger(progress.floor, progress.ceiling === 0n ? BigInt(book.signed) : 0n),
        isRecovered: progress.isRecovered || lost,
        deposit,
        next: plan.ceiling,
        bookIn: line
      }
      return Result.succeed([reserved, [...(standing || deposit ? [line] : []), entry]])
    })
  })
})

const writtenSpendings = (amount: bigint, { quote: { asset } }: Purchase.PurchaseOrder): JournalEntry["spendings"] =>
  spendingsOf({ amount, asset }).map(({ digits, scale, unit }) => ({ unit, digits: `${digits}`, scale }))

/** The book of the channel, with the chain's state if it was read; declines claims that the payer has not signed for. */
export const bookOf = (
  { offered, order: { quote } }: Scene,
  known: ChannelEntry | undefined,
  standing: ChannelStanding | undefined,
  now: number
): Result.Result<ChannelEntry, PaymentDeclined> => {
  const book = known ?? {
    kind: "channel",
    id: offered.id,
    host: new URL(quote.url).host,
    network: quote.asset.network,
    asset: quote.asset.address,
    payTo: quote.requirements.payTo,
    terms: offered.terms,
    units: spendingsOf(quote).map(({ scale, unit }) => ({ unit, scale })),
    balance: "0",
    claimed: "0",
    charged: "0",
    signed: "0",
    ...(standing && standing.claimed > 0n && { unproven: `${standing.claimed}` }),
    at: now
  }
  const settled = ChannelFunds.withoutUnsigned(book)
  if (standing === undefined) return Result.succeed(settled)
  if (ChannelFunds.isUnsigned(known, standing)) return Result.fail(ChannelFunds.unsigned(book, standing))
  return Result.succeed({ ...ChannelFunds.afterReading(settled, standing), at: now })
}

/** The Unix second before which a deposit that is signed at `now` ends. */
const depositEnd = ({ quote: { requirements } }: Purchase.PurchaseOrder, now: number): number =>
  Math.floor(now / 1000) + Math.min(timeoutOf(requirements), longestDeposit)

const timeoutOf = ({ maxTimeoutSeconds }: PaymentRequirements): number => maxTimeoutSeconds ?? defaultMaxTimeoutSeconds

const depositOf = (
  funding: ChannelFunds.Funding,
  { deposit }: ChannelEntry,
  validBefore: number
): DrawnDeposit | undefined => {
  if (funding._tag === "Enough") return undefined
  const { amount } = funding
  return funding._tag === "Again" && deposit?.signed !== undefined
    ? { _tag: "Signed", amount, signed: deposit.signed }
    : { _tag: "New", amount, validBefore }
}

const withOpen = (
  book: ChannelEntry,
  { amount, validBefore }: DrawnDeposit & { readonly _tag: "New" }
): ChannelEntry => ({
  ...book,
  deposit: { amount: `${amount}`, onTopOf: book.balance, validBefore, isReported: false }
})

const confirm = Effect.fnUntraced(function* ({ context, offered, order: { quote } }: Scene, amount: bigint) {
  const price = ChannelFunds.priceOf(amount, quote.asset)
  const deposit = { amount, price, withdrawDelay: offered.withdrawDelay }
  if (yield* context.confirm({ ...quote, deposit })) return amount
  const { host } = new URL(quote.url)
  return yield* decline(
    "confirm_refused",
    `${host} needs a deposit of ${price} into a payment channel, and confirm said no`
  )
})

const closing = ({ quote: { url } }: Purchase.PurchaseOrder) =>
  decline(
    "terms_unsupported",
    `a withdrawal from the payment channel with ${new URL(url).host} has begun, so nothing is bought through it; end the withdrawal first`
  )

const changed = ({ quote: { url } }: Purchase.PurchaseOrder) =>
  decline(
    "confirm_refused",
    `the payment channel with ${new URL(url).host} has changed while its deposit was confirmed; repeat the request`
  )

/** Signs a reserved voucher, and writes it with its channel before it leaves. */
const sign = Effect.fnUntraced(function* (
  { context, offered, order, signer, stream }: Scene,
  restore: Restore,
  { bookIn, deposit, next, ...progress }: Reserved
): Effect.fn.Return<Signed, PurchaseFailure> {
  const { asset } = order.quote
  const { entry: reserved } = progress
  const signing = signer.sign({ channel: offered, asset, ceiling: next, deposit, follows: stream === "opened" })
  const signed = yield* restore(Purchase.inTime(signing, reserved.validBefore))
  const headers = yield* Purchase.bounded(order.paymentHeaders(signed.payload))
  const nonce = `channel:${offered.id}:${next}`
  const paymentId = yield* PaymentId.make(asset.network, { asset: asset.address, payer: signed.payer, nonce })
  const draw = { channel: offered.id, ceiling: `${next}` }
  // A stream is written as over from its head on: nothing of it is sent again after a restart, and each window counts when it is signed.
  const at = yield* Clock.currentTimeMillis
  const entry: JournalEntry =
    stream === "continued"
      ? { ...reserved, draw, drawnAt: at }
      : { ...reserved, state: "pending", paymentId, payer: signed.payer, headers, draw }
  const charge = stream === "continued" ? order.quote.amount : 0n
  yield* context.journal.draw(entry.id, ({ channels }) => {
    const book = withSigned(channels.get(offered.id) ?? bookIn, deposit, signed.deposit)
    if (book === undefined) return Result.fail(changed(order))
    const highest = `${ChannelFunds.larger(BigInt(book.signed), next)}`
    const charged = `${BigInt(book.charged) + charge}`
    return Result.succeed([undefined, [{ ...book, charged, signed: highest, at }, entry]])
  })
  return { ...progress, entry, headers }
})

/** The book with a new deposit's signature; `undefined` if another tab has replaced the deposit meanwhile. */
const withSigned = (
  book: ChannelEntry,
  deposit: DrawnDeposit | undefined,
  signed: ChannelEntry["terms"] | undefined
): ChannelEntry | undefined => {
  if (deposit?._tag !== "New" || signed === undefined) return book
  const { deposit: open } = book
  const isOurs =
    open?.signed === undefined && open?.validBefore === deposit.validBefore && open.amount === `${deposit.amount}`
  return isOurs ? { ...book, deposit: { ...open, signed } } : undefined
}

/** Takes a deposit that is not signed out of the books. */
const dropUnsigned = (context: Purchase.PurchaseContext, { id }: Channel, entry: JournalEntry) =>
  context.journal.draw(entry.id, ({ channels }) => {
    const book = channels.get(id)
    const left = book && ChannelFunds.withoutUnsigned(book)
    return Result.succeed([undefined, left === undefined || left === book ? [] : [left]])
  })
