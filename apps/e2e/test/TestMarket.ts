/**
 * A chain and a facilitator behind HTTP, for tests of the whole flow. The facilitator's front can be taken down and put up
 * again, as when its process is being replaced, while what it remembers stays.
 */
import {
  LocalFacilitator,
  type Facilitator,
  type FacilitatorScheme,
  type FacilitatorSchemeRegistry,
  type PaymentStore
} from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { EvmTestChain } from "@pontage/evm/testing"
import * as FacilitatorService from "@pontage/facilitator"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"

/** Common parts of both shops in these tests. */
export const secret = "a secret of at least thirty-two characters"

/** A facilitator behind its front. */
export interface Counter {
  /** Where the facilitator listens. */
  readonly facilitator: string
  /** Cuts the facilitator off from everybody, in the middle of whatever it is doing; what it remembers stays. */
  readonly takeDown: Effect.Effect<void>
  /** Puts it up again on the same port. */
  readonly putUp: Effect.Effect<void>
}

/** An EVM chain, and a facilitator that settles on it. */
export interface TestMarket extends Counter {
  readonly chain: EvmTestChain.Shape
  /** Options of every shop of this market. */
  readonly told: {
    readonly facilitator: string
    readonly payTo: string
    readonly rpcUrl: string
    readonly secret: string
  }
}

/** Opens a market with this number of payers. */
export const make = Effect.fnUntraced(function* (payers: number) {
  const chain = yield* EvmTestChain.make({ payers })
  return yield* around(chain, chain.rpcUrl)
})

/** Opens a market on a chain whose facilitator sends its requests to `rpcUrl`, with this timeout. */
export const around = Effect.fnUntraced(function* (
  chain: EvmTestChain.Shape,
  rpcUrl: string,
  rpcTimeoutMillis: number = 10_000
) {
  const scheme = exactEvm.facilitator({ signer: chain.accounts.signers[0], rpcUrl, rpcTimeoutMillis })
  const counter = yield* settling([scheme])
  const { facilitator } = counter
  const told = { facilitator, payTo: chain.accounts.payee.address, rpcUrl: chain.rpcUrl, secret }
  return { ...counter, chain, told } satisfies TestMarket
})

/** Puts up a facilitator that settles by these schemes. */
export const settling = Effect.fnUntraced(function* (
  schemes: ReadonlyArray<FacilitatorScheme>,
  options: LocalFacilitator.Options = {}
) {
  const memory = yield* Layer.build(LocalFacilitator.layerMemory({ schemes, drainMillis: 0, ...options }))
  const front = yield* Effect.acquireRelease(open(memory, 0), ({ close }) => close)
  let current = front
  yield* Effect.addFinalizer(() => Effect.suspend(() => current.close))
  const counter: Counter = {
    facilitator: front.url,
    takeDown: Effect.suspend(() => current.close),
    putUp: Effect.gen(function* () {
      current = yield* open(memory, front.port)
    })
  }
  return counter
})

const open = Effect.fnUntraced(function* (
  memory: Context.Context<
    Facilitator | FacilitatorSchemeRegistry.FacilitatorSchemeRegistry | PaymentStore.PaymentStore
  >,
  port: number
) {
  const scope = yield* Scope.make()
  const running = yield* FacilitatorService.serve({ port, stopTimeoutMillis: 1 }).pipe(
    Effect.provide(memory),
    Scope.provide(scope),
    Effect.orDie
  )
  return { ...running, close: Scope.close(scope, Exit.void) }
})

/** A market as long as a program runs. */
export const within = <A, E>(payers: number, use: (market: TestMarket) => Effect.Effect<A, E, Scope.Scope>) =>
  Effect.scoped(Effect.flatMap(make(payers), use))
