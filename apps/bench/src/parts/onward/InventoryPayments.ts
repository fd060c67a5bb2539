/**
 * Payments that an operator delivers on a second chain from its own money: their gas on both, the facilitator's CPU time for a crossing,
 * and the time that each step takes. On two local nodes, on SQLite. Blocks are made at once, and the depth at which a payment is final is
 * mined when it is wanted.
 */
import { exactEvm, EvmCrypto } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import { type EvmTestAccounts, EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import { median } from "../../Median.ts"
import type { Row } from "../../Row.ts"
import * as OnwardMarket from "./OnwardMarket.ts"

const fee = 50_000n
const stock = 10n ** 12n
const finalityDepth = 2

const market = Effect.gen(function* () {
  const options = { payers: 2 * OnwardMarket.atOnce }
  const first = yield* EvmTestChain.make(options)
  const second = yield* EvmTestChain.make({ ...options, chainId: 31_338 })
  const operator = first.accounts.stranger
  yield* second.mint(operator.address, stock)
  const crypto = yield* BestCrypto.make
  const assets = [
    { network: first.network, ...first.token },
    { network: second.network, ...second.token }
  ]
  const to = { network: second.network, rpcUrl: second.rpcUrl, finalityDepth }
  const starting = exactEvm.facilitator({
    signer: first.accounts.signers[0],
    rpcUrl: first.rpcUrl,
    assets,
    finalityDepth,
    inventory: { signer: operator, pairs: [{ to, fee, perDay: stock }] }
  })
  const scheme = yield* Effect.provideService(starting, EvmCrypto.EvmCrypto, crypto)
  const payouts = exactEvm.facilitator({
    signer: second.accounts.signers[1],
    rpcUrl: second.rpcUrl,
    network: second.network,
    assets,
    finalityDepth
  })
  const inventory = operator.address
  return {
    first,
    second,
    scheme,
    facilitator: yield* OnwardMarket.facilitatorOf([Effect.succeed(scheme), payouts], crypto),
    server: exactEvm.server({ rpcUrl: first.rpcUrl, network: first.network, assets }),
    client: (signer: EvmTestAccounts.TestAccount) =>
      exactEvm.client({
        signer,
        network: first.network,
        assets,
        routes: exactEvm.routes({ inventories: [inventory] })
      }),
    far: second.network,
    inventory
  }
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
  const gas: ReadonlyArray<Row> = [
    gasRow("the payment to the operator", median(later.map((one) => one.departureGas))),
    gasRow("the operator's payment to a new recipient", first.deliveryGas),
    gasRow("the operator's payment", median(later.map((one) => one.deliveryGas)))
  ]
  const cpu = yield* OnwardMarket.cpuRows("inventory", all, all.first.mine(finalityDepth))
  return [...gas, ...cpu, ...OnwardMarket.stepRows("inventory", crossings)]
})

const gasRow = (name: string, value: number): Row => ({ name: `inventory, gas of ${name}`, value, unit: "gas" })

/** One crossing, with the time of each step. */
const cross = Effect.fnUntraced(function* (all: Market, index: number) {
  const { facilitator, first, second } = all
  const begin = performance.now()
  const request = yield* OnwardMarket.sign(all, index)
  const signed = performance.now()
  const settled = yield* facilitator.settle(request)
  const departed = performance.now()
  yield* first.mine(finalityDepth)
  const final = performance.now()
  yield* Effect.repeat(second.balanceOf(first.accounts.payee.address), {
    until: (balance) => balance >= OnwardMarket.price * BigInt(index + 1),
    schedule: OnwardMarket.poll
  })
  const paid = performance.now()
  const { transaction } = yield* OnwardMarket.deliveredBy(facilitator, settled.paymentId)
  const crossing: OnwardMarket.Crossing = {
    steps: [
      { name: "signed", millis: signed - begin },
      { name: "departed after it", millis: departed - signed },
      { name: "final after it", millis: final - departed },
      { name: "paid to the shop after it", millis: paid - final },
      { name: "known as delivered after it", millis: performance.now() - paid }
    ],
    departureGas: yield* OnwardMarket.gasUsed(first, settled.transaction),
    deliveryGas: yield* OnwardMarket.gasUsed(second, transaction)
  }
  return crossing
})
