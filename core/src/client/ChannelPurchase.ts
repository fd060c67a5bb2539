/**
 * A purchase through a payment channel: the voucher of each request allows to claim what is charged and its own amount, and goes
 * out when the journal has it. Requests of one channel to one host go one after the other, each until the head of its response,
 * because a shop accepts no other order. One purchase never allows to claim more than its own amount, whatever the shop says.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { invalid } from "../protocol/ValidationError.ts"
import type { ChannelSigner, ChannelStanding } from "../scheme/ChannelSigner.ts"
import { SigningFailed } from "../scheme/SchemeClient.ts"
import * as ChannelBooks from "./ChannelBooks.ts"
import * as ChannelFunds from "./ChannelFunds.ts"
import * as ChannelTurns from "./ChannelTurns.ts"
import { bookOf, drawn, type Progress, type Restore, type Scene } from "./ChannelVoucher.ts"
import type { JournalEntry } from "./JournalEntry.ts"
import {
  type OwnPurchase,
  type PurchaseFailure,
  type Refunded,
  type RefundOrder,
  type RefundUnanswered,
  unanswered
} from "./OwnPurchase.ts"
import type { PayableRequest } from "./PayableRequest.ts"
import * as Purchase from "./Purchase.ts"
import * as PurchaseResponse from "./PurchaseResponse.ts"
import * as MeteredStream from "./stream/MeteredStream.ts"
import * as MeteredTerms from "./stream/MeteredTerms.ts"

/** The most corrections that one purchase follows. */
const mostCorrections = 2

/** The own steps of a scheme client that pays through channels. */
export const make = (signer: ChannelSigner): OwnPurchase => ({
  objection: MeteredTerms.objection,
  buy: (context, request, order) =>
    Effect.flatMap(offeredOf(signer, order), (offered) => {
      const terms = request.post && MeteredTerms.of(order.quote)
      const scene: Scene = { context, signer, request, order, offered, stream: terms && "opened" }
      return ChannelTurns.alone(
        context.journal,
        ChannelTurns.turnOf(offered, new URL(order.quote.url).host),
        Effect.uninterruptibleMask((restore) => bought(scene, terms, restore))
      )
    }),
  resume: (context, request, entry) =>
    entry.draw === undefined
      ? Effect.undefined
      : ChannelTurns.alone(
          context.journal,
          ChannelTurns.turnOf({ id: entry.draw.channel }, entry.host),
          resumed(context, signer, request, { ...entry, draw: entry.draw })
        ),
  refundOffered: (sending, url, timeoutMillis = usualTimeoutMillis) =>
    Effect.timeoutOrElse(sending, {
      duration: timeoutMillis,
      orElse: () => Effect.fail(unanswered(new URL(url()).host, undefined, false, late(timeoutMillis)))
    }),
  refund: (context, request, order, wanted) =>
    Effect.flatMap(offeredOf(signer, order), (offered) => {
      const { host } = new URL(order.quote.url)
      const asking: Asking = { host, channelId: offered.id, isAsked: false, isAnswered: false }
      const scene: Scene = { context, signer, request, order, offered, stream: undefined }
      const turn = ChannelTurns.turnOf(offered, host)
      return inTime(ChannelTurns.alone(context.journal, turn, refunded(scene, wanted, asking)), wanted, asking)
    })
})

const offeredOf = (signer: ChannelSigner, { quote }: Purchase.PurchaseOrder) => {
  const offered = signer.channelOf(quote.requirements, quote.asset)
  return offered === undefined
    ? Effect.fail(new SigningFailed({ message: "the offer names no payment channel; nothing was signed" }))
    : Effect.succeed(offered)
}

const bought = Effect.fnUntraced(function* (
  scene: Scene,
  terms: MeteredTerms.MeteredTerms | undefined,
  restore: Restore
): Effect.fn.Return<Response, PurchaseFailure> {
  const { context } = scene
  const draft = yield* Purchase.draft(scene.order)
  let progress: Progress = { entry: draft, exposed: 0n, ceiling: 0n, floor: 0n, isRecovered: false }
  const finish = Effect.fnUntraced(function* () {
    for (let corrections = 0; ; corrections++) {
      progress = yield* drawn(scene, restore, progress, corrections === 0 ? released : refusedEntry)
      const meaning = yield* restore(answered(scene, progress.entry))
      if (meaning._tag === "NotRefused") {
        const isFollowed = terms !== undefined && MeteredStream.isMetered(meaning.response)
        const response = yield* served(scene.context, scene.signer, progress.entry, meaning, isFollowed)
        return isFollowed ? yield* MeteredStream.follow(scene, terms, progress, response) : response
      }
      const judged = yield* restore(corrected(scene.context, scene.signer, progress, meaning))
      if (judged._tag !== "Accepted" || corrections === mostCorrections) {
        yield* conclude(context, progress.entry, judged._tag)
        return yield* Effect.fail(failureOf(progress.entry, judged, meaning))
      }
      progress = { ...progress, floor: judged.floor, isRecovered: false }
    }
  })
  return yield* Effect.onExit(Purchase.handedOver(scene.request, finish()), () => context.journal.letGo(draft.id))
})

/** A purchase of which nothing was sent. */
const released = (entry: JournalEntry): JournalEntry => ({ ...entry, state: "released" })

/** A purchase whose earlier voucher counts as spent: it has no end. */
const refusedEntry = (entry: JournalEntry): JournalEntry => ({ ...entry, state: "refused" })

const answered = ({ context, request }: Pick<Scene, "context" | "request">, entry: JournalEntry) =>
  Effect.map(Purchase.awaited(context, request, entry, entry.validBefore * 1000), ({ meaning }) => meaning)

/**
 * Books a response. One without a receipt that is not a failure was served, and counts as charged in full; a failure without one
 * says nothing, and its voucher goes out again. Of a metered stream that is followed the first window counts in full, and its
 * payment is announced when it has ended.
 */
const served = Effect.fnUntraced(function* (
  context: Purchase.PurchaseContext,
  signer: ChannelSigner,
  entry: JournalEntry,
  { extra, receipt, response }: PurchaseResponse.NotRefused,
  isFollowed = false
) {
  const { draw } = entry
  if (draw === undefined || (response.status >= 400 && receipt === undefined)) return response
  const amount = BigInt(entry.amount)
  const said = extra && signer.chargeOf(extra, draw.channel)
  if (receipt !== undefined && (said === undefined || said > amount)) {
    yield* Purchase.reportTrouble(context, new Error(overcharged(entry, said)))
  }
  const charged = said === undefined || said > amount || isFollowed ? amount : said
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
  if (!isFollowed) yield* Purchase.announce(context, settlement)
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
  const standing = yield* signer.read(id, ChannelFunds.sentDeposit((yield* journal.channels).get(id)))
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
  if (meaning._tag === "NotRefused") {
    return yield* Effect.uninterruptible(Purchase.handedOver(request, served(context, signer, entry, meaning)))
  }
  const book = (yield* context.journal.channels).get(entry.draw.channel)
  const before = ChannelBooks.sentAgain(book, BigInt(entry.draw.ceiling), BigInt(entry.amount))
  const judged = yield* corrected(context, signer, { entry, ...before }, meaning)
  yield* conclude(context, entry, judged._tag)
  return judged._tag === "Charged" ? yield* Effect.fail(failureOf(entry, judged, meaning)) : undefined
})

/** The request for a refund: whether it was sent, and whether the shop has said that the refund is made. */
interface Asking {
  readonly host: string
  readonly channelId: string
  isAsked: boolean
  isAnswered: boolean
}

/** As long as a payment's response is waited for. */
const usualTimeoutMillis = Purchase.maximumValiditySeconds * 1000

const late = (timeoutMillis: number) => `no response within ${timeoutMillis} ms`

/** Ends a refund to which the shop does not respond. A refund that is said to be made is looked for on the chain beyond that. */
const inTime = <A, E>(
  refunding: Effect.Effect<A, E>,
  { timeoutMillis = usualTimeoutMillis }: RefundOrder,
  asking: Asking
): Effect.Effect<A, E | RefundUnanswered> =>
  Effect.raceFirst(
    refunding,
    Effect.flatMap(Effect.sleep(timeoutMillis), () => {
      const { channelId, host, isAnswered, isAsked } = asking
      return isAnswered ? Effect.never : Effect.fail(unanswered(host, channelId, isAsked, late(timeoutMillis)))
    })
  )

const refunded = Effect.fnUntraced(function* (
  scene: Scene,
  wanted: RefundOrder,
  asking: Asking
): Effect.fn.Return<Refunded, PurchaseFailure | RefundUnanswered> {
  const { context } = scene
  const draft = yield* Purchase.draft(scene.order)
  const before = yield* reread(scene, draft)
  const back = yield* Effect.ensuring(paidBack(scene, draft, before, wanted, asking), context.journal.letGo(draft.id))
  return { channelId: scene.offered.id, ...back }
})

/** Milliseconds between two looks for a refund, and the most looks: nodes lag behind the shop's. */
const refundPause = 500
const refundLooks = 20

const paidBack = Effect.fnUntraced(function* (
  scene: Scene,
  draft: JournalEntry,
  before: ChannelStanding,
  { amount }: RefundOrder,
  asking: Asking
) {
  const { context, offered, order, signer } = scene
  for (let corrections = 0; ; corrections++) {
    const book = (yield* context.journal.channels).get(offered.id)
    const charged = BigInt(book?.charged ?? before.claimed)
    const signed = yield* signer.signRefund({ channel: offered, charged, amount })
    const headers = yield* Purchase.bounded(order.paymentHeaders(signed.payload))
    const draw = { channel: offered.id, ceiling: `${charged}` }
    const entry: JournalEntry = { ...draft, payer: signed.payer, headers, draw }
    asking.isAsked = true
    const meaning = yield* Effect.catchTag(answered(scene, entry), "SettlementPending", () =>
      Effect.fail(unanswered(asking.host, asking.channelId, true, "no outcome came while the request was valid"))
    )
    if (meaning._tag === "NotRefused") {
      const { receipt, response } = meaning
      asking.isAnswered = true
      yield* Effect.promise(async () => response.body?.cancel())
      if (receipt === undefined || receipt.transaction === "") {
        return yield* new PurchaseResponse.PaymentRefused({ paymentId: "", message: unrefunded(entry, response) })
      }
      for (let look = 0; look < refundLooks; look++) {
        if (look > 0) yield* Effect.sleep(refundPause)
        // A look that fails shows nothing: the refund is signed, and may be made.
        const { balance } = yield* Effect.catch(reread(scene, draft), () => Effect.succeed(before))
        if (balance < before.balance) return { transaction: receipt.transaction, amount: before.balance - balance }
      }
      return yield* new PurchaseResponse.PaymentRefused({ paymentId: "", message: unseen(entry, receipt) })
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

const unseen = ({ host }: JournalEntry, { transaction }: { readonly transaction: string }): string =>
  `${host} says that ${transaction} has made the refund, and the node does not show it; read the channel, ask again, or withdraw`

/** Reads the channel from the chain into the books. */
const reread = Effect.fnUntraced(function* (scene: Scene, draft: JournalEntry) {
  const { context, offered, signer } = scene
  const known = (yield* context.journal.channels).get(offered.id)
  const standing = yield* signer.read(offered.id, ChannelFunds.sentDeposit(known))
  const now = yield* Clock.currentTimeMillis
  yield* context.journal.draw(draft.id, ({ channels }) =>
    Result.map(bookOf(scene, channels.get(offered.id), standing, now), (book) => [undefined, [book]])
  )
  return standing
})
