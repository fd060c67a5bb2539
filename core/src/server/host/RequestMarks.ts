/** The facts that a host's steps know of one request, by an object of the host: that a gate has decided it, the routes it paid for, the receipt. */
import type { Settlement } from "../../protocol/Settlement.ts"
import type { PricedRoute } from "../route/PricedRoute.ts"

const settlements = new WeakMap<object, Settlement>()
const opened = new WeakMap<object, Set<PricedRoute>>()
/** A field of the request itself: every request is marked, and an entry of a weak set costs its making and the collector more. */
const judged = Symbol("pontage: judged")

/** Notes that a gate decides this request. */
export const judge = (request: object): void => void Reflect.set(request, judged, true)

/** Whether a gate has decided this request. */
export const isJudged = (request: object): boolean => Reflect.get(request, judged) === true

/** Notes that the request may pass for this route: two steps of one route ask the gate once. */
export const open = (request: object, route: PricedRoute): void =>
  void opened.set(request, (opened.get(request) ?? new Set()).add(route))

/** Whether the request has paid for this route. */
export const isOpen = (request: object, route: PricedRoute): boolean => opened.get(request)?.has(route) === true

/** Notes the receipt of the payment that opened the request. */
export const settle = (request: object, settlement: Settlement): void => void settlements.set(request, settlement)

/**
 * The receipt of the payment that opened this request; `undefined` if nothing was paid (with
 * `settle: "after-handler"` it exists only after the handler).
 */
export const settlementOf = (request: object): Settlement | undefined => settlements.get(request)
