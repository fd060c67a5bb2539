/**
 * Trade on the chains whose payments are not like those of EVM, TON and TRON, in one form: the tests of the whole flow ask
 * the same of both. A facilitator settles with little patience where a test says so, and is not waited for at its end.
 */
import type { FacilitatorScheme, SchemeClient } from "@pontage/core"
import { exactTon } from "@pontage/ton"
import { TonTestChain } from "@pontage/ton/testing"
import { exactTron } from "@pontage/tron"
import { TronTestChain } from "@pontage/tron/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import * as TestMarket from "./TestMarket.ts"
import type { Told } from "./TestShops.ts"

/** How a trade differs from the usual one. */
export interface Options {
  readonly payers?: number
  /** Milliseconds for which the facilitator waits for the chain before it responds without an outcome. */
  readonly settleTimeoutMillis?: number
}

/** A chain, a facilitator, what shops are told, and what the chain itself shows. */
export interface Trade<Chain> {
  readonly chain: Chain
  readonly told: Told
  readonly network: string
  /** The wallets of the payers. */
  readonly wallets: ReadonlyArray<SchemeClient>
  /** The amounts that have reached the seller, one for each transfer. */
  readonly received: Effect.Effect<ReadonlyArray<bigint>>
  /** Number of transactions that the facilitator has sent. */
  readonly sent: Effect.Effect<number>
  /** No blocks are made any more. */
  readonly halt: Effect.Effect<void>
  /** Blocks are made again; what waited for one gets it. */
  readonly proceed: Effect.Effect<void>
}

const facilitatorOf = Effect.fnUntraced(function* (scheme: FacilitatorScheme, options: Options) {
  const { settleTimeoutMillis = 25_000 } = options
  const { facilitator } = yield* TestMarket.settling([scheme], { settleTimeoutMillis, drainMillis: 0 })
  return { facilitator, secret: TestMarket.secret }
})

/** Trade on TON, by one relayer. */
export const ton = Effect.fnUntraced(function* (
  options: Options = {}
): Effect.fn.Return<Trade<TonTestChain.Shape>, never, Scope.Scope> {
  const chain = yield* Effect.orDie(TonTestChain.make({ payers: options.payers ?? 1 }))
  const { accounts, network, rpcUrl } = chain
  const [relayer] = accounts.relayers
  const scheme = exactTon.facilitator({ signer: relayer, rpcUrl, network })
  const common = yield* Effect.orDie(facilitatorOf(scheme, options))
  const way = { network, payTo: accounts.payee.raw, scheme: exactTon.server({ rpcUrl, network }) }
  return {
    chain,
    network,
    told: { ...common, ways: [way] },
    wallets: accounts.payers.map((signer) => exactTon.client({ signer, network, rpcUrl })),
    received: Effect.map(chain.credits(accounts.payee.address), (credits) => credits.map(({ amount }) => amount)),
    sent: Effect.map(
      chain.transactions(relayer.address),
      (all) => all.filter(({ inMessage }) => inMessage?.info.type === "external-in").length
    ),
    halt: chain.setBlocks("manual"),
    proceed: chain.setBlocks("instant")
  }
})

/** Trade on TRON, where payers pay the chain. */
export const tron = Effect.fnUntraced(function* (
  options: Options = {}
): Effect.fn.Return<Trade<TronTestChain.Shape>, never, Scope.Scope> {
  const chain = yield* Effect.orDie(TronTestChain.make({ payers: options.payers ?? 1 }))
  const { accounts, network, rpcUrl } = chain
  const { address: payTo } = accounts.payee
  const scheme = exactTron.facilitator({ rpcUrl, network })
  const common = yield* Effect.orDie(facilitatorOf(scheme, options))
  return {
    chain,
    network,
    told: { ...common, ways: [{ network, payTo, scheme: exactTron.server({ rpcUrl, network }) }] },
    wallets: accounts.payers.map(({ privateKey }) =>
      exactTron.client({ signer: exactTron.localSigner(privateKey), network, rpcUrl })
    ),
    received: Effect.map(chain.transfers(), (transfers) =>
      transfers.filter(({ to }) => to === payTo).map(({ value }) => value)
    ),
    sent: Effect.map(chain.requests, (requests) => requests.get("/wallet/broadcasthex") ?? 0),
    halt: chain.setMining("manual"),
    proceed: Effect.andThen(chain.mine(), chain.setMining("instant"))
  }
})
