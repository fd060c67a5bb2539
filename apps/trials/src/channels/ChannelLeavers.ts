/**
 * Buyers that withdraw their channels' money while they go on buying: each begins a withdrawal of all that is not claimed, and takes the
 * money in the first block in which the contract lets it.
 */
import { channelEvm, exactEvm } from "@pontage/evm"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { encodeAbiParameters, type Hex, keccak256 } from "viem"

import { Quantity } from "../world/ChainRpc.ts"
import type { TrialRandom } from "../world/TrialRandom.ts"
import type { TrialWorld } from "../world/TrialWorld.ts"
import type { ChannelBuyer } from "./ChannelBuyers.ts"
import { contract } from "./ChannelWitness.ts"

/** The leavers among the buyers of a shop. */
export interface ChannelLeavers {
  readonly counts: { begun: number; paid: number }
  /** After a round of calls: one buyer in five begins to leave, if it does not do so already. */
  readonly perhaps: (buyer: ChannelBuyer, luck: TrialRandom) => Effect.Effect<void>
  /** Waits for the withdrawals that have begun, and then has every buyer leave. */
  readonly all: (buyers: ReadonlyArray<ChannelBuyer>) => Effect.Effect<void>
}

/** Begins without a withdrawal. Withdrawals end after this number of seconds of the chain. */
export const make = Effect.fnUntraced(function* (
  world: TrialWorld,
  shop: string,
  delaySeconds: number
): Effect.fn.Return<ChannelLeavers, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const counts = { begun: 0, paid: 0 }
  const leaving = new Map<ChannelBuyer, Fiber.Fiber<void>>()
  const leaver: Leaver = { world, shop, delaySeconds, counts }
  return {
    counts,
    perhaps: (buyer, luck) =>
      Effect.suspend(() => {
        if (leaving.has(buyer) || !luck.perMille(200)) return Effect.void
        const left = Effect.ensuring(
          leave(leaver, buyer),
          Effect.sync(() => leaving.delete(buyer))
        )
        return Effect.map(Effect.forkIn(left, scope), (fiber) => void leaving.set(buyer, fiber))
      }),
    all: Effect.fnUntraced(function* (buyers) {
      yield* Fiber.joinAll(leaving.values())
      yield* Effect.forEach(buyers, (buyer) => leave(leaver, buyer), { concurrency: "unbounded", discard: true })
    })
  }
})

interface Leaver {
  readonly world: TrialWorld
  readonly shop: string
  readonly delaySeconds: number
  readonly counts: ChannelLeavers["counts"]
}

/** Pause between two steps, in milliseconds. */
const pause = 250

/** A withdrawal from its begin to its end. A refused step is tried again: a claim may have come between. */
const leave = Effect.fnUntraced(function* (leaver: Leaver, buyer: ChannelBuyer): Effect.fn.Return<void> {
  const { chain } = leaver.world
  const channel = yield* termsOf(leaver.shop, buyer)
  if (channel === undefined) return
  yield* chain.setBalance(buyer.payer, 10n ** 21n)
  const signer = exactEvm.localSigner(buyer.privateKey)
  let isShort = false
  while (true) {
    const step = yield* Effect.option(channelEvm.withdraw({ rpcUrl: chain.rpcUrl, channel, signer }))
    const tag = Option.isSome(step) ? step.value._tag : "Refused"
    if (tag === "Paid") leaver.counts.paid++
    if (tag === "Paid" || tag === "Nothing") return
    if ((tag === "Begun" || tag === "Waiting") && !isShort) {
      isShort = true
      leaver.counts.begun++
      yield* shorten(leaver, buyer, channel.withdrawDelay)
    }
    yield* Effect.sleep(pause)
  }
})

const Books = Schema.fromJsonString(
  Schema.Struct({
    config: Schema.Struct({
      payer: Schema.String,
      payerAuthorizer: Schema.String,
      receiver: Schema.String,
      receiverAuthorizer: Schema.String,
      token: Schema.String,
      withdrawDelay: Schema.Int,
      salt: Schema.TemplateLiteral(["0x", Schema.String])
    })
  })
)
const decodeBooks = Schema.decodeUnknownOption(Books)

/** The terms of a buyer's channel as the shop's ledger has them; `undefined` before the channel's first draw. */
const termsOf = Effect.fnUntraced(function* (shop: string, buyer: ChannelBuyer) {
  const channelId = buyer.signed()?.channelId
  if (channelId === undefined) return undefined
  while (true) {
    const text = yield* Effect.promise(() => bodyOf(`${shop}/books/${channelId}`))
    if (text !== undefined) return Option.getOrUndefined(decodeBooks(text))?.config
    yield* Effect.sleep(pause)
  }
})

/** The text of a response; `undefined` while the shop does not listen. */
const bodyOf = (url: string): Promise<string | undefined> =>
  fetch(url).then(
    (response) => response.text(),
    () => undefined
  )

/** The place of the contract's pending withdrawals among its stored words. */
const withdrawalsSlot = 1n
/** A stored withdrawal has the amount in its lowest bits, and above it the second of its begin. */
const beginShift = 128n

/**
 * A withdrawal takes a day, and at least a quarter of an hour. The chain's record of its begin is set back, so that the trial sees its
 * end; nothing else on the chain changes.
 */
const shorten = Effect.fnUntraced(function* (
  { delaySeconds, world: { rpc } }: Leaver,
  buyer: ChannelBuyer,
  withdrawDelay: number
) {
  const channelId = buyer.signed()?.channelId
  if (channelId === undefined) return
  const id: Hex = `0x${channelId.slice(2)}`
  const place = keccak256(encodeAbiParameters([{ type: "bytes32" }, { type: "uint256" }], [id, withdrawalsSlot]))
  const stored = yield* rpc.ask(Quantity, "eth_getStorageAt", [contract, place, "latest"])
  const begun = stored - (BigInt(withdrawDelay - delaySeconds) << beginShift)
  yield* rpc.tell("anvil_setStorageAt", [contract, place, `0x${begun.toString(16).padStart(64, "0")}`])
})
