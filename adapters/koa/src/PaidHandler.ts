/**
 * A priced route as Koa middleware: it calls the gate, and translates the decision for Koa. All downstream middleware
 * belongs to the paid resource.
 */
import {
  type ResponseSink,
  type SettleAfter,
  type Granted,
  type ExecutionOutcome,
  NodeExchange,
  type PricedRoute,
  RequestMarks,
  ResponseSeal,
  type Seller,
  UpgradeRequest
} from "@pontage/core"
import type { Context, Next } from "koa"

import * as HeldResponse from "./HeldResponse.ts"
import * as KoaRequest from "./KoaRequest.ts"
import * as PaidResponse from "./PaidResponse.ts"

/** Runs `next` if the request may pass, and responds otherwise. `params` are the path parameters for `getPrice`. */
export const serve = async (
  seller: Seller.Seller,
  route: PricedRoute,
  ctx: Context,
  next: Next,
  params: Readonly<Record<string, string>>
): Promise<unknown> => {
  RequestMarks.judge(ctx.req)
  if (RequestMarks.isOpen(ctx.req, route)) return next()
  const deciding = seller.decide(route, KoaRequest.of(ctx, params))
  const decision = deciding instanceof Promise ? await deciding : deciding
  switch (decision._tag) {
    case "Free":
      return next()
    case "Refused":
      return PaidResponse.send(ctx, decision.response)
    case "Repeated":
      return PaidResponse.repeat(ctx, decision.response)
    case "Granted":
      RequestMarks.open(ctx.req, route)
      return serveGranted(seller, decision, ctx, next)
    case "SettleAfter":
      return serveSettleAfter(seller, route, decision, ctx, next)
  }
}

const serveGranted = async (seller: Seller.Seller, granted: Granted, ctx: Context, next: Next): Promise<void> => {
  const finish = (outcome: ExecutionOutcome) => void seller.run(granted.finish(outcome))
  if (PaidResponse.isTaken(ctx)) return finish("notRun")
  if (granted.meter !== undefined && UpgradeRequest.isWebSocket(ctx.req)) {
    finish("notRun")
    return PaidResponse.send(ctx, UpgradeRequest.refusal)
  }
  PaidResponse.receipt(ctx, granted)
  PaidResponse.judge(ctx, granted, seller.run, finish)
  try {
    await next()
  } catch (error) {
    finish(PaidResponse.outcomeOf(error))
    throw error
  }
  if (PaidResponse.isUnanswered(ctx)) finish("refused")
  else if (granted.sink !== undefined && PaidResponse.isGone(ctx)) await keepUnsent(seller, granted.sink, ctx, finish)
}

/** Keeps a response whose client has disconnected meanwhile: Koa does not send it. */
const keepUnsent = async (
  seller: Seller.Seller,
  sink: ResponseSink,
  ctx: Context,
  finish: (outcome: ExecutionOutcome) => void
): Promise<void> => {
  ResponseSeal.applyUnsent(ctx.res)
  const response = HeldResponse.responseOf(ctx)
  if (response !== undefined) await seller.run(sink.keep(response))
  finish("failed")
}

/**
 * Holds Node's response, not Koa's, so that the payment settles for what Koa really sends: Koa serialises a body, and outer
 * middleware changes it, after this has returned.
 */
const serveSettleAfter = async (
  seller: Seller.Seller,
  route: PricedRoute,
  settleAfter: SettleAfter,
  ctx: Context,
  next: Next
): Promise<void> => {
  let reached: "running" | "unanswered" | "answered" = "running"
  let thrown = 0
  const run = async (): Promise<void> => {
    try {
      await next()
      await HeldResponse.hold(ctx)
      reached = PaidResponse.isUnanswered(ctx) ? "unanswered" : "answered"
    } catch (error) {
      thrown = PaidResponse.failureOf(error)
      // Koa answers an error only where no head is sent, and would leave its client waiting for the held rest.
      if (ctx.headerSent) ctx.res.destroy()
      throw error
    }
  }
  let running: Promise<void> | undefined
  NodeExchange.settle(
    seller,
    route,
    settleAfter,
    {
      request: ctx.req,
      response: ctx.res,
      headers: () => ctx.res.getHeaders(),
      refuse: (response) => PaidResponse.send(ctx, response),
      proceed: () => {
        running = run()
      }
    },
    // A page that outer middleware makes of an error is not the handler's.
    (sent) => (reached === "unanswered" ? "notRun" : Math.max(sent, thrown))
  )
  return running
}
