/** Parts that payments which go on to a second chain share, over a bridge or from an operator's own money: their signing, and their rows. */
import { join } from "node:path"

import {
  Binding,
  Facilitator,
  type FacilitatorScheme,
  FacilitatorSchemeRegistry,
  LocalFacilitator,
  PaymentPayload,
  type SchemeClient,
  type SchemeFacilitator,
  type SchemeServer
} from "@pontage/core"
import { EvmCrypto } from "@pontage/evm"
import type { EvmTestAccounts, EvmTestChain } from "@pontage/evm/testing"
import { SqlitePaymentStore } from "@pontage/sql/sqlite"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { isHash } from "viem"

import * as BenchFolder from "../../BenchFolder.ts"
import { median } from "../../Median.ts"
import type { Row } from "../../Row.ts"

/** Crossings one after another, for their latency, and at once, for their CPU time; the first ones warm up. */
export const inTurn = 5
export const atOnce = 20
/** 10 dollars. */
export const price = 10_000_000n
export const poll = Schedule.spaced("10 millis")

/** A market whose shop is paid on the second chain. */
export interface OnwardMarket {
  readonly first: EvmTestChain.Shape
  readonly facilitator: Facilitator["Service"]
  /** The scheme of the first chain, on all sides. */
  readonly scheme: SchemeFacilitator
  readonly server: SchemeServer
  readonly client: (signer: EvmTestAccounts.TestAccount) => SchemeClient
  /** The second network. */
  readonly far: string
  /** The operator's account, where it delivers from its own money. */
  readonly inventory?: string
}

/** A facilitator on SQLite. */
export const facilitatorOf: (
  schemes: ReadonlyArray<FacilitatorScheme>,
  crypto: EvmCrypto.Shape
) => Effect.Effect<Facilitator["Service"], unknown, Scope.Scope> = Effect.fnUntraced(function* (schemes, crypto) {
  const folder = yield* BenchFolder.make
  const context = yield* Layer.build(
    LocalFacilitator.layer({}).pipe(
      Layer.provide(FacilitatorSchemeRegistry.layer(schemes)),
      Layer.provide(SqlitePaymentStore.layer({ filename: join(folder, "payments.sqlite") })),
      Layer.provide(Layer.succeed(EvmCrypto.EvmCrypto, crypto))
    )
  )
  return Context.get(context, Facilitator)
})

/** Signs a payment by a present quote. */
export const sign = Effect.fnUntraced(function* (market: OnwardMarket, index: number) {
  const { accounts, network } = market.first
  const requirements = yield* offered(market)
  const client = market.client(accounts.payers[index] ?? accounts.payers[0])
  const asset = client.asset(requirements)
  if (asset === undefined) return yield* Effect.die(new Error("the local chain's token is not known"))
  const binding = yield* Binding.make("a-challenge-of-forty-three-characters-of-64")
  const validBefore = Math.floor((yield* Clock.currentTimeMillis) / 1000) + 80
  const { payload } = yield* client.sign({ requirements, asset, validAfter: 0, validBefore, binding })
  return { paymentPayload: PaymentPayload.sealPayload("exact", network, payload), paymentRequirements: requirements }
})

const offered = Effect.fnUntraced(function* ({ far: network, first, inventory, scheme, server }: OnwardMarket) {
  const payTo = first.accounts.payee.address
  const asset = server.asset(scheme.network, first.token.address)
  if (asset === undefined || server.onward === undefined || scheme.quotes === undefined) {
    return yield* Effect.die(new Error("the schemes serve no payments that go on"))
  }
  const option = { asset, payTo, network, arriving: undefined, ...(inventory !== undefined && { inventory }) }
  const offers = yield* Effect.orDie(Effect.fromResult(server.onward(option)))
  const offer = offers.quoted(price, yield* scheme.quotes)?.offer
  if (offer === undefined) return yield* Effect.die(new Error("no quote is for the shop's option"))
  return {
    scheme: "exact",
    network: scheme.network,
    maxAmountRequired: `${offer.amount}`,
    resource: "https://shop.example/report",
    payTo: offer.payTo,
    asset: asset.address,
    extra: { ...asset.extra, ...offer.extra }
  }
})

/** Waits until the records know the delivery. */
export const deliveredBy: (
  facilitator: Facilitator["Service"],
  paymentId: string
) => Effect.Effect<{ readonly transaction: string }, unknown> = Effect.fnUntraced(function* (facilitator, paymentId) {
  const record = yield* Effect.repeat(facilitator.payment(paymentId), {
    until: (one) => one?.delivery?.status === "delivered",
    schedule: poll
  })
  return { transaction: record?.delivery?.transaction ?? "" }
})

/** The gas of a transaction. */
export const gasUsed = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, transaction: string) {
  if (!isHash(transaction)) return yield* Effect.die(new Error(`${transaction} is no transaction`))
  return Number((yield* chain.receipt(transaction)).gasUsed)
})

/** One crossing: its steps, and the gas of both legs. */
export interface Crossing {
  readonly steps: ReadonlyArray<{ readonly name: string; readonly millis: number }>
  readonly departureGas: number
  readonly deliveryGas: number
}

/** The time of each step, without the first crossing. */
export const stepRows = (name: string, [first, ...later]: ReadonlyArray<Crossing>): ReadonlyArray<Row> =>
  (first?.steps ?? []).map((step, place) => {
    const values = later.map((one) => one.steps[place]?.millis ?? Number.NaN)
    return { name: `${name}, ${step.name}`, value: median(values), unit: "ms", note: "wall time, blocks at once" }
  })

/**
 * CPU time of a crossing in the facilitator's process: the settlement, and all from the moment when it can be delivered, which `ready` brings
 * about and which is left out, to the known delivery.
 */
export const cpuRows = Effect.fnUntraced(function* <E>(
  name: string,
  market: OnwardMarket,
  ready: Effect.Effect<void, E>
) {
  const { facilitator } = market
  const requests = yield* Effect.forEach(Array.from({ length: atOnce }), (_, index) => sign(market, inTurn + 1 + index))
  const before = process.cpuUsage()
  const settled = yield* Effect.forEach(requests, (request) => facilitator.settle(request), {
    concurrency: "unbounded"
  })
  const settling = process.cpuUsage(before)
  yield* ready
  const readied = process.cpuUsage()
  yield* Effect.forEach(settled, ({ paymentId }) => deliveredBy(facilitator, paymentId), { concurrency: 4 })
  const delivering = process.cpuUsage(readied)
  const millis = ({ system, user }: NodeJS.CpuUsage) => (user + system) / 1000 / atOnce
  return [
    { name: `${name}, its settlement: facilitator`, value: millis(settling), unit: "ms CPU" },
    { name: `${name}, its delivery: facilitator`, value: millis(delivering), unit: "ms CPU" }
  ] satisfies ReadonlyArray<Row>
})
