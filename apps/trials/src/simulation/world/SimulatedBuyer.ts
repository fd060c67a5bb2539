/**
 * Buyers of the simulation. Each wants one thing, pays for it honestly, and asks for it again and again, with the same payment
 * as long as no response says that it is worthless, until it is served.
 */
import type { PaymentRequirements, PaymentRequest, PayableRequest, SchemeClient } from "@pontage/core"
import {
  ClientSchemeRegistry,
  NoResponse,
  PaymentClient,
  PaymentJournal,
  PaymentPayload,
  x402v2Payer
} from "@pontage/core"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"

import * as RemoteCall from "./RemoteCall.ts"
import type { SimulatedProcess } from "./SimulatedProcess.ts"
import type { SimulatedShop, Reply, UnclaimedReply } from "./SimulatedShop.ts"
import type { SimulatedTime } from "./SimulatedTime.ts"
import type { WireWeather } from "./Wire.ts"

/** The events of a purchase. */
export interface PurchaseReports {
  /** The buyer has signed; `nonce` names the authorization, which is valid until then (Unix seconds). */
  readonly signed: (nonce: string, validBefore: number) => void
  /** A response said that the last signed payment is worthless. */
  readonly refused: (words: string) => void
  readonly unanswered: (words: string) => void
  readonly served: () => void
  /** The goods were on their way to it when it had hung up. */
  readonly missed: () => void
}

/** The parts of a buyer. */
export interface Options {
  readonly process: SimulatedProcess
  readonly time: SimulatedTime
  readonly weather: WireWeather
  readonly shop: () => SimulatedShop
  readonly wallet: SchemeClient
  readonly target: string
  readonly terms: PaymentRequirements.PaymentRequirements
  readonly validitySeconds: number
  readonly copies: number
  readonly patienceMillis: number
  readonly reports: PurchaseReports
  /** Told that a promise was made, so that the world waits for it. */
  readonly promised: () => void
}

/** Between a call that came to nothing and the next one, in milliseconds. */
const shortestPause = 500
const longestPause = 3000
/** The number of calls after which an impatient buyer waits, and a buyer that sends copies sends one. */
const impatientCalls = 2

/** Buys with our client. */
export const withOurs = (options: Options): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { reports, target } = options
    const journal = PaymentJournal.make(PaymentJournal.memoryLog())
    const client = yield* PaymentClient.make({}).pipe(
      Effect.provide(ClientSchemeRegistry.layer([counted(options)])),
      Effect.provideService(PaymentJournal.PaymentJournal, journal),
      Effect.orDie
    )
    const request: PayableRequest = {
      method: "GET",
      url: options.shop().origin + target,
      body: Effect.succeed(new Uint8Array()),
      send: (_, headers) => asked(options, headers)
    }
    const attempt = Effect.gen(function* () {
      const first = yield* request.send(request.url, {})
      const demand = first.status === 402 ? yield* client.demandOf(first) : undefined
      if (demand === undefined) return yield* Effect.fail({ _tag: "Unanswered", message: `status ${first.status}` })
      const response = yield* client.pay(request, demand)
      return response.status === 200
        ? undefined
        : yield* Effect.fail({ _tag: "Unanswered", message: `${response.status}` })
    })
    yield* again(options, attempt, (failure) => {
      const words = `${failure._tag} ${codeOf(failure)} ${messageOf(failure)}`
      if (verdicts.has(failure._tag)) reports.refused(words)
      else reports.unanswered(words)
    })
  })

const verdicts = new Set(["PaymentError", "ValidationError", "PaymentRefused", "PaymentDeclined"])

const codeOf = (failure: object): string => ("code" in failure ? String(failure.code) : "")

const messageOf = (failure: object): string => ("message" in failure ? String(failure.message).slice(0, 160) : "")

/** Asks until it is served. */
const again = <E>(
  { patienceMillis, process, reports }: Options,
  attempt: Effect.Effect<void, E>,
  failed: (failure: E) => void
): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let calls = 0; ; calls++) {
      const trying = patienceMillis === 0 || calls >= impatientCalls ? attempt : Effect.timeout(attempt, patienceMillis)
      const outcome = yield* Effect.result(trying)
      if (Result.isSuccess(outcome)) return reports.served()
      if (isImpatience(outcome.failure)) reports.unanswered(`nothing for ${patienceMillis} ms`)
      else failed(outcome.failure)
      yield* Effect.sleep(process.random.between(shortestPause, longestPause))
    }
  })

const isImpatience = (failure: unknown): failure is Cause.TimeoutError => failure instanceof Cause.TimeoutError

/** The wallet, which counts what it signs. */
const counted = ({ reports, wallet }: Options): SchemeClient => ({
  ...wallet,
  sign: (request) =>
    Effect.tap(wallet.sign(request), ({ nonce }) => Effect.sync(() => reports.signed(nonce, request.validBefore)))
})

const asked = (options: Options, headers: object): Effect.Effect<Response, NoResponse> =>
  Effect.matchEffect(replyTo(options, headers), {
    onFailure: ({ reason }) => Effect.fail(new NoResponse({ cause: new Error(reason) })),
    onSuccess: (reply) =>
      Effect.sync(() => {
        options.promised()
        return new Response(reply.body, { status: reply.status, headers: reply.headers })
      })
  })

const replyTo = ({ process, reports, shop, target, time, weather }: Options, headers: object) =>
  RemoteCall.call(process, time, weather, "the shop", (): RemoteCall.Callee<Reply> | undefined => {
    const serve = shop().respond(
      target,
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
    )
    return serve && { process: shop().process, serve, missed: ({ status }) => status === 200 && reports.missed() }
  })

/**
 * Buys as x402's clients do: a nonce of its own, the same header again while the server says that it does not know, and a new
 * payment only when it was refused for good.
 */
export const withX402 = (options: Options): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { reports } = options
    let header: object | undefined
    let calls = 0
    const attempt = Effect.gen(function* () {
      const payment = header ?? (yield* signedForX402(options))
      header = payment
      const reply = yield* bestOf(options, payment ?? {}, calls++ < impatientCalls ? options.copies : 1)
      if (reply.status === 200 && payment !== undefined) return
      const isVerdict = payment !== undefined && (reply.status === 402 || (reply.status === 409 && !isToRepeat(reply)))
      if (isVerdict) header = undefined
      return yield* Effect.fail({ isVerdict, words: `${reply.status} ${reply.body.slice(0, 160)}` })
    })
    return again(options, attempt, ({ isVerdict, words }) => {
      if (isVerdict) reports.refused(words)
      else reports.unanswered(words)
    })
  })

/** The best answer to copies of a payment: the goods as soon as one has them; else one that decides nothing, if there is one. */
const bestOf = Effect.fnUntraced(function* (options: Options, payment: object, copies: number) {
  const goods = Deferred.makeUnsafe<Reply>()
  const asking = Effect.tap(replyTo(options, payment), (reply) =>
    reply.status === 200 ? Deferred.succeed(goods, reply) : Effect.void
  )
  const all = Effect.all(
    Array.from({ length: copies }, () => Effect.result(asking)),
    { concurrency: "unbounded" }
  )
  const rest = Effect.flatMap(all, (answers) => {
    const replies = answers.flatMap((answer) => (Result.isSuccess(answer) ? [answer.success] : []))
    const best = replies.length < answers.length ? undefined : (replies.find(isUndecided) ?? replies[0])
    return best === undefined ? Effect.fail({ isVerdict: false, words: "no answer" }) : Effect.succeed(best)
  })
  return yield* copies === 1 ? rest : Effect.raceFirst(Deferred.await(goods), rest)
})

const isUndecided = (reply: Reply): boolean => reply.status !== 402 && (reply.status !== 409 || isToRepeat(reply))

/** The server says when to come again. */
const isToRepeat = ({ headers }: Reply): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === "retry-after")

/** A header that pays the first offer; `undefined` where there is none. */
const signedForX402 = Effect.fnUntraced(function* (options: Options) {
  const reply = yield* Effect.mapError(replyTo(options, {}), ({ reason }) => ({ isVerdict: false, words: reason }))
  const lower = new Map(Object.entries(reply.headers).map(([name, value]) => [name.toLowerCase(), value]))
  const head = { status: reply.status, header: (name: string) => lower.get(name.toLowerCase()) ?? null }
  const refusal = reply.status === 402 ? x402v2Payer.readRefusal(head, undefined) : undefined
  if (refusal === undefined || Result.isFailure(refusal)) return undefined
  const [requirements] = refusal.success.required.accepts
  if (requirements === undefined) return undefined
  const signed = yield* signedFor(options, requirements)
  return refusal.success.paymentHeaders(0, signed.payload)
})

const signedFor = Effect.fnUntraced(function* (
  options: Options,
  requirements: PaymentRequirements.PaymentRequirements
) {
  const asset = options.wallet.asset(requirements)
  if (asset === undefined) return yield* Effect.die(`an unknown asset ${requirements.asset}`)
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const seconds = requirements.maxTimeoutSeconds ?? options.validitySeconds
  return yield* Effect.orDie(
    counted(options).sign({ requirements, asset, validAfter: 0, validBefore: now + seconds, binding: undefined })
  )
})

/** Buys at a server that settles without a claim; a new payment only after a refusal. */
export const withUnclaimed = (options: Options): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { process, reports, shop, terms, time, weather } = options
    let payment: PaymentRequest | undefined
    const attempt = Effect.gen(function* () {
      payment ??= yield* Effect.map(signedFor(options, terms), ({ payload }) => ({
        paymentRequirements: terms,
        paymentPayload: PaymentPayload.sealPayload(terms.scheme, terms.network, payload)
      }))
      const request = payment
      const find = (): RemoteCall.Callee<UnclaimedReply> => ({
        process: shop().process,
        serve: shop().settleUnclaimed(request),
        missed: (answer) => {
          if (answer === "served") reports.missed()
        }
      })
      const reply = yield* Effect.exit(RemoteCall.call(process, time, weather, "the server", find))
      if (Exit.isSuccess(reply) && reply.value === "served") return
      const isVerdict = Exit.isSuccess(reply) && typeof reply.value === "object"
      if (isVerdict) payment = undefined
      const words = Exit.isSuccess(reply) ? JSON.stringify(reply.value) : "no answer"
      return yield* Effect.fail({ isVerdict, words })
    })
    return again(options, attempt, ({ isVerdict, words }) => {
      if (isVerdict) reports.refused(words)
      else reports.unanswered(words)
    })
  })
