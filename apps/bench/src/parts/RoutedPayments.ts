/**
 * Payments that go on to a second chain: their gas beside the prototype's, the facilitator's CPU time for a crossing, and the time
 * that each step takes. On two local nodes with LayerZero's published contracts between them, on SQLite. The bridge's verifiers attest
 * when they are told to, and its executor delivers nothing: the facilitator does.
 */
import { join } from "node:path"

import {
  Binding,
  Facilitator,
  FacilitatorSchemeRegistry,
  LocalFacilitator,
  PaymentPayload,
  type SchemeFacilitator
} from "@pontage/core"
import { BridgedChains, LayerZeroRelay, RoutedSchemes } from "@pontage/devnet/bridge"
import { EvmCrypto } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import { EvmTestChain } from "@pontage/evm/testing"
import { SqlitePaymentStore } from "@pontage/sql/sqlite"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { isHash } from "viem"

import * as BenchFolder from "../BenchFolder.ts"
import { median } from "../Median.ts"
import type { Row } from "../Row.ts"

/**
 * Gas that the prototype used over the same contracts: a router's first departure and later ones, a delivery by the executor to an
 * account that owns nothing, and one by anybody to an account that owns tokens.
 */
const prototypeGas = { firstDeparture: 385_500, departure: 300_000, firstDelivery: 119_800, delivery: 59_300 }
/** The most that ours may use of that, in percent. */
const most = 105
/**
 * Gas of a departure that the prototype did not use: it paid exactly the message's price. Ours pays a tenth more, and the endpoint's
 * return of the rest takes this. A message whose price rises by up to a tenth until the block then reverts nothing.
 */
const marginGas = 7_000

/** Crossings one after another, for their latency, and at once, for their CPU time; the first ones warm up. */
const inTurn = 5
const atOnce = 20
/** 10 dollars. */
const price = 10_000_000n
const poll = Schedule.spaced("10 millis")

/** Seconds by which the clocks begin in the past: each block of the deployments takes one, and a chain must not be ahead. */
const headStart = 600

const bridged = Effect.gen(function* () {
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const options = { payers: 2 * atOnce, timestamp: now - headStart }
  const chains = yield* BridgedChains.between(
    yield* EvmTestChain.make(options),
    yield* EvmTestChain.make({ ...options, chainId: BridgedChains.secondChainId })
  )
  for (const chain of [chains.first, chains.second]) {
    yield* chain.request("evm_setTime", [Math.floor((yield* Clock.currentTimeMillis) / 1000)])
    yield* chain.mine()
  }
  return chains
})

const market = Effect.gen(function* () {
  const chains = yield* bridged
  const crypto = yield* BestCrypto.make
  const schemes = RoutedSchemes.make(chains, { pushAfterSeconds: 0 })
  const scheme = yield* Effect.provideService(schemes.facilitator, EvmCrypto.EvmCrypto, crypto)
  const folder = yield* BenchFolder.make
  const context = yield* Layer.build(
    LocalFacilitator.layer({}).pipe(
      Layer.provide(FacilitatorSchemeRegistry.layer([Effect.succeed(scheme), schemes.deliveries])),
      Layer.provide(SqlitePaymentStore.layer({ filename: join(folder, "payments.sqlite") })),
      Layer.provide(Layer.succeed(EvmCrypto.EvmCrypto, crypto))
    )
  )
  return { ...chains, schemes, scheme, facilitator: Context.get(context, Facilitator), sent: 0 }
})

type Market = Effect.Success<typeof market>

/** All rows, on chains of their own. */
export const measure: Effect.Effect<ReadonlyArray<Row>, unknown, Scope.Scope> = Effect.gen(function* () {
  const all = yield* market
  const crossings = yield* Effect.forEach(Array.from({ length: inTurn + 1 }), (_, index) => cross(all, index))
  const [first, ...later] = crossings
  if (first === undefined) return yield* Effect.die(new Error("nothing was measured"))
  const { departure, delivery, firstDelivery, firstDeparture } = prototypeGas
  const gas = [
    gasRow("gas of a departure, the router's first", first.departureGas, firstDeparture, marginGas),
    gasRow("gas of a departure", median(later.map((one) => one.departureGas)), departure, marginGas),
    gasRow("gas of a delivery to a new recipient", first.deliveryGas, firstDelivery),
    gasRow("gas of a delivery", median(later.map((one) => one.deliveryGas)), delivery)
  ]
  const steps = first.steps.map(({ name }, place): Row => {
    const values = later.map((one) => one.steps[place]?.millis ?? Number.NaN)
    return { name: `crossing, ${name}`, value: median(values), unit: "ms", note: "wall time, blocks at once" }
  })
  return [...gas, ...(yield* cpuOf(all)), ...steps]
})

const gasRow = (name: string, value: number, prototype: number, margin = 0): Row => ({
  name,
  value,
  unit: "gas",
  note: `prototype ${prototype}, target at most ${(prototype * most) / 100 + margin}${margin === 0 ? "" : `, of it ${margin} for the return of the message's margin`}`
})

/** One crossing, with the time of each step. */
const cross = Effect.fnUntraced(function* (all: Market, index: number) {
  const { facilitator, first, second } = all
  const begin = performance.now()
  const request = yield* sign(all, index)
  const signed = performance.now()
  const settled = yield* facilitator.settle(request)
  const departed = performance.now()
  yield* attest(all)
  const attested = performance.now()
  const { accounts } = first
  yield* Effect.repeat(second.balanceOf(accounts.payee.address, all.token), {
    until: (balance) => balance >= price * BigInt(index + 1),
    schedule: poll
  })
  const delivered = performance.now()
  const { transaction } = yield* deliveredBy(facilitator, settled.paymentId)
  return {
    steps: [
      { name: "signed", millis: signed - begin },
      { name: "departed after it", millis: departed - signed },
      { name: "attested after it", millis: attested - departed },
      { name: "delivered by the facilitator after it", millis: delivered - attested },
      { name: "known as delivered after it", millis: performance.now() - delivered }
    ],
    departureGas: yield* gasUsed(first, settled.transaction),
    deliveryGas: yield* gasUsed(second, transaction)
  }
})

/** CPU time of a crossing: the settlement, and all from its attestation to the known delivery. The attestation itself is left out. */
const cpuOf = Effect.fnUntraced(function* (all: Market) {
  const { facilitator } = all
  const requests = yield* Effect.forEach(Array.from({ length: atOnce }), (_, index) => sign(all, inTurn + 1 + index))
  const before = process.cpuUsage()
  const settled = yield* Effect.forEach(requests, (request) => facilitator.settle(request), {
    concurrency: "unbounded"
  })
  const settling = process.cpuUsage(before)
  yield* attest(all)
  const attested = process.cpuUsage()
  yield* Effect.forEach(settled, ({ paymentId }) => deliveredBy(facilitator, paymentId), { concurrency: 4 })
  const delivering = process.cpuUsage(attested)
  const millis = ({ system, user }: NodeJS.CpuUsage) => (user + system) / 1000 / atOnce
  return [
    { name: "crossing, its settlement: facilitator", value: millis(settling), unit: "ms CPU" },
    { name: "crossing, its delivery: facilitator", value: millis(delivering), unit: "ms CPU" }
  ] satisfies ReadonlyArray<Row>
})

/** Signs a payment by a present quote. */
const sign = Effect.fnUntraced(function* ({ first, scheme, schemes, second }: Market, index: number) {
  const { accounts, network, token } = first
  const requirements = yield* offered(schemes, scheme, second.network, token.address, accounts.payee.address)
  const client = schemes.client(accounts.payers[index] ?? accounts.payers[0])
  const asset = client.asset(requirements)
  if (asset === undefined) return yield* Effect.die(new Error("the local chain's token is not known"))
  const binding = yield* Binding.make("a-challenge-of-forty-three-characters-of-64")
  const validBefore = Math.floor((yield* Clock.currentTimeMillis) / 1000) + 80
  const { payload } = yield* client.sign({ requirements, asset, validAfter: 0, validBefore, binding })
  return { paymentPayload: PaymentPayload.sealPayload("exact", network, payload), paymentRequirements: requirements }
})

const offered = Effect.fnUntraced(function* (
  { server }: Market["schemes"],
  scheme: SchemeFacilitator,
  network: string,
  address: string,
  payTo: string
) {
  const asset = server.asset(scheme.network, address)
  if (asset === undefined || server.onward === undefined || scheme.quotes === undefined) {
    return yield* Effect.die(new Error("the schemes serve no routes"))
  }
  const offers = yield* Effect.orDie(Effect.fromResult(server.onward({ asset, payTo, network, arriving: undefined })))
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

/** The verifiers attest all messages that they have not attested yet. */
const attest = Effect.fnUntraced(function* (all: Market) {
  const { attester, away, first, home } = all
  const logs = yield* Effect.promise(() => first.client.getLogs({ address: home.endpoint, fromBlock: 0n }))
  const packets = LayerZeroRelay.packetsIn(logs)
  for (const packet of packets.slice(all.sent)) {
    yield* LayerZeroRelay.attest(away, packet, attester)
    yield* LayerZeroRelay.commit(away, packet)
  }
  all.sent = packets.length
})

/** Waits until the records know the delivery. */
const deliveredBy = Effect.fnUntraced(function* (facilitator: Market["facilitator"], paymentId: string) {
  const record = yield* Effect.repeat(facilitator.payment(paymentId), {
    until: (one) => one?.delivery?.status === "delivered",
    schedule: poll
  })
  return { transaction: record?.delivery?.transaction ?? "" }
})

const gasUsed = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, transaction: string) {
  if (!isHash(transaction)) return yield* Effect.die(new Error(`${transaction} is no transaction`))
  return Number((yield* chain.receipt(transaction)).gasUsed)
})
