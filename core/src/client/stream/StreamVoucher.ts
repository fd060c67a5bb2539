/**
 * A further voucher of a metered stream: signed in the turn of its channel, written before it leaves, and posted until the shop has
 * it. A shop that answers anything but that gets no higher one.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import type { SigningFailed } from "../../scheme/SchemeClient.ts"
import * as BoundedBody from "../../wire/http/BoundedBody.ts"
import type { HeaderFields } from "../../wire/pontage/Dialect.ts"
import * as ChannelTurns from "../ChannelTurns.ts"
import * as ChannelVoucher from "../ChannelVoucher.ts"
import type { PurchaseFailure } from "../OwnPurchase.ts"
import * as Purchase from "../Purchase.ts"
import * as PurchaseResponse from "../PurchaseResponse.ts"
import type { MeteredTerms } from "./MeteredTerms.ts"
import * as StreamMessages from "./StreamMessages.ts"

/** A stream's surroundings. */
export interface StreamScene extends ChannelVoucher.Scene {
  readonly terms: MeteredTerms
}

/** Seconds for which a voucher may be signed and posted, if the shop waits for less. */
const shortestPatience = 10
/** The longest pause between two posts of a voucher, in seconds. */
const longestPause = 4
/** Maximum length of an answer in bytes. */
const longestAnswer = 64 * 1024

/** The shop's answer to a voucher: that it has it, or the reason for people why it does not. */
export type Posted =
  | { readonly _tag: "Accepted"; readonly answer: StreamMessages.VoucherAnswer | undefined }
  | { readonly _tag: "Refused"; readonly message: string }

/** Runs a step of the stream in the turn of its channel. */
export const inTurn = <A, E>({ context, offered, order }: StreamScene, step: Effect.Effect<A, E>) =>
  ChannelTurns.alone(context.journal, ChannelTurns.turnOf(offered, new URL(order.quote.url).host), step)

/**
 * The voucher that a shop may get now: the charges by the books and a part of a window. Where several streams share the channel, one may
 * have used what another was signed for: then it is the required one, as long as it adds no more than that part to what is signed.
 */
export const ceilingOf = Effect.fnUntraced(function* (
  { context, offered }: StreamScene,
  step: bigint,
  required: bigint,
  isShared: boolean
) {
  const book = (yield* context.journal.channels).get(offered.id)
  const [charged, signed] = [BigInt(book?.charged ?? 0n), BigInt(book?.signed ?? 0n)]
  const isUsed = isShared && step > 0n && required > charged + step && required <= signed + step
  return { step: isUsed ? required - charged : step, next: isUsed ? required : charged + step, signed }
})

/** Signs and writes the next voucher, of which nothing has left yet. A written one is noted, even if the stream ends meanwhile. */
export const sign = Effect.fnUntraced(function* (
  scene: StreamScene,
  progress: ChannelVoucher.Progress,
  step: bigint,
  note: (signed: ChannelVoucher.Signed) => void
): Effect.fn.Return<ChannelVoucher.Signed, PurchaseFailure> {
  const now = yield* Clock.currentTimeMillis
  const validBefore = Math.ceil(now / 1000) + Math.max(scene.terms.idleSeconds, shortestPatience)
  const order: Purchase.PurchaseOrder = { ...scene.order, quote: { ...scene.order.quote, amount: step } }
  const entry = { ...progress.entry, validBefore }
  const further = { ...scene, order, stream: "continued" as const }
  const drawing = Effect.uninterruptibleMask((restore) =>
    Effect.tap(
      ChannelVoucher.drawn(further, restore, { ...progress, entry }, () => progress.entry),
      (signed) => Effect.sync(() => note(signed))
    )
  )
  return yield* Effect.ensuring(drawing, scene.context.journal.letGo(entry.id))
})

/** Signs the highest voucher of the stream once more, which adds nothing, to ask where the channel stands, or to end its streams that wait. */
export const again = Effect.fnUntraced(function* (
  { offered, order, signer }: StreamScene,
  ceiling: bigint,
  ends = false
): Effect.fn.Return<HeaderFields, SigningFailed> {
  const { asset } = order.quote
  const signed = yield* signer.sign({ channel: offered, asset, ceiling, deposit: undefined, ends, follows: false })
  return yield* Purchase.bounded(order.paymentHeaders(signed.payload))
})

/** Posts a voucher until the shop answers, as long as its stream waits. */
export const post = (scene: StreamScene, headers: HeaderFields, ceiling: bigint): Effect.Effect<Posted> => {
  const { idleSeconds, voucherUrl } = scene.terms
  return Effect.timeoutOrElse(repeatedly(scene, voucherUrl, headers, ceiling), {
    duration: idleSeconds * 1000,
    orElse: () => Effect.succeed(silent(scene.terms))
  })
}

const repeatedly = Effect.fnUntraced(function* (...sending: Parameters<typeof posted>) {
  const [{ terms }] = sending
  let pause = 1
  for (let waited = 0; ; waited += pause) {
    const said = yield* posted(...sending)
    if (said !== undefined) return said
    if (waited >= terms.idleSeconds) return silent(terms)
    pause = Math.min(2 * pause, longestPause)
    yield* Effect.sleep(pause * 1000)
  }
})

const silent = ({ idleSeconds, voucherUrl }: MeteredTerms): Posted =>
  refused(`${voucherUrl} did not answer a voucher for ${idleSeconds} s`)

/** One post; `undefined` if its outcome is unknown, so that the same voucher may go out again. */
export const posted = Effect.fnUntraced(function* (
  scene: StreamScene,
  url: string,
  headers: HeaderFields,
  ceiling: bigint
): Effect.fn.Return<Posted | undefined> {
  const sending = scene.request.post?.(url, headers) ?? Effect.fail(new PurchaseResponse.NoResponse({ cause: "" }))
  const response = yield* Effect.catch(sending, () => Effect.undefined)
  if (response === undefined) return undefined
  const { status } = response
  const reading = Effect.tryPromise((signal) => BoundedBody.read(response.body, longestAnswer, signal))
  const body = yield* Effect.catch(reading, () => Effect.undefined)
  if (status >= 500 || status === 429) return undefined
  const answer = StreamMessages.readAnswer(body?._tag === "Read" ? body.text : undefined)
  // The shop has a higher voucher of this payer, by a request beside the stream.
  if (status === 409) return { _tag: "Accepted", answer: undefined }
  if (status !== 200) return refused(`${url} answered a voucher with ${status}`)
  if (answer?.channelState.channelId !== scene.offered.id || BigInt(answer.acceptedCumulative) < ceiling) {
    return refused(`${url} answered a voucher with 200, and not that it has taken it`)
  }
  return { _tag: "Accepted", answer }
})

const refused = (message: string): Posted => ({ _tag: "Refused", message })

/** Notes that a deposit is made, by the answer to its voucher: the next one need not ask the chain. */
export const deposited = ({ context, offered }: StreamScene, id: string) =>
  context.journal
    .draw(id, ({ channels }) => {
      const book = channels.get(offered.id)
      if (book?.deposit === undefined) return Result.succeed([undefined, []])
      return Result.succeed([undefined, [{ ...book, deposit: { ...book.deposit, isReported: true } }]])
    })
    .pipe(Effect.ensuring(context.journal.letGo(id)), Effect.ignore)
