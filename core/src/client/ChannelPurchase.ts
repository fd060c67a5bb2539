/**
 * A purchase through a payment channel: the voucher of each request allows to claim what is charged and its own amount, and goes
 * out when the journal has it. Requests of one channel to one host go one after the other, each until the head of its response,
 * because a shop accepts no other order. One purchase never allows to claim more than its own amount, whatever the shop says.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as PaymentId from "../protocol/PaymentId.ts"
import { defaultMaxTimeoutSeconds, type PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import { invalid } from "../protocol/ValidationError.ts"
import type { Channel, ChannelSigner, ChannelStanding, DrawnDeposit, OfferedChannel } from "../scheme/ChannelSigner.ts"
import { SigningFailed } from "../scheme/SchemeClient.ts"
import * as ChannelBooks from "./ChannelBooks.ts"
import type { ChannelEntry } from "./ChannelEntry.ts"
import * as ChannelFunds from "./ChannelFunds.ts"
import * as ChannelTurns from "./ChannelTurns.ts"
import type { JournalEntry } from "./JournalEntry.ts"
import type { OwnPurchase, PurchaseFailure, Refunded } from "./OwnPurchase.ts"
import type { PayableRequest } from "./PayableRequest.ts"
import { decline, type PaymentDeclined } from "./PaymentDeclined.ts"
import { spendingsOf } from "./PaymentPolicy.ts"
import * as Purchase from "./Purchase.ts"
import * as PurchaseResponse from "./PurchaseResponse.ts"

/** The most corrections that one purchase follows. */
const mostCorrections = 2

/** The longest validity of a deposit, in seconds. */
const longestDeposit = 3600

type Restore = <A, E, R>(interruptible: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** The purchase's surroundings. */
interface Scene {
  readonly context: Purchase.PurchaseContext
  readonly signer: ChannelSigner
  readonly request: PayableRequest
  readonly order: Purchase.PurchaseOrder
  readonly offered: OfferedChannel
}

/** The own steps of a scheme client that pays through channels. */
export const make = (signer: ChannelSigner): OwnPurchase => ({
  buy: (context, request, order) =>
    Effect.flatMap(offeredOf(signer, order), (offered) =>
      ChannelTurns.alone(
        context.journal,
        ChannelTurns.turnOf(offered, new URL(order.quote.url).host),
        Effect.uninterruptibleMask((restore) => bought({ context, signer, request, order, offered }, restore))
      )
    ),
  resume: (context, request, entry) =>
    entry.draw === undefined
      ? Effect.undefined
      : ChannelTurns.alone(
          context.journal,
          ChannelTurns.turnOf({ id: entry.draw.channel }, entry.host),
          resumed(context, signer, request, { ...entry, draw: entry.draw })
        ),
  refund: (context, request, order, amount) =>
    Effect.flatMap(offeredOf(signer, order), (offered) =>
      ChannelTurns.alone(
        context.journal,
        ChannelTurns.turnOf(offered, new URL(order.quote.url).host),
        refunded({ context, signer, request, order, offered }, amount)
      )
    )
})

const offeredOf = (signer: ChannelSigner, { quote }: Purchase.PurchaseOrder) => {
  const offered = signer.channelOf(quote.requirements, quote.asset)
  return offered === undefined
    ? Effect.fail(new SigningFailed({ message: "the offer names no payment channel; nothing was signed" }))
    : Effect.succeed(offered)
}

/** The state of the purchase between two vouchers. */
interface Progress extends ChannelBooks.Drawn {
  readonly ceiling: bigint
  readonly entry: JournalEntry
  /** The sum of the increases that its vouchers have allowed to claim. */
  readonly exposed: bigint
}

const bought = Effect.fnUntraced(function* (
  scene: Scene,
  restore: Restore
): Effect.fn.Return<Response, PurchaseFailure> {
  const { context } = scene
  const draft = yield* Purchase.draft(scene.order)
  let progress: Progress = { entry: draft, exposed: 0n, ceiling: 0n, floor: 0n, isRecovered: false }
  const finish = Effect.fnUntraced(function* () {
    for (let corrections = 0; ; corrections++) {
      progress = yield* drawn(scene, restore, progress, corrections === 0)
      const meaning = yield* restore(answered(scene, progress.entry))
      if (meaning._tag === "NotRefused") return yield* served(scene.context, scene.signer, progress.entry, meaning)
      const judged = yield* restore(corrected(scene.context, scene.signer, progress, meaning))
      if (judged._tag !== "Accepted" || corrections === mostCorrections) {
        yield* conclude(context, progress.entry, judged._tag)
        return yield* Effect.fail(failureOf(progress.entry, judged, meaning))
      }
      progress = { ...progress, floor: judged.floor, isRecovered: false }
    }
  })
  return yield* Effect.onExit(finish(), () => context.journal.letGo(draft.id))
})

const answered = ({ context, request }: Pick<Scene, "context" | "request">, entry: JournalEntry) =>
  Effect.map(Purchase.awaited(context, request, entry, entry.validBefore * 1000), ({ meaning }) => meaning)

/** Plans, signs and writes the next voucher. Without a first one, a failure leaves nothing behind. */
const drawn = Effect.fnUntraced(function* (scene: Scene, restore: Restore, progress: Progress, isFirst: boolean) {
  const { context, offered } = scene
  const reserved = yield* restore(reserve(scene, progress))
  const undo = isFirst
    ? drop(context, offered, reserved.entry)
    : Effect.andThen(conclude(context, reserved.entry, "Refused"), dropUnsigned(context, offered, reserved.entry))
  return yield* Effect.onError(restore(sign(scene, reserved)), () => Effect.ignore(undo))
})

/** A voucher that is reserved in the books. */
interface Reserved extends Progress {
  readonly deposit: DrawnDeposit | undefined
  /** The most that it allows to claim. */
  readonly next: bigint
  /** The book that it was planned by. */
  readonly bookIn: ChannelEntry
}

const reserve = Effect.fnUntraced(function* (scene: Scene, progress: Progress) {
  const { context, offered, order, signer } = scene
  const { quote } = order
  const channels = yield* context.journal.channels
  const standing = ChannelFunds.needsChain(channels.get(offered.id), quote.amount)
    ? yield* signer.read(offered.id)
    : undefined
  if (standing?.isClosing === true) return yield* closing(order)
  const now = yield* Clock.currentTimeMillis
  const bookIn = (known: ReadonlyMap<string, ChannelEntry>) => bookOf(scene, known.get(offered.id), standing, now)
  const planIn = (known: ReadonlyMap<string, ChannelEntry>) =>
    Result.flatMap(bookIn(known), (book) =>
      Result.map(ChannelFunds.plan(book, order, offered, known), (plan) => ({ book, plan }))
    )
  const { plan: wish } = yield* Effect.fromResult(planIn(channels))
  const confirmed = wish.funding._tag === "Deposit" ? yield* confirm(scene, wish.funding.amount) : 0n
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
const bookOf = (
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
  { context, offered, order, signer }: Scene,
  { bookIn, deposit, next, ...progress }: Reserved
) {
  const { asset } = order.quote
  const { entry: reserved } = progress
  const signing = signer.sign({ channel: offered, asset, ceiling: next, deposit })
  const signed = yield* Purchase.inTime(signing, reserved.validBefore)
  const headers = yield* Purchase.bounded(order.paymentHeaders(signed.payload))
  const nonce = `channel:${offered.id}:${next}`
  const paymentId = yield* PaymentId.make(asset.network, { asset: asset.address, payer: signed.payer, nonce })
  const draw = { channel: offered.id, ceiling: `${next}` }
  const entry: JournalEntry = { ...reserved, state: "pending", paymentId, payer: signed.payer, headers, draw }
  const at = yield* Clock.currentTimeMillis
  yield* context.journal.draw(entry.id, ({ channels }) => {
    const book = withSigned(channels.get(offered.id) ?? bookIn, deposit, signed.deposit)
    if (book === undefined) return Result.fail(changed(order))
    const highest = `${ChannelFunds.larger(BigInt(book.signed), next)}`
    return Result.succeed([undefined, [{ ...book, signed: highest, at }, entry]])
  })
  return { ...progress, entry }
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

/** Takes back a reservation of which nothing was signed. */
const drop = (context: Purchase.PurchaseContext, channel: Channel, entry: JournalEntry) =>
  Effect.ignore(
    Effect.andThen(context.journal.write({ ...entry, state: "released" }), dropUnsigned(context, channel, entry))
  )

const dropUnsigned = (context: Purchase.PurchaseContext, { id }: Channel, entry: JournalEntry) =>
  context.journal.draw(entry.id, ({ channels }) => {
    const book = channels.get(id)
    const left = book && ChannelFunds.withoutUnsigned(book)
    return Result.succeed([undefined, left === undefined || left === book ? [] : [left]])
  })

/**
 * Books a response. One without a receipt that is not a failure was served, and counts as charged in full; a failure without one
 * says nothing, and its voucher goes out again.
 */
const served = Effect.fnUntraced(function* (
  context: Purchase.PurchaseContext,
  signer: ChannelSigner,
  entry: JournalEntry,
  { extra, receipt, response }: PurchaseResponse.NotRefused
) {
  const { draw } = entry
  if (draw === undefined || (response.status >= 400 && receipt === undefined)) return response
  const amount = BigInt(entry.amount)
  const said = extra && signer.chargeOf(extra, draw.channel)
  if (receipt !== undefined && (said === undefined || said > amount)) {
    yield* Purchase.reportTrouble(context, new Error(overcharged(entry, said)))
  }
  const charged = said === undefined || said > amount ? amount : said
  const now = yield* Clock.currentTimeMillis
  const settlement = receipt && { ...receipt, amount: `${charged}` }
  const over: JournalEntry = { ...entry, state: "settled", ...(settlement && { receipt: settlement }) }
  const booked = context.journal.draw(entry.id, ({ channels }) => {
    const book = channels.get(draw.channel)
    const isDeposited = receipt !== undefined && receipt.transaction !== ""
    const part = { ceiling: BigInt(draw.ceiling), amount, charged }
    return Result.succeed([
      undefined,
      [...(book ? [ChannelBooks.afterResponse(book, part, isDeposited, now)] : []), over]
    ])
  })
  // If it cannot be written the books stay behind, and the shop's correction brings them up; the response is not lost.
  yield* Effect.catch(booked, (error) => Purchase.reportTrouble(context, error))
  if (settlement === undefined) return response
  PurchaseResponse.noteReceipt(response, settlement)
  yield* Purchase.announce(context, settlement)
  return response
})

const overcharged = ({ amount, host }: JournalEntry, said: bigint | undefined): string =>
  said === undefined
    ? `the receipt of ${host} is not of this payment's channel; the request's amount of ${amount} counts as charged`
    : `${host} says that it has charged ${said} for a request of at most ${amount}; ${amount} counts as charged`

/** The judgement of a refusal: of its correction, or that it has none. */
type Judged = ChannelBooks.Judgement | { readonly _tag: "Refused" }

const refusedJudgement: Judged = { _tag: "Refused" }

/** Judges the correction in a refusal, and writes the books that it proves. */
const corrected = Effect.fnUntraced(function* (
  { journal }: Purchase.PurchaseContext,
  signer: ChannelSigner,
  progress: ChannelBooks.Drawn & { readonly entry: JournalEntry },
  { required }: PurchaseResponse.Refused
): Effect.fn.Return<Judged, PurchaseFailure> {
  const { entry } = progress
  const id = entry.draw?.channel ?? ""
  const correction = required && signer.correctionOf(required, id)
  if (correction === undefined) return refusedJudgement
  const standing = yield* signer.read(id)
  const now = yield* Clock.currentTimeMillis
  return yield* journal.draw<Judged>(entry.id, ({ channels }) => {
    const known = channels.get(id)
    if (known === undefined) return Result.succeed([refusedJudgement, []])
    const judged: Judged = ChannelBooks.judge(known, correction, standing, progress, now)
    return Result.succeed([judged, judged._tag === "Unproven" ? [] : [judged.book]])
  })
})

/** Writes the end of a purchase that was not served. Its vouchers count as spent: they have no end. */
const conclude = (context: Purchase.PurchaseContext, entry: JournalEntry, judged: Judged["_tag"]) =>
  Effect.catch(
    Effect.asVoid(context.journal.write({ ...entry, state: judged === "Charged" ? "settled" : "refused" })),
    (error) => Purchase.reportTrouble(context, error)
  )

const failureOf = ({ host, paymentId = "" }: JournalEntry, judged: Judged, { error }: PurchaseResponse.Refused) => {
  if (judged._tag === "Charged") {
    const message = `${host} says that it has charged the voucher of this request, and no response came: it was lost, or another process or an earlier journal of this payer has sent the same voucher; nothing more was signed: repeat the request to buy it`
    return invalid("already_used", "voucher_charged", message)
  }
  if (judged._tag !== "Unproven") return error
  const message = `${host} says that it has charged ${judged.charged} through the channel, which neither the chain nor a signature of this payer proves; nothing more was signed`
  return new PurchaseResponse.PaymentRefused({ paymentId, message })
}

/** Sends a voucher of unknown outcome again. A shop that has charged it says so, and then its response is lost. */
const resumed = Effect.fnUntraced(function* (
  context: Purchase.PurchaseContext,
  signer: ChannelSigner,
  request: PayableRequest,
  entry: JournalEntry & { readonly draw: NonNullable<JournalEntry["draw"]> }
): Effect.fn.Return<Response | undefined, PurchaseFailure> {
  const meaning = yield* answered({ context, request }, entry)
  if (meaning._tag === "NotRefused") return yield* Effect.uninterruptible(served(context, signer, entry, meaning))
  const book = (yield* context.journal.channels).get(entry.draw.channel)
  const before = ChannelBooks.sentAgain(book, BigInt(entry.draw.ceiling), BigInt(entry.amount))
  const judged = yield* corrected(context, signer, { entry, ...before }, meaning)
  yield* conclude(context, entry, judged._tag)
  return judged._tag === "Charged" ? yield* Effect.fail(failureOf(entry, judged, meaning)) : undefined
})

const refunded = Effect.fnUntraced(function* (
  scene: Scene,
  amount: bigint | undefined
): Effect.fn.Return<Refunded, PurchaseFailure> {
  const { context } = scene
  const draft = yield* Purchase.draft(scene.order)
  const before = yield* reread(scene, draft)
  const back = yield* Effect.ensuring(paidBack(scene, draft, before, amount), context.journal.letGo(draft.id))
  return { channelId: scene.offered.id, ...back }
})

/** Milliseconds between two looks for a refund, and the most looks: nodes lag behind the shop's. */
const refundPause = 500
const refundLooks = 20

const paidBack = Effect.fnUntraced(function* (
  scene: Scene,
  draft: JournalEntry,
  before: ChannelStanding,
  amount: bigint | undefined
) {
  const { context, offered, order, signer } = scene
  for (let corrections = 0; ; corrections++) {
    const book = (yield* context.journal.channels).get(offered.id)
    const charged = BigInt(book?.charged ?? before.claimed)
    const signed = yield* signer.signRefund({ channel: offered, charged, amount })
    const headers = yield* Purchase.bounded(order.paymentHeaders(signed.payload))
    const draw = { channel: offered.id, ceiling: `${charged}` }
    const entry: JournalEntry = { ...draft, payer: signed.payer, headers, draw }
    const meaning = yield* answered(scene, entry)
    if (meaning._tag === "NotRefused") {
      const { receipt, response } = meaning
      yield* Effect.promise(async () => response.body?.cancel())
      if (receipt === undefined || receipt.transaction === "") {
        return yield* new PurchaseResponse.PaymentRefused({ paymentId: "", message: unrefunded(entry, response) })
      }
      let after = yield* reread(scene, draft)
      for (let look = 1; look < refundLooks && after.balance >= before.balance; look++) {
        yield* Effect.sleep(refundPause)
        after = yield* reread(scene, draft)
      }
      const back = before.balance > after.balance ? before.balance - after.balance : 0n
      return { transaction: receipt.transaction, amount: back }
    }
    // Its voucher buys nothing, so that every proven charge is an earlier one.
    const floor = { ceiling: undefined, floor: charged, isRecovered: true }
    const judged = yield* corrected(context, signer, { entry, ...floor }, meaning)
    if (judged._tag !== "Accepted" || corrections === mostCorrections) {
      return yield* Effect.fail(failureOf(entry, judged, meaning))
    }
  }
})

const unrefunded = ({ host }: JournalEntry, { status }: Response): string =>
  `${host} answered the request for a refund with ${status} and no receipt; read the channel, ask again, or withdraw`

/** Reads the channel from the chain into the books. */
const reread = Effect.fnUntraced(function* (scene: Scene, draft: JournalEntry) {
  const { context, offered, signer } = scene
  const standing = yield* signer.read(offered.id)
  const now = yield* Clock.currentTimeMillis
  yield* context.journal.draw(draft.id, ({ channels }) =>
    Result.map(bookOf(scene, channels.get(offered.id), standing, now), (book) => [undefined, [book]])
  )
  return standing
})
