/**
 * Checks that a shop's offers on one network can be paid: the facilitator settles this scheme there, and the chain has
 * the expected assets. The check runs in the background from the start and is repeated until it gets a response; until
 * then nothing is sold, because nothing fails open.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import type * as Schema from "effect/Schema"

import type { Facilitator } from "../../facilitator/Facilitator.ts"
import type { Asset } from "../../protocol/Asset.ts"
import { namespace, type Network } from "../../protocol/Network.ts"
import { FacilitatorUnavailable, Misconfigured, type ProtocolError } from "../../protocol/ProtocolError.ts"
import type { Sellable, UnquotedNetwork } from "../../protocol/Supported.ts"
import type { OnwardQuote, SchemeServer } from "../../scheme/SchemeServer.ts"

/** One scheme on one network: `open` until it is proven, `wrong` once the chain or the facilitator contradicts. */
export interface NetworkReadiness {
  readonly schemeServer: SchemeServer
  readonly network: Network
  readonly assets: Map<string, Asset>
  /** The `extra` fields that the facilitator requires of offers here; empty before the check. */
  extra: Readonly<Record<string, Schema.Json>>
  /** The same with the scheme's own terms, by the asset's address; emptied whenever `extra` changes. */
  readonly extraByAsset: Map<string, Readonly<Record<string, Schema.Json>>>
  /** The facilitator's quotes of payments that go on to other networks. */
  readonly quotes: Quotes
  state: "open" | "proven" | "wrong"
  /** Completes when all assets so far are proven; fails with the contradiction. */
  done: Deferred.Deferred<void, Misconfigured>
  /** Whether a check is running. */
  isRunning: boolean
}

/** One facilitator's quotes of a network. */
interface Quotes {
  /** The newest first, and those before it; empty before the check. */
  lists: ReadonlyArray<QuoteList>
  /** The networks that the facilitator cannot quote now. */
  unquoted: ReadonlyArray<UnquotedNetwork>
  /** Unix milliseconds: no request for newer ones before. */
  notBefore: number
}

type QuoteList = ReadonlyArray<OnwardQuote>

/** A check that has not started. */
export const make = (schemeServer: SchemeServer, network: Network): NetworkReadiness => ({
  schemeServer,
  network,
  assets: new Map(),
  extra: {},
  extraByAsset: new Map(),
  quotes: { lists: [], unquoted: [], notBefore: 0 },
  state: "open",
  done: Deferred.makeUnsafe(),
  isRunning: false
})

/** The `extra` fields of offers in an asset, beside the asset's own. */
export const extraOf = (self: NetworkReadiness, asset: Asset): Readonly<Record<string, Schema.Json>> => {
  const known = self.extraByAsset.get(asset.address)
  if (known !== undefined) return known
  const made = { ...self.extra, ...self.schemeServer.extra?.(asset, self.extra) }
  self.extraByAsset.set(asset.address, made)
  return made
}

/** The least time between two requests for newer quotes. */
const quotePauseMillis = 10_000

/**
 * Requests newer quotes, at most every ten seconds; `undefined` before it may. The request never fails: without a response the quotes at
 * hand stay.
 */
export const renew = (
  self: NetworkReadiness,
  facilitator: Facilitator["Service"],
  now: number
): Effect.Effect<void> | undefined => {
  if (now < self.quotes.notBefore) return undefined
  self.quotes.notBefore = now + quotePauseMillis
  return Effect.catch(
    Effect.map(facilitator.supported, ({ kinds }) => take(self, kindIn(self, kinds) ?? {})),
    ({ message }) => Effect.logWarning(`newer quotes on ${self.network} are not known: ${message}`)
  )
}

/** The most lists that are kept: a list that is over makes no offers any more. */
const mostLists = 32

const take = (
  { quotes }: NetworkReadiness,
  { quotes: newer = [], unquoted = [] }: Pick<Sellable["kinds"][number], "quotes" | "unquoted">
): void => {
  quotes.unquoted = unquoted
  const [newest, ...earlier] = quotes.lists
  if (JSON.stringify(newer) === JSON.stringify(newest)) return
  // An empty list is the present state, and no offer was made by it.
  const kept = newest === undefined || newest.length === 0 ? earlier : quotes.lists
  quotes.lists = [newer, ...kept].slice(0, mostLists)
}

const kindIn = ({ network, schemeServer: { scheme } }: NetworkReadiness, kinds: Sellable["kinds"]) =>
  kinds.find((kind) => kind.scheme === scheme.name && scheme.network(kind.network) === network)

/** Adds an asset to the check; a new asset reopens a completed check. */
export const add = (self: NetworkReadiness, asset: Asset): void => {
  if (self.assets.has(asset.address)) return
  self.assets.set(asset.address, asset)
  if (self.state !== "proven") return
  self.state = "open"
  self.done = Deferred.makeUnsafe()
}

/** Runs the check until it is decided, one run at a time. It never fails: the result is in the state. */
export const run = Effect.fnUntraced(function* (self: NetworkReadiness, facilitator: Facilitator["Service"]) {
  if (self.isRunning || self.state !== "open") return
  self.isRunning = true
  yield* Effect.yieldNow
  const outcome = yield* Effect.result(runAll(self, facilitator))
  self.isRunning = false
  if (Result.isSuccess(outcome)) {
    self.state = "proven"
    yield* Deferred.succeed(self.done, undefined)
    return
  }
  self.state = "wrong"
  yield* Deferred.fail(self.done, outcome.failure)
  yield* Effect.logError(`payments on ${self.network} cannot be sold: ${outcome.failure.message}`)
})

/** Repeats the check for assets of routes that were made while it ran. */
const runAll = Effect.fnUntraced(function* (self: NetworkReadiness, facilitator: Facilitator["Service"]) {
  for (let proven = 0; proven < self.assets.size;) {
    proven = self.assets.size
    yield* runOnce(self, facilitator)
  }
})

const pauses = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])

const runOnce = (self: NetworkReadiness, facilitator: Facilitator["Service"]): Effect.Effect<void, Misconfigured> =>
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

const noLedger = (scheme: string, network: string): string =>
  `the facilitator keeps no ledger of payment channels, so nothing can be sold by "${scheme}" on ${network} through it. Take a facilitator service of Pontage that authorizes claims (PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY); or keep the ledger in the shop's process: facilitator: LocalFacilitator.layerMemory({ ... }) with a ChannelStore beside it; or take "${scheme}" out of the routes`

const settles = (
  self: NetworkReadiness,
  { kinds, pending = [] }: Sellable
): Effect.Effect<void, Misconfigured | FacilitatorUnavailable> => {
  const { schemeServer, network } = self
  const { name, network: canonical } = schemeServer.scheme
  const settled = kindIn(self, kinds)
  if (settled !== undefined && schemeServer.draws !== undefined && settled.draws !== true)
    return Effect.fail(new Misconfigured({ message: noLedger(name, network) }))
  if (settled?.obstacle !== undefined) return Effect.fail(new Misconfigured({ message: settled.obstacle }))
  if (settled !== undefined) {
    return Effect.sync(() => {
      self.extra = settled.extra ?? {}
      self.extraByAsset.clear()
      take(self, settled)
    })
  }
  if (pending.some((text) => text === network || text === namespace(network) || canonical(text) === network)) {
    const message = `the facilitator has no connection to ${network} yet`
    return Effect.fail(new FacilitatorUnavailable({ message }))
  }
  const offered = kinds.map((kind) => `${kind.scheme} on ${kind.network}`).join(", ")
  const message = `the facilitator does not settle "${name}" on ${network}; it settles ${offered === "" ? "nothing" : offered}. Add the network there, or take it out of the routes`
  return Effect.fail(new Misconfigured({ message }))
}
