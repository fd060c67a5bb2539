/**
 * Payments that go on to a second chain: their gas beside the prototype's, the facilitator's CPU time for a crossing, and the time
 * that each step takes. On two local nodes with LayerZero's published contracts between them, on SQLite. The bridge's verifiers attest
 * when they are told to, and its executor delivers nothing: the facilitator does.
 */
import { BridgedChains, LayerZeroRelay, RoutedSchemes } from "@pontage/devnet/bridge"
import { EvmCrypto } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import { EvmTestChain } from "@pontage/evm/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import { median } from "../../Median.ts"
import type { Row } from "../../Row.ts"
import * as OnwardMarket from "./OnwardMarket.ts"

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

/** Seconds by which the clocks begin in the past: each block of the deployments takes one, and a chain must not be ahead. */
const headStart = 600

const bridged = Effect.gen(function* () {
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const options = { payers: 2 * OnwardMarket.atOnce, timestamp: now - headStart }
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
  const facilitator = yield* OnwardMarket.facilitatorOf([Effect.succeed(scheme), schemes.deliveries], crypto)
  const { client, server } = schemes
  return { ...chains, client, server, scheme, facilitator, far: chains.second.network, sent: 0 }
})

type Market = Effect.Success<typeof market>

/** All rows, on chains of their own. */
export const measure: Effect.Effect<ReadonlyArray<Row>, unknown, Scope.Scope> = Effect.gen(function* () {
  const all = yield* market
  const crossings = yield* Effect.forEach(Array.from({ length: OnwardMarket.inTurn + 1 }), (_, index) =>
    cross(all, index)
  )
  const [first, ...later] = crossings
  if (first === undefined) return yield* Effect.die(new Error("nothing was measured"))
  const { departure, delivery, firstDelivery, firstDeparture } = prototypeGas
  const gas = [
    gasRow("gas of a departure, the router's first", first.departureGas, firstDeparture, marginGas),
    gasRow("gas of a departure", median(later.map((one) => one.departureGas)), departure, marginGas),
    gasRow("gas of a delivery to a new recipient", first.deliveryGas, firstDelivery),
    gasRow("gas of a delivery", median(later.map((one) => one.deliveryGas)), delivery)
  ]
  return [...gas, ...(yield* cpuOf(all)), ...OnwardMarket.stepRows("crossing", crossings)]
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
  const request = yield* OnwardMarket.sign(all, index)
  const signed = performance.now()
  const settled = yield* facilitator.settle(request)
  const departed = performance.now()
  yield* attest(all)
  const attested = performance.now()
  const { accounts } = first
  yield* Effect.repeat(second.balanceOf(accounts.payee.address, all.token), {
    until: (balance) => balance >= OnwardMarket.price * BigInt(index + 1),
    schedule: OnwardMarket.poll
  })
  const delivered = performance.now()
  const { transaction } = yield* OnwardMarket.deliveredBy(facilitator, settled.paymentId)
  return {
    steps: [
      { name: "signed", millis: signed - begin },
      { name: "departed after it", millis: departed - signed },
      { name: "attested after it", millis: attested - departed },
      { name: "delivered by the facilitator after it", millis: delivered - attested },
      { name: "known as delivered after it", millis: performance.now() - delivered }
    ],
    departureGas: yield* OnwardMarket.gasUsed(first, settled.transaction),
    deliveryGas: yield* OnwardMarket.gasUsed(second, transaction)
  }
})

/** CPU time of a crossing: the settlement, and all from its attestation to the known delivery. The attestation itself is left out. */
const cpuOf = (all: Market) => OnwardMarket.cpuRows("crossing", all, attest(all))

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
