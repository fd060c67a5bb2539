/**
 * Attacks on Koa applications in shapes that real ones have: ways to the goods that lead around the gate, and requests that
 * a gate before a router reads in another way than the router.
 */
import { connect, constants, type ClientHttp2Session } from "node:http2"

import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

import type { Attack, Seen } from "./Attack.ts"
import * as HostileCall from "./hostile/HostileCall.ts"
import * as HostileWallet from "./hostile/HostileWallet.ts"
import { rawly } from "./hostile/RawRequest.ts"
import type { AttackStage } from "./stage/AttackStage.ts"

const Opened = Schema.Record(
  Schema.String,
  Schema.Union([Schema.Struct({ url: Schema.String }), Schema.Struct({ refused: Schema.String })])
)
const decodeOpened = Schema.decodeUnknownSync(Schema.fromJsonString(Opened))

type Shapes = typeof Opened.Type

/** Opens the shapes: the URL of each, or the reason of its refusal. */
const open = Effect.fnUntraced(function* (stage: AttackStage, names: ReadonlyArray<string>) {
  const facilitator = yield* stage.usualFacilitator
  const { url } = yield* stage.shapes(facilitator.url, names)
  return decodeOpened((yield* HostileCall.send(url)).text)
})

const urlOf = (shapes: Shapes, name: string): string => {
  const shape = shapes[name]
  if (shape !== undefined && "url" in shape) return shape.url
  throw new Error(`the shape ${JSON.stringify(name)} is not open: ${JSON.stringify(shape)}`)
}

/** A way to the goods: the request to the shape and the expected response; or the message with which the shape has to be refused. */
interface Way {
  readonly shape: string
  readonly path?: string
  readonly init?: RequestInit
  readonly answered: number | RegExp
}

const tryWay = Effect.fnUntraced(function* (shapes: Shapes, { answered, init, path = "/report", shape }: Way) {
  const opened = shapes[shape]
  if (opened === undefined) return { held: false, seen: "not there", given: 0 }
  if ("refused" in opened) {
    const held = answered instanceof RegExp && answered.test(opened.refused)
    return { held, seen: held ? "refused at start" : opened.refused, given: 0 }
  }
  const asked = yield* Effect.timeoutOption(HostileCall.send(`${opened.url}${path}`, init), "5 minutes")
  if (Option.isNone(asked)) return { held: false, seen: "no response in 5 minutes", given: 0 }
  const { value: reply } = asked
  return { held: reply.status === answered, seen: `${reply.status}`, given: HostileCall.isServed(reply) ? 1 : 0 }
})

/** Tries all the ways, without any payment. */
const unpaid =
  (ways: ReadonlyArray<Way>) =>
  (stage: AttackStage): Effect.Effect<Seen, unknown, Scope.Scope> =>
    Effect.gen(function* () {
      const shapes = yield* open(
        stage,
        ways.map(({ shape }) => shape)
      )
      const tried = yield* Effect.forEach(ways, (way) => tryWay(shapes, way))
      const given = tried.reduce((sum, one) => sum + one.given, 0)
      return {
        held: given === 0 && tried.every(({ held }) => held),
        seen: ways.map(({ shape }, index) => `${shape}: ${tried[index]?.seen}`).join("; "),
        attackerCost: "nothing",
        targetCost: given === 0 ? "nothing" : `the goods of ${given} shapes, for everybody`
      }
    })

/** Without it a response that bypassed the gate is sent. */
const lastLook = {
  module: "adapters/koa/src/UngatedResponse",
  piece: "key === undefined",
  instead: "key !== null"
}

/** Without it no router of the application is examined. */
const anyOrder = { module: "adapters/koa/src/RouterOrder", piece: "layer === undefined", instead: "layer !== null" }

const aroundTheGate: Attack = {
  name: "around-the-gate",
  what: "the goods are asked for at a router that took a copy of the sold one, and at a router in front of the gate",
  expected: "refused at start where the application is known, 500 where it is not, 402 where it is nested rightly",
  targets: ["pontage"],
  mutation: [lastLook, anyOrder],
  run: unpaid([
    { shape: "copied by a parent", path: "/api/report", answered: 500 },
    { shape: "copied by a parent of a known application", answered: /GET \/api\/report is sold/ },
    { shape: "nested after the gate", path: "/api/report", answered: 402 },
    { shape: "gate after the router", answered: /GET \/report is sold, and served without a payment/ }
  ])
}

const halfSold: Attack = {
  name: "half-sold-handler",
  what: "a handler whose route has a key is asked for by its other methods and at its other path",
  expected: "the shop refuses to start, and says which method and path are free",
  targets: ["pontage"],
  mutation: [
    lastLook,
    {
      module: "adapters/koa/src/RouterGate",
      piece: "others.length === 0",
      instead: "others.length >= 0"
    },
    { module: "adapters/koa/src/RouterGate", piece: "sold !== undefined", instead: "sold === null" },
    anyOrder
  ],
  run: unpaid([
    { shape: "all methods", init: { method: "DELETE" }, answered: /its handler also answers ACL, BIND/ },
    { shape: "two paths", path: "/copy", answered: /its handler also answers GET \/copy for free/ }
  ])
}

const byOverride: RequestInit = { method: "POST", headers: { "x-method": "get" } }

const rewrittenMethod: Attack = {
  name: "rewritten-method",
  what: "a POST is sent whose method middleware rewrites to get, in small letters",
  expected: "402 where that stands before the gate, 500 where it stands behind it",
  targets: ["pontage"],
  mutation: [
    lastLook,
    { module: "core/src/server/route/RouteTable", piece: "written.toUpperCase()", instead: "written" }
  ],
  run: unpaid([
    { shape: "method rewritten before the gate", init: byOverride, answered: 402 },
    { shape: "method rewritten before a gate in the router", init: byOverride, answered: 402 },
    { shape: "method rewritten behind the gate", init: byOverride, answered: 500 }
  ])
}

const badPrice: Attack = {
  name: "bad-price",
  what: "prices are asked for whose function returns a bigint or an object without text, rejects with nothing, or never answers",
  expected: "500 for each",
  targets: ["pontage"],
  mutation: [
    {
      module: "core/src/server/route/RouteHook",
      piece: "duration: priceTimeoutMillis",
      instead: "duration: priceTimeoutMillis * 100"
    }
  ],
  run: unpaid(
    ["is a bigint", "is an object without a prototype", "throws nothing", "never comes"].map((what) => ({
      shape: `a price that ${what}`,
      answered: 500
    }))
  )
}

/** As the published clients pay: beside the offer they repeat the resource that was named with it. */
const resourceIn = (response: string): unknown => {
  const [, header = ""] = /^payment-required: (\S+)/im.exec(response) ?? []
  const { resource }: { readonly resource?: unknown } = JSON.parse(Buffer.from(header, "base64").toString("utf8"))
  return resource
}

/** Pays the target's price and returns the response to the payment, or to the unpaid request where the target has no price. */
const payRawly = Effect.fnUntraced(function* (stage: AttackStage, url: string, target: string) {
  const { host } = new URL(url)
  const refused = yield* rawly(url, { target, headers: { host } })
  const offer = HostileCall.offerIn(refused)
  if (offer === undefined) return { amount: 0n, response: refused }
  const wallet = yield* stage.wallet(BigInt(offer.amount))
  const signed = yield* Effect.promise(() => wallet.sign(offer))
  const headers = { host, ...HostileWallet.inX402(signed, offer, resourceIn(refused)) }
  return { amount: BigInt(offer.amount), response: yield* rawly(url, { target, headers }) }
})

const statusOf = (response: string): string => response.slice(9, 12)

const spellings = ["/REPORT/Gold", "/report/%47old", "/report/Gold/", "//report/Gold", "/report;a=b/Gold"]

const dearTier = 1_000_000n
const isGold = ({ response }: { readonly response: string }) => response.includes("tier Gold")

const tierByCase: Attack = {
  name: "tier-by-case",
  what: "a dear tier is asked for by paths that a gate before the router has to bring into one form to know them",
  expected: "the dear tier for no less than its price, and for that price in its own spelling",
  targets: ["pontage"],
  mutation: [
    {
      module: "core/src/server/route/PathForms",
      piece: "parts: lower(asSent), values }",
      instead: "parts: lower(asSent), values: lower(asSent) }"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const places = ["tiers before the router", "tiers in the router"]
    const shapes = yield* open(stage, places)
    const urls = places.map((place) => urlOf(shapes, place))
    const straight = yield* Effect.forEach(urls, (url) => payRawly(stage, url, "/report/Gold"))
    const bent = yield* Effect.forEach(urls, (url) =>
      Effect.forEach(spellings, (spelling) => payRawly(stage, url, spelling))
    )
    const cheap = bent.flat().filter((one) => isGold(one) && one.amount < dearTier).length
    return {
      held: cheap === 0 && straight.every((one) => isGold(one) && one.amount === dearTier),
      seen: `${bent
        .flat()
        .map(({ amount, response }) => `${statusOf(response)} for ${amount}`)
        .join(", ")}: ${cheap} dear ones for less`,
      attackerCost: "10000 units each",
      targetCost: cheap === 0 ? "nothing" : `${cheap} dear reports`
    }
  })
}

const longestPath: Attack = {
  name: "longest-path",
  what: "a sold path of 12,000 characters is asked for and paid",
  expected: "served: the offer names a shorter one, so that a payer's repetition of it fits the headers",
  targets: ["pontage"],
  mutation: [
    {
      module: "core/src/wire/x402/X402v2Seller",
      piece: "url.length > most ? shortened(url, most) : url",
      instead: "url.length > most ? url : url"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const shapes = yield* open(stage, ["whatever path"])
    const { amount, response } = yield* payRawly(stage, urlOf(shapes, "whatever path"), `/files/${"a".repeat(12_000)}`)
    const isServed = statusOf(response) === "200" && response.includes("goods")
    return {
      held: isServed && amount > 0n,
      seen: `${statusOf(response)} for ${amount} units`,
      attackerCost: "nothing",
      targetCost: isServed ? "nothing" : "a sale"
    }
  })
}

interface SecondReply {
  readonly status: number
  readonly offer: HostileWallet.Offer | undefined
  readonly read: number
}

/** Requests over HTTP/2 and resets the stream after `bytes` bytes. */
const secondly = (
  session: ClientHttp2Session,
  path: string,
  headers: HostileWallet.PayingHeaders,
  bytes = Number.POSITIVE_INFINITY
): Effect.Effect<SecondReply> =>
  Effect.callback<SecondReply>((resume) => {
    let status = 0
    let read = 0
    let offer: HostileWallet.Offer | undefined
    const stream = session.request({ ":path": path, ...headers })
    stream.on("error", () => undefined)
    stream.on("response", (fields) => {
      status = fields[":status"] ?? 0
      const required = fields["payment-required"]
      if (typeof required === "string") offer = HostileCall.offerIn(`payment-required: ${required}`)
    })
    stream.on("data", (chunk: Buffer) => {
      read += chunk.length
      if (read >= bytes) stream.close(constants.NGHTTP2_CANCEL)
    })
    stream.on("close", () => resume(Effect.succeed({ status, offer, read })))
  })

const pieceBytes = 8_192
const wholeBytes = 40 * pieceBytes

const resetStreams: Attack = {
  name: "reset-stream",
  what: "the response of one payment over HTTP/2 is reset after 39 of its 40 pieces, five times",
  expected: "a response counts as served once this part of it has left: the payment opens no other",
  targets: ["pontage"],
  mutation: [
    {
      module: "core/src/server/http/ResponseWatch",
      piece: "hasBegun() && read() >= bytesToDeliver(response)",
      instead: "read() < 0"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const shapes = yield* open(stage, ["HTTP/2"])
    const session = yield* Effect.acquireRelease(
      Effect.sync(() => connect(urlOf(shapes, "HTTP/2")).on("error", () => undefined)),
      (opened) => Effect.sync(() => opened.destroy())
    )
    const { offer } = yield* secondly(session, "/stream", {})
    if (offer === undefined) return yield* Effect.die(new Error("nothing is offered over HTTP/2"))
    const wallet = yield* stage.wallet(BigInt(offer.amount))
    const headers = HostileWallet.inX402(yield* Effect.promise(() => wallet.sign(offer)), offer)
    const replies: Array<SecondReply> = []
    for (let round = 0; round < 5; round++) {
      replies.push(yield* secondly(session, "/stream", headers, 39 * pieceBytes))
    }
    // The end of the first run takes a moment to get on record.
    for (let round = 0; round < 240 && replies.at(-1)?.status === 503; round++) {
      yield* Effect.sleep("250 millis")
      replies.push(yield* secondly(session, "/stream", headers, 39 * pieceBytes))
    }
    const all = replies.reduce((sum, { read, status }) => (status === 200 ? sum + read : sum), 0)
    return {
      held: replies[0]?.status === 200 && all <= wholeBytes && replies.at(-1)?.status === 409,
      seen: `${replies.map(({ status }) => status).join(", ")}: ${all} bytes of ${wholeBytes} were handed out`,
      attackerCost: `${offer.amount} units`,
      targetCost: `${all} bytes`
    }
  })
}

export const attacks: ReadonlyArray<Attack> = [
  aroundTheGate,
  halfSold,
  rewrittenMethod,
  tierByCase,
  badPrice,
  longestPath,
  resetStreams
]
