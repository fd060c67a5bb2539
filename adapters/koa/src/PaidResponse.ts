/** Applies the gate's responses and receipts to a Koa response, and determines whether a response was served. */
import {
  type GateResponse,
  type ExecutionOutcome,
  type KeptResponse,
  ResponseHeaders,
  ResponseKeeping,
  ResponseSeal,
  ResponseWatch,
  outcomeOfStatus,
  type Settlement
} from "@pontage/core"
import type { Context } from "koa"

const settlements = new WeakMap<object, Settlement.Settlement>()

/**
 * The receipt of the payment that opened this request; `undefined` if nothing was paid (with `settle: "after-handler"`
 * it exists only after the handler).
 */
export const settlementOf = (ctx: Pick<Context, "req">): Settlement.Settlement | undefined => settlements.get(ctx.req)

/** Sends a response of the gate. */
export const send = (ctx: Context, response: GateResponse): void => {
  ctx.status = response.status
  lay(ctx, response.headers)
  if (response.body !== "") ctx.body = response.body
}

/** Whether a header has one value, and is not one of the CORS middleware. */
const isPlain = (entry: KeptResponse.KeptHeader): entry is readonly [string, string] =>
  typeof entry[1] === "string" && !/^access-control-allow-/i.test(entry[0])

/**
 * Sends a kept response. Headers of the present request's own CORS middleware stay, since the response may have been made
 * for a page of another origin.
 */
export const repeat = (ctx: Context, { body, headers, status }: KeptResponse.KeptResponse): void => {
  ctx.status = status
  ctx.body = Buffer.from(body)
  for (const [name, value] of headers) {
    if (/^access-control-allow-/i.test(name) && ctx.res.hasHeader(name)) continue
    ctx.set(name, typeof value === "string" ? value : [...value])
  }
  ResponseSeal.seal(ctx.res, Object.fromEntries(headers.filter(isPlain)))
}

/**
 * Lays the gate's headers over the current ones, and again when they are written: Koa drops all headers when it answers
 * an error, and outer middleware runs after the gate.
 */
const lay = (ctx: Context, headers: GateResponse["headers"]): void => {
  ctx.set(ResponseHeaders.over(headers, (name) => presentIn(ctx, name)))
  ResponseSeal.seal(ctx.res, headers)
}

/** The value of a header, without `ctx.response.get`, which copies all headers to read one. */
const presentIn = ({ res }: Context, name: string): string | undefined => {
  const value = res.getHeader(name)
  return typeof value === "object" ? value.join(", ") : value?.toString()
}

/** Adds the receipt to a paid response. */
export const receipt = (
  ctx: Context,
  paid: { readonly settlement: Settlement.Settlement; readonly headers: GateResponse["headers"] }
): void => {
  settlements.set(ctx.req, paid.settlement)
  lay(ctx, paid.headers)
}

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

/** Reports how the response ended. Only that end counts: streams fail long after the handler has returned. */
export const judge = (
  ctx: Context,
  keeping: ResponseKeeping.Keeping,
  finish: (outcome: ExecutionOutcome) => void
): void => {
  ResponseKeeping.watch(ctx.req, ctx.res, keeping, (delivered) => {
    finish(delivered ? outcomeOfStatus(ctx.res.statusCode) : "failed")
  })
}

/** The outcome of a handler that threw, by the status that Koa gives its error. */
export const outcomeOf = (error: unknown): ExecutionOutcome => {
  const status = statusOf(error)
  return typeof status === "number" && status >= 400 ? outcomeOfStatus(status) : "failed"
}

const statusOf = (error: unknown): unknown => {
  if (typeof error !== "object" || error === null) return undefined
  if ("status" in error && error.status !== undefined) return error.status
  return "statusCode" in error ? error.statusCode : undefined
}
