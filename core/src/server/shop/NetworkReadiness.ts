/**
 * The proof that what a shop offers on one network can be paid: the facilitator settles this scheme there, and the chain
 * has the assets we think it has. Asked in the background from the start, again and again until somebody answers; until
 * then nothing is sold, because nothing fails open.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"

import type { Facilitator } from "../../facilitator/Facilitator.ts"
import type { Asset } from "../../protocol/Asset.ts"
import type { Network } from "../../protocol/Network.ts"
import { Misconfigured, type ProtocolError } from "../../protocol/ProtocolError.ts"
import type { Sellable } from "../../protocol/Supported.ts"
import type { SchemeServer } from "../../scheme/SchemeServer.ts"

/** One scheme on one network: `open` until it is proven, `wrong` once the chain or the facilitator contradicts. */
export interface NetworkReadiness {
  readonly schemeServer: SchemeServer
  readonly network: Network
  readonly assets: Map<string, Asset>
  /** What the facilitator demands of offers here, once it was asked. */
  extra: Readonly<Record<string, Schema.Json>>
  state: "open" | "proven" | "wrong"
  /** Completes when all assets so far are proven; fails with the contradiction. */
  done: Deferred.Deferred<void, Misconfigured>
  /** Whether somebody is asking now. */
  asking: boolean
}

/** A proof that nobody has asked for yet. */
export const make = (schemeServer: SchemeServer, network: Network): NetworkReadiness => ({
  schemeServer,
  network,
  assets: new Map(),
  extra: {},
  state: "open",
  done: Deferred.makeUnsafe(),
  asking: false
})

/** Adds an asset to what has to be proven; a new one opens a proof that was done. */
export const add = (self: NetworkReadiness, asset: Asset): void => {
  if (self.assets.has(asset.address)) return
  self.assets.set(asset.address, asset)
  if (self.state !== "proven") return
  self.state = "open"
  self.done = Deferred.makeUnsafe()
}

/** Asks until the proof is done, one asker at a time. It never fails: the outcome is in the proof. */
export const ask = Effect.fnUntraced(function* (self: NetworkReadiness, facilitator: Facilitator["Service"]) {
  if (self.asking || self.state !== "open") return
  self.asking = true
  yield* Effect.yieldNow
  const outcome = yield* Effect.result(askAll(self, facilitator))
  self.asking = false
  if (Result.isSuccess(outcome)) {
    self.state = "proven"
    yield* Deferred.succeed(self.done, undefined)
    return
  }
  self.state = "wrong"
  yield* Deferred.fail(self.done, outcome.failure)
  yield* Effect.logError(`payments on ${self.network} cannot be sold: ${outcome.failure.message}`)
})

/** Routes that are made while the chain is being asked bring new assets: then it is asked once more. */
const askAll = Effect.fnUntraced(function* (self: NetworkReadiness, facilitator: Facilitator["Service"]) {
  for (let proven = 0; proven < self.assets.size;) {
    proven = self.assets.size
    yield* askOnce(self, facilitator)
  }
})

const pauses = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])

const askOnce = (self: NetworkReadiness, facilitator: Facilitator["Service"]): Effect.Effect<void, Misconfigured> =>
  Effect.flatMap(facilitator.supported, (supported) => settles(self, supported)).pipe(
    Effect.andThen(Effect.suspend(() => self.schemeServer.prove(self.network, [...self.assets.values()]))),
    Effect.tapError((error) =>
      error._tag === "Misconfigured"
        ? Effect.void
        : Effect.logWarning(`payments on ${self.network} are not sold yet: ${error.message}`)
    ),
    Effect.retry({ schedule: pauses, while: (error) => error._tag !== "Misconfigured" }),
    Effect.mapError((error: ProtocolError) =>
      error._tag === "Misconfigured" ? error : new Misconfigured({ message: error.message })
    )
  )

const settles = (self: NetworkReadiness, { kinds }: Sellable): Effect.Effect<void, Misconfigured> => {
  const { schemeServer, network } = self
  const { name, network: canonical } = schemeServer.scheme
  const settled = kinds.find((kind) => kind.scheme === name && canonical(kind.network) === network)
  if (settled?.obstacle !== undefined) return Effect.fail(new Misconfigured({ message: settled.obstacle }))
  if (settled !== undefined) return Effect.sync(() => void (self.extra = settled.extra ?? {}))
  const offered = kinds.map((kind) => `${kind.scheme} on ${kind.network}`).join(", ")
  const message = `the facilitator does not settle "${name}" on ${network}; it settles ${offered === "" ? "nothing" : offered}. Add the network there, or take it out of the routes`
  return Effect.fail(new Misconfigured({ message }))
}
