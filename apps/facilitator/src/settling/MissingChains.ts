/**
 * A service that begins without the chains whose nodes do not respond, and begins again with each when it does. The new
 * connections are made while the service still runs, so it never ends for a chain that cannot be taken in.
 */
import type { Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

import * as ChainConnections from "./ChainConnections.ts"

/** Serves with these connections until its scope closes. Gets the result of the first time of service at each later one. */
export type Serve<A, E> = (
  connections: ChainConnections.Connections,
  first: A | undefined
) => Effect.Effect<A, E, Scope.Scope>

/** One time of service, and the chains that are missing in it. */
interface Service {
  readonly scope: Scope.Closeable
  readonly missing: ReadonlyArray<ChainConnections.MissingChain>
}

/** Pause after a chain was not taken in, since its node responded once and then did not: each attempt connects to all nodes. */
const pause = "15 seconds"

/** Connects to all chains and serves. Fails if the first time of service does; takes in what is missing as long as the scope lives. */
export const serve = Effect.fnUntraced(function* <A, E extends { readonly message: string }>(
  chains: ReadonlyArray<ChainConnections.ConfiguredChain>,
  serving: Serve<A, E>
): Effect.fn.Return<A, E | Misconfigured, Scope.Scope> {
  const life = yield* Effect.scope
  const begun = yield* inside(
    life,
    Effect.gen(function* () {
      const connections = yield* ChainConnections.open(chains)
      return { connections, first: yield* serving(connections, undefined) }
    })
  )
  const { connections, first } = begun.value
  const service = { scope: begun.scope, missing: connections.missing }
  yield* Effect.forkScoped(takeIn(life, chains, service, (made) => serving(made, first)))
  return first
})

const takeIn = Effect.fnUntraced(function* <E extends { readonly message: string }>(
  life: Scope.Scope,
  chains: ReadonlyArray<ChainConnections.ConfiguredChain>,
  begun: Service,
  serving: (connections: ChainConnections.Connections) => Effect.Effect<unknown, E, Scope.Scope>
): Effect.fn.Return<never> {
  let service = begun
  while (true) {
    const back = yield* ChainConnections.firstBack(service.missing)
    const others = service.missing.filter((chain) => !ChainConnections.isIn([back], chain))
    const made = yield* inside(life, ChainConnections.openAgain(chains, others))
    const lost = made.value.missing.find((chain) => ChainConnections.isIn([back], chain))
    if (lost !== undefined) {
      yield* Scope.close(made.scope, Exit.void)
      yield* Effect.logWarning(
        `the node ${lost.node} of ${lost.network} responded, and then ${lost.problem}; the facilitator goes on without it`
      )
      yield* Effect.sleep(pause)
      continue
    }
    yield* Effect.logInfo(`the node ${back.node} of ${back.network} responds now; the facilitator begins again with it`)
    yield* Scope.close(service.scope, Exit.void)
    const failed = Effect.tapError(inside(made.scope, serving(made.value)), ({ message }) =>
      Effect.logError(`the facilitator could not begin again: ${message}`)
    )
    yield* Effect.eventually(Effect.tapError(failed, () => Effect.sleep("1 second")))
    service = { scope: made.scope, missing: made.value.missing }
  }
})

/** Runs it in a scope of its own, which closes with the outer one, or at once if it fails. */
const inside = Effect.fnUntraced(function* <A, E>(outer: Scope.Scope, effect: Effect.Effect<A, E, Scope.Scope>) {
  const scope = yield* Scope.fork(outer)
  const value = yield* Effect.onError(Scope.provide(scope)(effect), (cause) =>
    Scope.close(scope, Exit.failCause(cause))
  )
  return { scope, value }
})
