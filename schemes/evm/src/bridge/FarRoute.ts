/**
 * The crossings to one other network of the settings. A node that does not answer at the start switches off the routes to its network
 * alone: it is tried again whenever they are needed, and they are served as soon as it answers.
 */
import { ChainUnavailable, type Misconfigured, type Network } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import type { BridgeCrossing, FarNetwork } from "./BridgeCrossing.ts"

/** The crossings to one other network. */
export interface FarRoute {
  readonly network: Network.Network
  /** The crossings, each proven; fails with the reason while they are switched off. */
  readonly crossings: Effect.Effect<ReadonlyArray<BridgeCrossing>, ChainUnavailable>
}

/** The time that a start waits for a node, which is shorter than the one that the whole chain has. */
const startWait = "3 seconds"
/** The time that a caller waits for an attempt, and the milliseconds between the beginnings of two. */
const callerWait = "1 second"
const pauseMillis = 5_000

type Found = ReadonlyArray<BridgeCrossing>

interface State<A> {
  found: A | undefined
  /** The failure of the last attempt. */
  failure: ChainUnavailable | Misconfigured | undefined
  /** Unix milliseconds: no attempt before. */
  notBefore: number
  attempt: Fiber.Fiber<void> | undefined
}

/**
 * Connects. Constants that a chain contradicts fail the start with `Misconfigured`, and so does a node that does not answer with
 * `ChainUnavailable` where only the node could tell its network.
 */
export const make = Effect.fnUntraced(function* (
  { network: name }: FarNetwork,
  find: Effect.Effect<Found, ChainUnavailable | Misconfigured>
): Effect.fn.Return<FarRoute | undefined, ChainUnavailable | Misconfigured> {
  const network = name === undefined ? undefined : EvmNetwork.fromText(name)
  if (network === undefined) {
    const found = yield* find
    const [first] = found
    return first && { network: first.chain.network, crossings: Effect.succeed(found) }
  }
  return { network, crossings: yield* whenever(network, find) }
})

/**
 * Makes the effect that gives a thing which another network's node is needed for, as soon as that node answers: it is tried now, and again
 * whenever it is needed. `Misconfigured` at once fails the start.
 */
export const whenever = <A>(
  network: Network.Network,
  find: Effect.Effect<A, ChainUnavailable | Misconfigured>
): Effect.Effect<Effect.Effect<A, ChainUnavailable>, Misconfigured> =>
  Effect.gen(function* () {
    const state: State<A> = { found: undefined, failure: undefined, notBefore: 0, attempt: undefined }
    const found = foundOf(network, state, find)
    yield* Effect.ignore(found(startWait))
    if (state.failure?._tag === "Misconfigured") return yield* state.failure
    return found(callerWait)
  })

const foundOf = <A>(
  network: Network.Network,
  state: State<A>,
  find: Effect.Effect<A, ChainUnavailable | Misconfigured>
) => {
  const attempt = Effect.match(find, {
    onSuccess: (found) => void (state.found = found),
    onFailure: (failure) => void (state.failure = failure)
  }).pipe(Effect.ensuring(Effect.sync(() => void (state.attempt = undefined))))
  return Effect.fnUntraced(function* (wait: typeof startWait | typeof callerWait) {
    if (state.found !== undefined) return state.found
    const now = yield* Clock.currentTimeMillis
    if (state.attempt === undefined && now >= state.notBefore) {
      state.notBefore = now + pauseMillis
      state.attempt = yield* Effect.forkDetach(
        Effect.andThen(
          attempt,
          Effect.suspend(() => logged(network, state))
        )
      )
    }
    if (state.attempt !== undefined) yield* Effect.raceFirst(Fiber.await(state.attempt), Effect.sleep(wait))
    if (state.found !== undefined) return state.found
    const { failure } = state
    const lack = failure?._tag === "Misconfigured" ? "misconfigured" : failure?.lack
    const message = reasonOf(network, state)
    return yield* new ChainUnavailable({ network, message, ...(lack !== undefined && { lack }) })
  })
}

const reasonOf = (network: Network.Network, { failure }: State<unknown>): string =>
  failure?.message ?? `The node of ${network} does not answer`

/** The service starts without these routes, so that the log alone says when they begin. */
const logged = (network: Network.Network, state: State<unknown>): Effect.Effect<void> =>
  state.found === undefined
    ? Effect.logWarning(`payments do not go on to ${network}: ${reasonOf(network, state)}`)
    : Effect.logInfo(`payments go on to ${network}`)
