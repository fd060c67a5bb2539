/** Applies the gate's responses and receipts to a Koa response, and determines whether a response was served. */
import {
  type GateResponse,
  type ExecutionOutcome,
  type KeptResponse,
  GrantedResponse,
  type Granted,
  HeldResponse,
  PaymentMeter,
  RequestMarks,
  ResponseWatch,
  SignedResponse,
  outcomeOfStatus,
  type Settlement
} from "@pontage/core"
import type { Context } from "koa"

/**
 * The receipt of the payment that opened this request; `undefined` if nothing was paid (with `settle: "after-handler"`
 * it exists only after the handler).
 */
export const settlementOf = (ctx: Pick<Context, "req">): Settlement.Settlement | undefined =>
  RequestMarks.settlementOf(ctx.req)

/** The meter of a request on a metered route; `undefined` where the route is not metered, or nothing was paid. */
export const meterOf = (ctx: Pick<Context, "req">): PaymentMeter.PaymentMeter | undefined => PaymentMeter.of(ctx.req)

/** Sends a response of the gate. */
export const send = (ctx: Context, response: GateResponse): void => {
  ctx.status = response.status
  lay(ctx, response.headers)
  if (response.body !== "") ctx.body = response.body
}

/** Sends a kept response. */
export const repeat = (ctx: Context, kept: KeptResponse.KeptResponse): void =>
  HeldResponse.repeat(ctx.res, kept, ctx.res.getHeaders())

/**
 * Lays the gate's headers over the current ones, and again when they are written: Koa drops all headers when it answers
 * an error, and outer middleware runs after the gate.
 */
const lay = (ctx: Context, headers: GateResponse["headers"]): void => {
  if (!ctx.headerSent) HeldResponse.layOver(ctx.res, headers)
}

/** Adds the receipt to a paid response, and lays its headers over again as `lay` does. */
export const receipt = (ctx: Context, paid: Pick<Granted, "headers" | "headersFor" | "settlement">): void => {
  RequestMarks.settle(ctx.req, paid.settlement)
  if (!ctx.headerSent) HeldResponse.layPaid(ctx.res, paid)
}

/** The payer disconnected, or the application answered by itself, while the payment was pending: the handler is not to run. */
export const isTaken = ({ req, res }: Context): boolean => ResponseWatch.isTaken(req, res)

/** The payer disconnected while the payment was pending: nothing is served, and the payer may repeat the request. */
export const isGone = ({ req, res }: Context): boolean => ResponseWatch.isGone(req, res)

/**
 * Whether no downstream middleware handled the request: the paid handler was never reached. A handler that responds with 404
 * itself has run.
 */
export const isUnanswered = (ctx: Context): boolean =>
  ctx.status === 404 &&
  !isStatusSet(ctx) &&
  (ctx.body === undefined || ctx.body === null) &&
  ctx.respond !== false &&
  !ctx.headerSent

/** Whether a status was set, by Koa's own mark; without it a 404 is Koa's initial status. */
const isStatusSet = ({ response }: Context): boolean => Reflect.get(response, "_explicitStatus") === true

/**
 * Reports how the response ended, and signs its receipt before it leaves if the receipt covers it. Only that end counts: streams fail
 * long after the handler has returned.
 */
export const judge = (
  ctx: Context,
  granted: Granted,
  run: SignedResponse.Run,
  finish: (outcome: ExecutionOutcome) => void
): void => {
  const { endsAtHead, meter, sink } = granted
  GrantedResponse.watch(ctx.req, ctx.res, { sink, endsAtHead, meter, run }, (delivered, status) => {
    finish(delivered ? outcomeOfStatus(status) : "failed")
  })
  SignedResponse.hold(ctx.res, granted, run)
}

/** The outcome of a handler that threw, by the status that Koa gives its error. */
export const outcomeOf = (error: unknown): ExecutionOutcome => outcomeOfStatus(failureOf(error))

/** The status that Koa gives an error; 500 for one below 400, which is no failure's. */
export const failureOf = (error: unknown): number => {
  const status = statusOf(error)
  return status >= 400 ? status : 500
}

/** The status that Koa gives an error. */
export const statusOf = (error: unknown): number => {
  if (typeof error !== "object" || error === null) return 500
  const status: unknown = Reflect.get(error, "status") ?? Reflect.get(error, "statusCode")
  return typeof status === "number" ? status : 500
}
