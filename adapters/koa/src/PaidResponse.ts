/**
 * What the gate's answers and receipts do to a Koa response, and how it is told whether a response was served.
 */
import {
  type Answer,
  type ExecutionOutcome,
  ResponseHeaders,
  ResponseSeal,
  ResponseWatch,
  outcomeOfStatus,
  type Settlement
} from "@pontage/core"
import type { Context } from "koa"

const settlements = new WeakMap<object, Settlement.Settlement>()

/**
 * The receipt of the payment that opened this request; `undefined` where nothing was paid (yet: with
 * `settle: "after-handler"` it is there only after the handler).
 */
export const settlementOf = (ctx: Pick<Context, "req">): Settlement.Settlement | undefined => settlements.get(ctx.req)

/** Sends an answer of the gate. */
export const send = (ctx: Context, answer: Answer): void => {
  ctx.status = answer.status
  lay(ctx, answer.headers)
  if (answer.body !== "") ctx.body = answer.body
}

/**
 * Lays the gate's headers over those that are set, and over those that are when they are written: Koa drops all of them
 * when it answers an error, and middleware further out has its say after the gate.
 */
const lay = (ctx: Context, headers: Answer["headers"]): void => {
  ctx.set(ResponseHeaders.over(headers, (name) => presentIn(ctx, name)))
  ResponseSeal.seal(ctx.res, headers)
}

/** Not by `ctx.response.get`, which copies all headers to read one. */
const presentIn = ({ res }: Context, name: string): string | undefined => {
  const value = res.getHeader(name)
  return typeof value === "object" ? value.join(", ") : value?.toString()
}

/** Puts the receipt on a response that was paid for. */
export const receipt = (
  ctx: Context,
  paid: { readonly settlement: Settlement.Settlement; readonly headers: Answer["headers"] }
): void => {
  settlements.set(ctx.req, paid.settlement)
  lay(ctx, paid.headers)
}

/** The payer hung up while the payment was on its way: there is nobody to serve, and it can come again. */
export const isGone = ({ req, res }: Context): boolean => ResponseWatch.isGone(req, res)

/**
 * Nobody downstream took the request: the paid handler was never reached. A handler that says 404 itself has run.
 */
export const isUnanswered = (ctx: Context): boolean =>
  ctx.status === 404 &&
  !isStatusSet(ctx) &&
  (ctx.body === undefined || ctx.body === null) &&
  ctx.respond !== false &&
  !ctx.headerSent

/** Koa's own mark on a response whose status somebody has set; without it a 404 is the one Koa begins with. */
const isStatusSet = ({ response }: Context): boolean => Reflect.get(response, "_explicitStatus") === true

/** Reports how the response ended. It alone counts: streams fail long after the handler has returned. */
export const judge = (ctx: Context, finish: (outcome: ExecutionOutcome) => void): void => {
  ResponseWatch.watch(ctx.req, ctx.res, (delivered) => {
    finish(delivered ? outcomeOfStatus(ctx.res.statusCode) : "failed")
  })
}

/** How a handler that threw ended, by the status that Koa gives its error. */
export const outcomeOf = (error: unknown): ExecutionOutcome => {
  const status = statusOf(error)
  return typeof status === "number" && status >= 400 ? outcomeOfStatus(status) : "failed"
}

const statusOf = (error: unknown): unknown => {
  if (typeof error !== "object" || error === null) return undefined
  if ("status" in error && error.status !== undefined) return error.status
  return "statusCode" in error ? error.statusCode : undefined
}
