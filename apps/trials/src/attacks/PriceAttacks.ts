/**
 * Attacks on prices that depend on the request: a payment of the cheap request is shown with the dear one.
 */
import * as Effect from "effect/Effect"

import type { Attack } from "./Attack.ts"
import * as HostileCall from "./hostile/HostileCall.ts"
import * as HostileWallet from "./hostile/HostileWallet.ts"
import type { SourceMutation } from "./SourceMutation.ts"
import type { AttackStage } from "./stage/AttackStage.ts"

const withoutPrice: SourceMutation = [
  {
    module: "core/src/facilitator/store/Presentation",
    piece: "BigInt(requirements.maxAmountRequired) <= known.authorization.amount",
    instead: "known !== undefined && requirements !== undefined"
  },
  { module: "core/src/server/PaidRequest", piece: "difference === undefined", instead: "true" },
  {
    module: "core/src/facilitator/remote/FacilitatorResponse",
    piece: "isEnough ? undefined",
    instead: "isEnough || true ? undefined"
  }
]

/** One request at two prices: what differs is in the body or in a header. */
interface Prices {
  readonly path: string
  readonly cheap: RequestInit
  readonly dear: RequestInit
}

const byBody: Prices = {
  path: "/render",
  cheap: HostileCall.posting({ pages: 1 }),
  dear: HostileCall.posting({ pages: 5_000 })
}

const byHeader: Prices = {
  path: "/tier",
  cheap: { headers: { "x-tier": "plain" } },
  dear: { headers: { "x-tier": "gold" } }
}

const paying = (init: RequestInit, headers: HostileWallet.PayingHeaders): RequestInit => ({
  ...init,
  headers: { ...Object.fromEntries(new Headers(init.headers)), ...headers }
})

/** Pays the cheap request, goes away before it is answered, and shows the payment with the dear one until it is answered. */
const upgrade = Effect.fnUntraced(function* (stage: AttackStage, { cheap, dear, path }: Prices) {
  const shop = yield* stage.usualShop
  const url = `${shop.url}${path}`
  const offer = yield* HostileCall.offerAt(url, cheap)
  const wallet = yield* stage.wallet(BigInt(offer.amount))
  const signed = yield* Effect.promise(() => wallet.sign(offer))
  const headers = HostileWallet.inX402(signed, offer)
  const first = paying(cheap, headers)
  yield* HostileCall.cut(url, Object.fromEntries(new Headers(first.headers)), {
    method: cheap.method ?? "GET",
    ...(typeof cheap.body === "string" && { body: cheap.body })
  })
  const dearOffer = yield* HostileCall.offerAt(url, dear)
  const shown = [offer, dearOffer, { ...dearOffer, extra: offer.extra }]
  const replies: Array<HostileCall.Reply> = []
  for (const accepted of shown) {
    for (let attempt = 0; attempt < 40; attempt++) {
      const reply = yield* HostileCall.send(url, paying(dear, HostileWallet.inX402(signed, accepted)))
      replies.push(reply)
      if (reply.status !== 503 && reply.headers.get("retry-after") === null) break
      yield* Effect.sleep("250 millis")
    }
  }
  const served = replies.filter(HostileCall.isServed).length
  return {
    held: served === 0,
    seen: `${replies.map(({ status }) => status).join(", ")}: ${served} of ${replies.length} served`,
    attackerCost: `${offer.amount} units`,
    targetCost: served === 0 ? "nothing" : `goods of ${dearOffer.amount} units`
  }
})

export const attacks: ReadonlyArray<Attack> = [
  {
    name: "dearer-body",
    what: "a payment signed for one page, its connection cut, is shown with a body of 5,000 pages",
    expected: "refused: the recorded amount does not cover today's price",
    targets: ["pontage", "x402"],
    mutation: withoutPrice,
    run: (stage) => upgrade(stage, byBody)
  },
  {
    name: "dearer-header",
    what: "a payment signed for the plain tier, its connection cut, is shown with a header that names the gold tier",
    expected: "refused: the recorded amount does not cover today's price",
    targets: ["pontage", "x402"],
    mutation: withoutPrice,
    run: (stage) => upgrade(stage, byHeader)
  }
]
