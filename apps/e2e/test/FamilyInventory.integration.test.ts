/**
 * Purchases that an operator delivers on a network of another family, over real HTTP: a shop that is paid on TRON or on TON, and a buyer
 * that signs on an EVM chain alone.
 */
import { assert, describe, it } from "@effect/vitest"
import type { FacilitatorScheme, Payouts, SchemeServer } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { EvmTestChain } from "@pontage/evm/testing"
import { exactTon } from "@pontage/ton"
import { TonTestAccounts, TonTestChain } from "@pontage/ton/testing"
import { exactTron } from "@pontage/tron"
import { TronTestChain } from "@pontage/tron/testing"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"

import * as InventoryMarket from "./InventoryMarket.ts"
import * as TestMarket from "./TestMarket.ts"

const { fee, price } = InventoryMarket
const stock = 100_000_000n
const often = Schedule.spaced("100 millis")

/** The other network, with the operator's account and the shop's on it. */
interface Family {
  readonly network: string
  readonly payouts: Payouts
  readonly facilitator: FacilitatorScheme
  readonly server: SchemeServer
  /** The shop's account as its owner writes it, and as offers have it. */
  readonly payTo: string
  readonly payee: string
  readonly token: string
  readonly received: Effect.Effect<bigint>
  /** The payments that the operator's account has made. */
  readonly paid: Effect.Effect<ReadonlyArray<readonly [to: string, amount: bigint]>>
}

const onTron = Effect.gen(function* () {
  const tron = yield* TronTestChain.make({ payers: 1 })
  const { accounts, network, rpcUrl } = tron
  const signer = exactTron.localSigner(accounts.stranger.privateKey)
  yield* tron.mint(signer.address, stock)
  const payee = accounts.payee.address
  return {
    network,
    payouts: exactTron.payouts({ signer, rpcUrl, network }),
    facilitator: exactTron.facilitator({ rpcUrl, network }),
    server: exactTron.server({ rpcUrl, network }),
    payTo: payee,
    payee,
    token: tron.token.address,
    received: tron.balanceOf(payee),
    paid: Effect.map(tron.transfers(), (all) =>
      all.filter(({ from }) => from === signer.address).map(({ to, value }) => [to, value] as const)
    )
  } satisfies Family
})

const onTon = Effect.gen(function* () {
  const ton = yield* TonTestChain.make({ payers: 1 })
  const { accounts, jetton, network, rpcUrl } = ton
  const operator = TonTestAccounts.ofName("operator")
  yield* ton.mint(operator.address, stock)
  const [relayer] = accounts.relayers
  const { payee } = accounts
  return {
    network,
    payouts: exactTon.payouts({ signer: operator, relayer: relayer.raw, rpcUrl, network }),
    facilitator: exactTon.facilitator({ signer: relayer, rpcUrl, network }),
    server: exactTon.server({ rpcUrl, network }),
    payTo: payee.address.toString({ bounceable: false }),
    payee: payee.raw,
    token: jetton.raw,
    received: ton.balanceOf(payee.address),
    paid: Effect.map(ton.credits(payee.address), (all) =>
      all.filter(({ from }) => from === operator.raw).map(({ amount }) => [payee.raw, amount] as const)
    )
  } satisfies Family
})

const opened = Effect.fnUntraced(function* (family: Effect.Effect<Family, unknown, Scope.Scope>) {
  const [evm, far] = yield* Effect.all([EvmTestChain.make(), family], { concurrency: "unbounded" })
  const operator = evm.accounts.stranger
  const assets = [{ network: evm.network, ...evm.token }]
  const near = { rpcUrl: evm.rpcUrl, network: evm.network, assets }
  const { facilitator } = yield* TestMarket.settling([
    exactEvm.facilitator({
      ...near,
      signer: evm.accounts.signers[0],
      finalityDepth: InventoryMarket.finalityDepth,
      inventory: { signer: operator, pairs: [{ to: { payouts: far.payouts }, fee, perDay: 1_000_000_000n }] }
    }),
    far.facilitator
  ])
  const { origin } = yield* InventoryMarket.shopOf({
    facilitator,
    schemes: [exactEvm.server(near), far.server],
    network: evm.network,
    payTo: far.payTo,
    onward: { network: far.network, inventory: operator.address }
  })
  return { evm, far, operator, origin, buy: InventoryMarket.buyerOf(evm, assets, operator.address) }
})

describe("a purchase from an inventory on a network of another family", () => {
  it.live.each([
    { name: "TRON", family: onTron },
    { name: "TON", family: onTon }
  ] as const)("is offered with the shop's own account on $name, and pays that account once", ({ family }) =>
    Effect.gen(function* () {
      const { buy, evm, far, operator, origin } = yield* opened(family)
      const offer = yield* Effect.promise(async () => (await fetch(`${origin}/report`)).text())
      assert.include(offer, `"payTo":"${far.payee}"`)
      assert.include(offer, `"asset":"${far.token}"`)
      const { body, status } = yield* InventoryMarket.bought(buy, origin)
      assert.strictEqual(status, 200, body)
      assert.strictEqual(yield* evm.balanceOf(operator.address), price + fee)
      assert.strictEqual(yield* far.received, 0n)
      yield* evm.mine(InventoryMarket.finalityDepth)
      yield* Effect.repeat(far.received, { until: (amount) => amount > 0n, schedule: often })
      assert.deepStrictEqual(yield* far.paid, [[far.payee, price]])
    }).pipe(Effect.scoped)
  )
})
