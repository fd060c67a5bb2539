/**
 * The connections to the chains. A chain whose node does not respond holds up no other: the service starts without it, names it
 * as not ready, and tries it again until it responds.
 */
import { type ChainUnavailable, type FacilitatorScheme, Misconfigured, type SchemeFacilitator } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"

import type { ClaimTerms } from "../settings/ChannelSettings.ts"

/** A chain of the settings, before its node has responded. */
export interface ConfiguredChain {
  /** The name of the scheme, such as `exact`. */
  readonly scheme: string
  /** Its network; the family alone (`eip155`) where only the node can tell the network. */
  readonly network: string
  /** The node's address without its path, its query and its credentials, which may hold keys. */
  readonly node: string
  readonly connect: FacilitatorScheme
  /** When payment channels are claimed there; absent where the scheme has none. */
  readonly claims?: ClaimTerms
}

/** A chain that the service runs without. */
export interface MissingChain extends ConfiguredChain {
  /** The reason, as the rest of a sentence that begins with the node: `does not respond (...)`. */
  readonly problem: string
}

/** The chains of one start. */
export interface Connections {
  readonly schemes: ReadonlyArray<SchemeFacilitator>
  readonly missing: ReadonlyArray<MissingChain>
  /** When payment channels are claimed, by network. */
  readonly claims: ReadonlyMap<string, ClaimTerms>
}

/** Four attempts within two seconds: a node that starts together with the service is often there by then. */
const patience = Schedule.max([Schedule.spaced("500 millis"), Schedule.recurs(3)])
/** Longest time of a start that a node may take which accepts a connection and says nothing. */
const longest = "5 seconds"

/** Pauses between attempts while the service runs. */
const pauses = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("15 seconds")])
/** Longest time of such an attempt, which holds up nothing. */
const longestLater = "20 seconds"

const unresponsive = (why: string) => `does not respond (${why})`
type Limit = typeof longest | typeof longestLater
const silentFor = (limit: Limit) => unresponsive(`it did not respond within ${limit}`)

/**
 * Connects to all chains at once. A chain that contradicts the settings fails the start with `Misconfigured`; one that does not
 * answer is missing.
 */
export const open = (chains: ReadonlyArray<ConfiguredChain>): Effect.Effect<Connections, Misconfigured, Scope.Scope> =>
  Effect.map(
    Effect.forEach(chains, (chain) => opened(chain, longest), { concurrency: "unbounded" }),
    together
  )

/**
 * The same for a service that runs, to replace its connections. A chain that contradicts the settings now is missing, too: the
 * settings were right once, and the other chains have payments to settle. A node has as long as an attempt of `firstBack` gives
 * it, or else a slow one that `firstBack` finds would be missing again. Those of the chains in `still` hold up the others no
 * longer than at a start.
 */
export const openAgain = (
  chains: ReadonlyArray<ConfiguredChain>,
  still: ReadonlyArray<ConfiguredChain>
): Effect.Effect<Connections, never, Scope.Scope> =>
  Effect.map(
    Effect.forEach(
      chains,
      (chain) =>
        Effect.catch(opened(chain, isIn(still, chain) ? longest : longestLater), ({ message }) =>
          Effect.succeed(without({ ...chain, problem: `is of no use (${message})` }))
        ),
      { concurrency: "unbounded" }
    ),
    together
  )

/** Whether the list has this chain, with or without the reason why it is missing. */
export const isIn = (chains: ReadonlyArray<ConfiguredChain>, { connect }: ConfiguredChain): boolean =>
  chains.some((one) => one.connect === connect)

const together = (all: ReadonlyArray<Connections>): Connections => ({
  schemes: all.flatMap(({ schemes }) => schemes),
  missing: all.flatMap(({ missing }) => missing),
  claims: new Map(all.flatMap(({ claims }) => [...claims]))
})

const without = (chain: MissingChain): Connections => ({ schemes: [], missing: [chain], claims: new Map() })

const opened = (chain: ConfiguredChain, limit: Limit): Effect.Effect<Connections, Misconfigured, Scope.Scope> =>
  Effect.map(
    tried(chain, limit),
    Result.match({
      onFailure: without,
      onSuccess: (scheme) => ({
        schemes: [scheme],
        missing: [],
        claims: new Map(chain.claims === undefined ? [] : [[scheme.network, chain.claims]])
      })
    })
  )

const tried = (
  chain: ConfiguredChain,
  limit: Limit
): Effect.Effect<Result.Result<SchemeFacilitator, MissingChain>, Misconfigured, Scope.Scope> =>
  Effect.retry(chain.connect, { schedule: patience, while: isUnavailable }).pipe(
    Effect.timeoutOption(limit),
    Effect.map(
      Option.match({
        onNone: () => Result.fail({ ...chain, problem: silentFor(limit) }),
        onSome: (scheme) => Result.succeed(scheme)
      })
    ),
    Effect.catchTag("ChainUnavailable", ({ message }) =>
      Effect.succeed(Result.fail({ ...chain, problem: unresponsive(message) }))
    )
  )

const isUnavailable = ({ _tag }: ChainUnavailable | Misconfigured): boolean => _tag === "ChainUnavailable"

/** Completes with the first of the missing chains that responds, and agrees with the settings. Never fails. */
export const firstBack = (missing: ReadonlyArray<MissingChain>): Effect.Effect<ConfiguredChain> =>
  missing.length === 0 ? Effect.never : Effect.raceAllFirst(missing.map(back))

const back = (chain: MissingChain): Effect.Effect<ConfiguredChain> => {
  const attempt = Effect.scoped(Effect.timeoutOption(chain.connect, longestLater)).pipe(
    Effect.flatMap(
      Option.match({ onNone: () => Effect.fail(silentFor(longestLater)), onSome: () => Effect.succeed(chain) })
    ),
    Effect.tapError((error) =>
      error instanceof Misconfigured
        ? Effect.logError(`the node ${chain.node} responds, and is not of use: ${error.message}`)
        : Effect.void
    )
  )
  return Effect.orDie(Effect.retry(attempt, pauses))
}
