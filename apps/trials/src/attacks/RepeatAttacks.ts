/**
 * Attacks with one payment shown again: by many at once, by a stranger who has rebuilt it from the chain, and by a buyer who
 * cuts the response off before its end.
 */
import { request } from "node:http"

import * as Effect from "effect/Effect"
import type { Hex } from "viem"

import type { Attack } from "./Attack.ts"
import * as HostileCall from "./hostile/HostileCall.ts"
import * as HostileWallet from "./hostile/HostileWallet.ts"
import type { AttackStage } from "./stage/AttackStage.ts"

/** A wallet that can pay this once, and the payment. */
const bought = Effect.fnUntraced(function* (stage: AttackStage, url: string) {
  const offer = yield* HostileCall.offerAt(url)
  const wallet = yield* stage.wallet(BigInt(offer.amount))
  const signed = yield* Effect.promise(() => wallet.sign(offer))
  return { offer, wallet, signed }
})

const copies: Attack = {
  name: "copies-at-once",
  what: "200 copies of one payment arrive at once",
  expected: "one is served, one transfer",
  targets: ["pontage", "x402"],
  mutation: [
    {
      module: "core/src/facilitator/store/Execution",
      piece: 'return ["held", self]',
      instead: 'return ["granted", self]'
    },
    {
      module: "core/src/facilitator/local/PaymentIntake",
      piece: "arrival !== undefined && claim !== undefined && !isArrivingAs(claim, arrival.claimId)",
      instead: "arrival !== undefined && claim !== undefined && arrival.claimId === 0"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const shop = yield* stage.usualShop
    const url = `${shop.url}/report`
    const { offer, signed, wallet } = yield* bought(stage, url)
    const headers = HostileWallet.inX402(signed, offer)
    const replies = yield* Effect.forEach(Array.from({ length: 200 }), () => HostileCall.send(url, { headers }), {
      concurrency: "unbounded"
    })
    const served = replies.filter(HostileCall.isServed).length
    const transfers = (yield* stage.chain.spent(wallet.address)).length
    return {
      held: served === 1 && transfers === 1,
      seen: `${served} served, ${transfers} transfers`,
      attackerCost: `${offer.amount} units`,
      targetCost: `${served - 1} runs`
    }
  })
}

/** A word of call data, 64 hexadecimal digits. */
const wordOf = (input: string, index: number): string => input.slice(10 + 64 * index, 74 + 64 * index)

/** Where a signature begins that is passed as bytes, counted from the arguments: behind seven words. */
const bytesOffset = 7 * 32

const signatureIn = (input: string): Hex => {
  if (Number(`0x${wordOf(input, 6)}`) === bytesOffset) return `0x${input.slice(10 + 64 * 8, 10 + 64 * 8 + 130)}`
  return `0x${wordOf(input, 7)}${wordOf(input, 8)}${wordOf(input, 6).slice(-2)}`
}

/** The payment of a wallet as everybody finds it in the call of the token that settled it. */
const rebuilt = Effect.fnUntraced(function* (stage: AttackStage, payer: Hex) {
  const [transfer] = yield* stage.chain.spent(payer)
  if (transfer === undefined) return undefined
  const { input } = yield* Effect.promise(() =>
    stage.chain.node.client.getTransaction({ hash: transfer.transactionHash })
  )
  const numberAt = (index: number) => `${BigInt(`0x${wordOf(input, index)}`)}`
  const authorization = {
    from: transfer.from,
    to: transfer.to,
    value: numberAt(2),
    validAfter: numberAt(3),
    validBefore: numberAt(4),
    nonce: `0x${wordOf(input, 5)}` as const
  }
  return { signature: signatureIn(input), authorization } satisfies HostileWallet.Signed
})

const stranger: Attack = {
  name: "rebuilt-from-the-chain",
  what: "a buyer's connection breaks while it pays; a stranger rebuilds the payment from its transaction and shows it first",
  expected: "the stranger is refused, the buyer is served when it repeats",
  targets: ["pontage", "x402"],
  mutation: [
    {
      module: "core/src/facilitator/store/Presentation",
      piece: "RetryToken.of(requirements.extra) === RetryToken.of(known.requirements.extra)",
      instead: "RetryToken.of(requirements.extra) !== known"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const shop = yield* stage.usualShop
    const url = `${shop.url}/report`
    const { offer, signed, wallet } = yield* bought(stage, url)
    const { client } = stage.chain.node
    yield* Effect.promise(() => client.setAutomine(false))
    yield* HostileCall.cut(url, HostileWallet.inX402(signed, offer), { afterMillis: 1_500 })
    yield* Effect.promise(() => client.setAutomine(true))
    yield* Effect.promise(() => client.mine({ blocks: 1 }))
    const copy = yield* rebuilt(stage, wallet.address)
    if (copy === undefined) {
      return { held: stage.target === "x402", seen: "nothing was settled for the buyer that went away" }
    }
    const theirs = yield* HostileCall.offerAt(url)
    const taken = yield* HostileCall.patiently(url, HostileWallet.inX402(copy, theirs))
    const stripped = yield* HostileCall.patiently(
      url,
      HostileWallet.inX402(copy, { ...theirs, extra: { ...theirs.extra, retryToken: undefined } })
    )
    const own = yield* HostileCall.patiently(url, HostileWallet.inX402(signed, offer))
    const isTaken = [taken, stripped].some(HostileCall.isServed)
    return {
      held: !isTaken && HostileCall.isServed(own),
      seen: `the stranger ${taken.status} and ${stripped.status}, the buyer ${own.status}`,
      attackerCost: "nothing",
      targetCost: isTaken ? "another buyer's run" : "nothing"
    }
  })
}

/** Reads `bytes` bytes of a paid response and hangs up. */
const partly = (url: string, headers: HostileWallet.PayingHeaders, bytes: number): Effect.Effect<number> =>
  Effect.callback<number>((resume) => {
    let read = 0
    const outgoing = request(url, { headers, agent: false })
    outgoing.on("error", () => undefined)
    outgoing.on("close", () => resume(Effect.succeed(read)))
    outgoing.on("response", (response) => {
      response.on("error", () => undefined)
      response.on("data", (chunk: Buffer) => {
        if (response.statusCode === 200) read += chunk.length
        if (read >= bytes) outgoing.destroy()
      })
    })
    outgoing.end()
  })

const pieceBytes = 8_192
const wholeBytes = 40 * pieceBytes

const cutStreams: Attack = {
  name: "cut-stream",
  what: "the response of one payment is cut off after 39 of its 40 pieces, five times",
  expected: "a response counts as served once this part of it has left: the payment opens no other",
  targets: ["pontage", "x402"],
  mutation: [
    {
      module: "core/src/server/http/ResponseWatch",
      piece: "hasBegun() && read() >= bytesToDeliver(response)",
      instead: "read() < 0"
    }
  ],
  run: Effect.fnUntraced(function* (stage) {
    const shop = yield* stage.usualShop
    const url = `${shop.url}/stream`
    const { offer, signed } = yield* bought(stage, url)
    const headers = HostileWallet.inX402(signed, offer)
    let read = 0
    for (let round = 0; round < 5; round++) read += yield* partly(url, headers, 39 * pieceBytes)
    const last = yield* HostileCall.patiently(url, headers)
    const all = read + (HostileCall.isServed(last) ? last.text.length : 0)
    return {
      held: read > 0 && all <= wholeBytes,
      seen: `${all} bytes of ${wholeBytes} were handed out, the last response ${last.status}`,
      attackerCost: `${offer.amount} units`,
      targetCost: `${all} bytes`
    }
  })
}

export const attacks: ReadonlyArray<Attack> = [copies, stranger, cutStreams]
