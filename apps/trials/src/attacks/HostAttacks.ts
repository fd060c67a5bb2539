/**
 * Attacks on a shop's host: request targets that parsers read in different ways, and caches that keep what one payer has
 * paid for.
 */
import * as Effect from "effect/Effect"

import type { Attack } from "./Attack.ts"
import * as HostileCall from "./hostile/HostileCall.ts"
import * as HostileWallet from "./hostile/HostileWallet.ts"
import { rawly } from "./hostile/RawRequest.ts"

const statusOf = (response: string): string => response.slice(9, 12)

/** A large image, written so that a parser may take it for a small one. */
const large = [
  "/image?size=large#",
  "/image#?size=small&size=large",
  "/image??size=small&size=large",
  "/image?size=small&size=large"
]

const otherQuery: Attack = {
  name: "another-query",
  what: "a large image is asked for by targets with fragments, second question marks and doubled keys, at a small one's price",
  expected: "no large image for the price of a small one",
  targets: ["pontage", "x402"],
  mutation: [
    {
      module: "core/src/server/http/RequestTarget",
      piece: 'target.includes("#") || /^[^?]*\\?\\?/.test(target)',
      instead: "target === undefined"
    },
    {
      module: "core/src/server/host/NodeRequest",
      piece: "const { query } = this.#host",
      instead: 'const query = Object.fromEntries(new URLSearchParams(this.target.replace(/^[^?]*[?]/, "")))'
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const shop = yield* stage.usualShop
    const { host } = new URL(shop.url)
    const small = yield* HostileCall.offerAt(`${shop.url}/image?size=small`)
    const answers = yield* Effect.forEach(large, (target) =>
      Effect.gen(function* () {
        const unpaid = yield* rawly(shop.url, { target, headers: { host } })
        const offered = HostileCall.offerIn(unpaid)
        if (offered === undefined || BigInt(offered.amount) > BigInt(small.amount)) return unpaid
        const wallet = yield* stage.wallet(BigInt(offered.amount))
        const signed = yield* Effect.promise(() => wallet.sign(offered))
        return yield* rawly(shop.url, { target, headers: { host, ...HostileWallet.inX402(signed, offered) } })
      })
    )
    const taken = answers.filter((answer) => answer.includes("large image")).length
    return {
      held: taken === 0 && answers.every((answer) => ["200", "400", "402"].includes(statusOf(answer))),
      seen: `${answers.map(statusOf).join(", ")}: ${taken} large images`,
      attackerCost: `${small.amount} units each`,
      targetCost: taken === 0 ? "nothing" : `${taken} large images`
    }
  })
}

/** Headers that a shared cache obeys. */
const cacheHeaders = ["cache-control", "cdn-cache-control", "surrogate-control", "expires"]

const sharedCache: Attack = {
  name: "shared-cache",
  what: "a handler's own headers invite every cache on the way to keep the paid response for all",
  expected: "the paid response is private in each of them",
  targets: ["pontage", "x402"],
  mutation: [
    {
      module: "core/src/server/http/ResponseHeaders",
      piece: 'isStrict(fields["Cache-Control"] ?? "")',
      instead: 'isStrict("")'
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const shop = yield* stage.usualShop
    const url = `${shop.url}/cached`
    const offer = yield* HostileCall.offerAt(url)
    const wallet = yield* stage.wallet(BigInt(offer.amount))
    const signed = yield* Effect.promise(() => wallet.sign(offer))
    const reply = yield* HostileCall.send(url, { headers: HostileWallet.inX402(signed, offer) })
    const said = cacheHeaders.flatMap((name) => {
      const value = reply.headers.get(name)
      return value === null ? [] : [`${name}: ${value}`]
    })
    const open = said.filter((one) => /public|max-age=[1-9]|expires: .*20\d\d/.test(one))
    return {
      held: HostileCall.isServed(reply) && open.length === 0,
      seen: said.join("; "),
      attackerCost: "nothing",
      targetCost: open.length === 0 ? "nothing" : "the goods, for whoever asks the cache"
    }
  })
}

export const attacks: ReadonlyArray<Attack> = [otherQuery, sharedCache]
