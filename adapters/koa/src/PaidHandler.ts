/**
 * A priced route as Koa middleware: it calls the gate, and translates the decision for Koa. All downstream middleware
 * belongs to the paid resource.
 */
import {
  type ResponseSink,
  type SettleAfter,
  type Granted,
  type ExecutionOutcome,
  type HeldResponse as Held,
  type PricedRoute,
  RequestMarks,
  ResponseCapture,
  ResponseSeal,
  type Seller
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
      RequestMarks.open(ctx.req, route)
      return serveSettleAfter(seller, decision, ctx, next)
  }
}

const serveGranted = async (seller: Seller.Seller, granted: Granted, ctx: Context, next: Next): Promise<void> => {
  const finish = (outcome: ExecutionOutcome) => void seller.run(granted.finish(outcome))
  if (PaidResponse.isTaken(ctx)) return finish("notRun")
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

const serveSettleAfter = async (
  seller: Seller.Seller,
  settleAfter: SettleAfter,
  ctx: Context,
  next: Next
): Promise<void> => {
  const abandon = (outcome: "failed" | "notRun") => void seller.run(settleAfter.abandon(outcome))
  if (PaidResponse.isTaken(ctx)) return abandon("notRun")
  const before = { ...ctx.res.getHeaders() }
  ResponseCapture.noteOuter(ctx.res)
  const letGo = ResponseSeal.hold(ctx.res)
  try {
    await next()
    await HeldResponse.hold(ctx)
  } catch (error) {
    abandon("failed")
    letGo()
    throw error
  }
  if (PaidResponse.isGone(ctx)) abandon("failed")
  else if (PaidResponse.isUnanswered(ctx)) abandon("notRun")
  else await settle(seller, settleAfter, ctx, before)
  letGo()
}

const settle = async (
  seller: Seller.Seller,
  settleAfter: SettleAfter,
  ctx: Context,
  before: Held.HeaderValues
): Promise<void> => {
  const completed = await seller.run(settleAfter.complete(ctx.status))
  switch (completed._tag) {
    case "Uncharged":
      return
    case "Refused":
      HeldResponse.drop(ctx, before)
      return PaidResponse.send(ctx, completed.response)
    case "Granted":
      return release(seller, completed, ctx)
  }
}

const release = async (seller: Seller.Seller, granted: Granted, ctx: Context): Promise<void> => {
  const finish = (outcome: ExecutionOutcome) => void seller.run(granted.finish(outcome))
  if (PaidResponse.isGone(ctx)) {
    if (granted.sink === undefined) return finish("failed")
    PaidResponse.receipt(ctx, granted)
    return keepUnsent(seller, granted.sink, ctx, finish)
  }
  PaidResponse.receipt(ctx, granted)
  PaidResponse.judge(ctx, granted, seller.run, finish)
}
