/**
 * The tools of the host laws: an application described without its framework, which the host under test builds; a market
 * in memory to sell on; and requests over a socket.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

import type { Settlement } from "../../protocol/Settlement.ts"
import type { DiscoveryOptions } from "../../server/discovery/DiscoveryOptions.ts"
import type { RouteMap } from "../../server/route/RouteConfig.ts"
import type { SellerOptions } from "../../server/Seller.ts"
import type { Paywall } from "../../server/shop/Paywall.ts"
import { type Law, LawBroken } from "../Law.ts"
import * as HostMarket from "./HostMarket.ts"
import * as NodeWire from "./NodeWire.ts"

/** A request as a handler sees it, by the parsers of its host. */
export interface SeenRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  /** Reads the whole body as text. */
  readonly body: () => Promise<string>
  readonly receipt: () => Settlement | undefined
}

/** A handler's response: status 200 and no body by default. An iterable is streamed. */
export interface HandlerReply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | AsyncIterable<string>
}

/** A route of the application: `/reports/:day`. The handler may throw an error. */
export interface TrialRoute {
  readonly method: "GET" | "POST"
  /** A parameter at the end may be optional (`/reach/:id?`), where the host's router knows that. */
  readonly path: string
  readonly handler: (request: SeenRequest) => HandlerReply | Promise<HandlerReply>
}

/** The key that sells a route of the application. */
export const keyOf = ({ method, path }: Pick<TrialRoute, "method" | "path">, prefix = ""): string =>
  `${method} ${prefix}${path.replace(/\?$/, "")}`

/** An application, as its host has to build it. */
export interface TrialApplication {
  readonly shop: SellerOptions
  /** The prices; without them the application is built without a gate. */
  readonly sold?: RouteMap
  /** The option of the same name, for the shop of `sold`. */
  readonly discovery?: DiscoveryOptions
  readonly routes: ReadonlyArray<TrialRoute>
  /** Headers that middleware of the application sets in front of the gate, on every response. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Middleware of the application in front of the gate hands out the means to answer its request by itself, with 503 and
   * the text "too late", as a limit on the time of a response does. For hosts on Node.
   */
  readonly limit?: (end: () => void) => void
  /**
   * Middleware of the application behind the gate writes the value of the header `x-method` over the request's method,
   * where the host lets it.
   */
  readonly overridesMethod?: boolean
  /** Mounts the routes as an application of its own below this path, which the keys of `sold` begin with. */
  readonly prefix?: string
  /** The application's own response to errors of its handlers. */
  readonly rescue?: (error: unknown) => HandlerReply
}

/** An application that listens on 127.0.0.1. */
export interface OpenApplication {
  readonly port: number
  /** Resolves when everything is proven and may be sold. */
  readonly ready: () => Promise<void>
  readonly close: () => Promise<void>
}

/** The host under test. */
export interface HostSubject {
  readonly open: (application: TrialApplication) => Promise<OpenApplication>
  /** Whether the host's own response to a thrown error carries the receipt too. */
  readonly keepsReceiptOnErrors: boolean
}

/** The host that the laws run on. */
export class Subject extends Context.Service<Subject, HostSubject>()("@pontage/core/testing/HostSubject") {}

/** A law of a host. */
export type HostLaw = Law<Subject>

/** An open application on a market of its own. */
export interface Trial {
  readonly market: HostMarket.HostMarket
  readonly subject: HostSubject
  /** Sends a request and reads the whole response. */
  readonly ask: (target: string, options?: NodeWire.AskOptions) => Promise<NodeWire.HostAnswer>
  /** The header that pays for what an unpaid request is offered. */
  readonly payment: (target: string, options?: NodeWire.AskOptions) => Promise<Readonly<Record<string, string>>>
  readonly port: number
}

/** Prices and routes of a trial, and the shop's page if it has one. */
export interface TrialParts extends Omit<TrialApplication, "shop"> {
  readonly paywall?: Paywall
}

/** A law that is tried on an application of its own. */
export const law = (
  name: string,
  parts: (market: HostMarket.HostMarket) => TrialParts,
  run: (trial: Trial) => Promise<void>
): HostLaw => ({
  name,
  effect: Effect.flatMap(Subject, (subject) =>
    Effect.tryPromise({
      try: () => attempt(subject, parts, run),
      catch: (error) => (error instanceof LawBroken ? error : new LawBroken({ message: String(error) }))
    })
  )
})

const attempt = async (
  subject: HostSubject,
  partsOf: (market: HostMarket.HostMarket) => TrialParts,
  run: (trial: Trial) => Promise<void>
): Promise<void> => {
  const market = HostMarket.open()
  const { paywall, ...parts } = partsOf(market)
  const application = await subject.open({ shop: { ...market.shop, ...(paywall && { paywall }) }, ...parts })
  const { port } = application
  const ask: Trial["ask"] = (target, options) => NodeWire.ask(port, target, options)
  try {
    await application.ready()
    await run({ market, subject, port, ask, payment: async (...request) => market.pay(await ask(...request)) })
  } finally {
    await application.close()
  }
}

/** A promise that a law keeps when it likes. */
export interface Signal {
  readonly promise: Promise<void>
  readonly give: () => void
}

/** A signal that has not been given yet. */
export const signal = (): Signal => {
  const listeners: Array<() => void> = []
  const promise = new Promise<void>((resolve) => listeners.push(resolve))
  return { promise, give: () => listeners.forEach((listener) => listener()) }
}

/** Breaks the law unless both are the same text, number or flag. */
export const equal = (subject: string, actual: unknown, expected: unknown): void => {
  if (actual !== expected) {
    throw new LawBroken({ message: `${subject}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}` })
  }
}

/** Breaks the law unless the condition is true. */
export const demand = (subject: string, condition: boolean): void => {
  if (!condition) throw new LawBroken({ message: subject })
}
