import * as Effect from "effect/Effect"

import type { Claim, ExecutionOutcome } from "../../src/facilitator/Facilitator.ts"
import { Facilitator } from "../../src/facilitator/Facilitator.ts"
import * as Binding from "../../src/protocol/Binding.ts"
import { sealPayload } from "../../src/protocol/PaymentPayload.ts"
import type { PaymentRequired } from "../../src/protocol/PaymentRequired.ts"
import type { SigningRequest } from "../../src/scheme/SchemeClient.ts"
import type { SchemeServer } from "../../src/scheme/SchemeServer.ts"
/**
 * A shop with a real gate and a real facilitator over a ledger in memory, without a network: requests go in, answers come
 * out, and the handler says with which status.
 */
import * as ServerSchemeRegistry from "../../src/scheme/ServerSchemeRegistry.ts"
import type { Decision, GateRequest } from "../../src/server/http/Decision.ts"
import { outcomeOfStatus } from "../../src/server/http/Decision.ts"
import * as PaymentGate from "../../src/server/PaymentGate.ts"
import type { RouteConfig } from "../../src/server/route/RouteConfig.ts"
import * as PriceResolver from "../../src/server/shop/PriceResolver.ts"
import * as TestScheme from "../../src/testing/ledger/TestScheme.ts"
import * as AsciiJson from "../../src/wire/http/AsciiJson.ts"
import * as LedgerShop from "../facilitator/LedgerShop.ts"

export type Headers = Readonly<Record<string, string>>

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

/** A handler's treatment of a request: a status, or the end of an execution without a response. */
export type Handler = (target: string) => number | Extract<ExecutionOutcome, "failed" | "notRun">

export const terms = { scheme: "exact", network: TestScheme.network, payTo: LedgerShop.payee } as const

export interface Options {
  readonly routes: Readonly<Record<string, Partial<RouteConfig>>>
  readonly handler: Handler
  readonly origin?: string
  readonly secret?: string
  readonly shop?: Pick<LedgerShop.Shop, "facilitator" | "ledger">
  /** Changes of the scheme server. */
  readonly server?: (server: SchemeServer) => SchemeServer
}

/** Opens a gate; several may share one facilitator. */
export const open = Effect.fnUntraced(function* ({ handler, routes, shop: shared, ...options }: Options) {
  const shop = shared ?? (yield* LedgerShop.open())
  const server = TestScheme.server(shop.ledger)
  const claims: Array<Claim | undefined> = []
  const facilitator = Facilitator.of({
    ...shop.facilitator,
    settle: (request, claim) =>
      Effect.suspend(() => {
        claims.push(claim)
        return shop.facilitator.settle(request, claim)
      })
  })
  const gate = yield* PaymentGate.make({
    origin: options.origin ?? "https://shop.example",
    secret: options.secret ?? "the shop's own secret, 32 long...."
  }).pipe(
    Effect.provide([PriceResolver.layerDollar, ServerSchemeRegistry.layer([options.server?.(server) ?? server])]),
    Effect.provideService(Facilitator, facilitator)
  )
  const sold = new Map<string, Parameters<typeof gate.decide>[0]>()
  for (const [name, config] of Object.entries(routes)) {
    // A part of one route's configuration, whatever form the rest has.
    const whole = "accepts" in config ? config : { ...terms, price: "$0.01", ...config }
    sold.set(name, yield* gate.route(name, whole as RouteConfig))
  }
  yield* gate.ready
  const decide = (name: string, target: string, headers: Headers = {}, more: Partial<GateRequest> = {}) => {
    const route = sold.get(name)
    if (route === undefined) throw new Error(`no route ${name}`)
    const request: GateRequest = {
      method: name.split(" ")[0] ?? "GET",
      target,
      header: (field) => headers[field],
      headers,
      params: {},
      query: Object.fromEntries(new URL(target, "https://shop.example").searchParams),
      body: undefined,
      native: undefined,
      ...more
    }
    return gate.decide(route, request)
  }
  const ran: Array<string> = []
  const ask = Effect.fnUntraced(function* (
    name: string,
    target: string,
    headers: Headers = {},
    more: Partial<GateRequest> = {}
  ): Effect.fn.Return<Reply> {
    const decision = yield* decide(name, target, headers, more)
    if (decision._tag === "Refused") return decision.response
    if (decision._tag !== "Granted") throw new Error(`no grant: ${decision._tag}`)
    ran.push(target)
    const end = handler(target)
    yield* decision.finish(typeof end === "number" ? outcomeOfStatus(end) : end)
    return { status: typeof end === "number" ? end : 500, headers: decision.headers, body: target }
  })
  return { shop, decide, ask, ran, claims, transfers: () => shop.ledger.balanceOf(LedgerShop.payee) }
})

/** The first offer of a refusal. */
export const offerIn = (reply: Reply) => {
  const required = JSON.parse(reply.body) as PaymentRequired
  const [offer] = required.accepts
  if (offer === undefined) throw new Error(`no offer: ${reply.body}`)
  return offer
}

type Validity = Pick<SigningRequest, "validAfter" | "validBefore">

/** The header that pays what a refusal offers. */
export const payFor = Effect.fnUntraced(function* (
  reply: Reply,
  bound = true,
  { validAfter = 0, validBefore = Math.floor(LedgerShop.start / 1000) + 60 }: Partial<Validity> = {}
) {
  const offer = offerIn(reply)
  const challenge = offer.extra?.["challenge"]
  if (typeof challenge !== "string") throw new Error("the offer has no challenge")
  const { payload } = yield* TestScheme.client(LedgerShop.payer).sign({
    requirements: offer,
    asset: TestScheme.asset,
    validAfter,
    validBefore,
    binding: bound ? yield* Binding.make(challenge) : undefined
  })
  return { "x-payment": AsciiJson.encode(sealPayload("exact", TestScheme.network, payload)) }
})

/** The receipt on a response. */
export const receiptOn = ({ headers }: Reply) =>
  JSON.parse(headers["X-Payment-Response"] ?? "{}") as Record<string, unknown>

/** A decision's tag, or the status and the detail of its response. */
export const verdictOf = (decision: Decision): string => {
  if (decision._tag !== "Refused") return decision._tag
  const { detail } = JSON.parse(decision.response.body) as { readonly detail?: string }
  return `${decision.response.status} ${detail}`
}
