/**
 * Attacks that keep honest callers from being answered, and one by a page in a browser that is open on the facilitator's
 * machine.
 */
import { randomBytes } from "node:crypto"
import { request } from "node:http"
import { connect, type Socket } from "node:net"

import * as Effect from "effect/Effect"

import type { Attack } from "./Attack.ts"
import * as HostileCall from "./hostile/HostileCall.ts"
import * as HostileWallet from "./hostile/HostileWallet.ts"
import { rawly } from "./hostile/RawRequest.ts"
import type { AttackStage } from "./stage/AttackStage.ts"

const isRefused = (response: string) => /^HTTP\/1\.1 (?:403|415) /.test(response)
const lineOf = (response: string) => response.slice(9, 12)

const blindPost: Attack = {
  name: "blind-post",
  what: "a page in a browser posts to a facilitator without keys on the same machine, blindly or under a name of its own",
  expected: "403 or 415 for each form of it",
  targets: ["pontage"],
  mutation: [
    {
      module: "apps/facilitator/src/http/BrowserRequest",
      piece: "return message === undefined ? response",
      instead: "return message !== null ? response"
    },
    {
      module: "apps/facilitator/src/http/RequestBody",
      piece: "type !== undefined && jsonType.test(type) && !otherCharset.test(type)",
      instead: "type !== null"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const { url } = yield* stage.facilitator({ PONTAGE_CALLERS_FILE: undefined })
    const { host } = new URL(url)
    const body = JSON.stringify({ protocolVersion: 2 })
    const post = (headers: Readonly<Record<string, string>>) =>
      rawly(url, { target: "/settle", method: "POST", headers: { host, ...headers }, body })
    const json = { "content-type": "application/json" }
    const replies = yield* Effect.all([
      post({}),
      post({ "content-type": "text/plain" }),
      post({ "content-type": "application/x-www-form-urlencoded" }),
      post({ ...json, origin: "https://evil.example" }),
      post({ ...json, origin: "null" }),
      post({ ...json, "sec-fetch-site": "cross-site" }),
      post({ ...json, host: `evil.example:${new URL(url).port}` }),
      rawly(url, { target: "/payments", headers: { host: "evil.example" } })
    ])
    const own = yield* post(json)
    const taken = replies.filter((reply) => !isRefused(reply)).length
    return {
      held: taken === 0 && !isRefused(own),
      seen: `${replies.map(lineOf).join(", ")}; its own caller ${lineOf(own)}`,
      attackerCost: "nothing",
      targetCost: taken === 0 ? "nothing" : `${taken} requests were taken`
    }
  })
}

/** Opens a connection and says nothing. */
const silent = (url: string) =>
  Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const { hostname, port } = new URL(url)
      const socket = connect(Number(port), hostname)
      socket.on("error", () => undefined)
      socket.once("connect", () => resume(Effect.succeed(socket)))
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

const silentConnections: Attack = {
  name: "silent-connections",
  what: "300 connections that say nothing are opened to a facilitator that holds 100",
  expected: "silent ones give way, and an honest caller is answered at once",
  targets: ["pontage"],
  mutation: [
    {
      module: "apps/facilitator/src/http/ConnectionGuard",
      piece: "const victims = connectionsToClose(connections.values(), connection, now())",
      instead: "const victims = []"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const { url } = yield* stage.facilitator({ PONTAGE_MAX_CONNECTIONS: "100" })
    const sockets = yield* Effect.forEach(Array.from({ length: 300 }), () => silent(url))
    const answers = yield* Effect.forEach(Array.from({ length: 20 }), () =>
      Effect.match(
        Effect.catchDefect(HostileCall.send(`${url}/supported`), () => Effect.fail("cut")),
        {
          onSuccess: ({ status }) => status,
          onFailure: () => 0
        }
      )
    )
    const answered = answers.filter((status) => status === 200).length
    const open = sockets.filter(({ closed }) => !closed).length
    return {
      held: answered === 20 && open <= 100,
      seen: `${answered} of 20 honest requests answered, ${open} of 300 silent ones still open`,
      attackerCost: "300 connections",
      targetCost: `${20 - answered} requests`
    }
  })
}

/** The status of a request from another address of this machine; 0 where there was none. */
const fromElsewhere = (url: string, headers: HostileWallet.PayingHeaders): Effect.Effect<number> =>
  Effect.callback<number>((resume) => {
    const outgoing = request(url, { headers, agent: false, localAddress: "127.0.0.2" })
    outgoing.on("error", () => resume(Effect.succeed(0)))
    outgoing.on("response", (response) => {
      response.resume()
      resume(Effect.succeed(response.statusCode ?? 0))
    })
    outgoing.end()
  })

/** Payments that cost nothing to make: by turns signed by a wallet that has no token, and not signed by anybody. */
const badPayment = (offer: HostileWallet.Offer, turn: number) =>
  Effect.promise(async () => {
    const signed = await HostileWallet.make().sign(offer)
    const forged = { ...signed, signature: `0x${randomBytes(64).toString("hex")}1b` as const }
    return HostileWallet.inX402(turn % 2 === 0 ? signed : forged, offer)
  })

/** Buys once, without a second try. */
const honestBuyer = Effect.fnUntraced(function* (stage: AttackStage, url: string) {
  const offer = yield* HostileCall.offerAt(url)
  const wallet = yield* stage.wallet(BigInt(offer.amount))
  const signed = yield* Effect.promise(() => wallet.sign(offer))
  return yield* HostileCall.send(url, { headers: HostileWallet.inX402(signed, offer) })
})

const badPayments: Attack = {
  name: "bad-payment-flood",
  what: "a stranger shows a shop 40 bad payments a second, while 20 buyers buy one after another from another address",
  expected: "each buyer is served at its first try, no bad payment is",
  targets: ["pontage", "x402"],
  mutation: [
    {
      module: "core/src/server/shop/BuyerPlace",
      piece: 'address === undefined || address === ""',
      instead: "address !== null"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const facilitator = yield* stage.facilitator({ PONTAGE_RATE: "20/40" })
    const shop = yield* stage.shop(facilitator.url)
    const url = `${shop.url}/report`
    const offer = yield* HostileCall.offerAt(url)
    const bad: Array<number> = []
    const flood = Effect.gen(function* () {
      for (let turn = 0; ; turn++) {
        const headers = yield* badPayment(offer, turn)
        yield* Effect.forkScoped(Effect.map(fromElsewhere(url, headers), (status) => bad.push(status)))
        yield* Effect.sleep("25 millis")
      }
    })
    yield* Effect.forkScoped(flood)
    // Only a protection that stands in the way of a flood is tested by it.
    while (bad.length < 80) yield* Effect.sleep("50 millis")
    const buyers: Array<HostileCall.Reply> = []
    for (let index = 0; index < 20; index++) {
      buyers.push(yield* honestBuyer(stage, url))
      yield* Effect.sleep("100 millis")
    }
    const served = buyers.filter(HostileCall.isServed).length
    const refused = bad.filter((status) => [402, 429, 503].includes(status)).length
    return {
      held: served === 20 && refused === bad.length,
      seen: `${served} of 20 buyers served beside ${bad.length} bad payments, ${refused} of them refused`,
      attackerCost: "nothing",
      targetCost: `${20 - served} sales`
    }
  })
}

export const attacks: ReadonlyArray<Attack> = [blindPost, silentConnections, badPayments]
