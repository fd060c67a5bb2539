/**
 * The service with an operator's inventory as a process of its own, killed and started again between the two payments, on two real nodes:
 * the shop is paid once, and the limits hold across restarts.
 */
import { assert, describe, it } from "@effect/vitest"
import { FacilitatorClient } from "@pontage/core"
import { EvmAddress } from "@pontage/evm"
import { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"

import * as InventoryService from "./InventoryService.ts"
import * as TestPayment from "./TestPayment.ts"

const { delivered, fee, often, price, started } = InventoryService

/** Two chains, the variables of an operator, and payments to its inventory. */
const opened = Effect.fnUntraced(function* (perDay?: bigint) {
  const [first, second] = yield* Effect.all([EvmTestChain.make(), EvmTestChain.make({ chainId: 31_338 })], {
    concurrency: "unbounded"
  })
  const { payee, signers } = first.accounts
  const far = {
    network: second.network,
    asset: EvmAddress.checksum(EvmAddress.fromText(second.token.address) ?? EvmAddress.zero),
    payee: payee.address,
    evm: [InventoryService.entry(second)],
    assets: [{ network: second.network, ...second.token }]
  }
  const inventory = InventoryService.between(first, far, perDay)
  const { operator } = inventory
  yield* second.mint(operator.address, 100_000_000n)
  const payouts = Effect.map(second.transfers(), (all) =>
    all.filter(({ from, to }) => from === operator.address && to === payee.address).map(({ value }) => value)
  )
  return { first, second, ...inventory, payouts, signer: signers[0] }
})

describe("the service with an inventory", () => {
  it.live("is marked as custody at start, and keeps the limit of a day when it is killed and started again", () =>
    Effect.gen(function* () {
      const { environment, first, operator, settle } = yield* opened(price + price / 2n)
      const before = yield* started(environment)
      assert.include(before.output.join(""), `custody: the account ${operator.address}`)
      assert.notInclude(before.output.join(""), operator.privateKey)
      const supported = yield* Effect.promise(async () => (await fetch(`${before.url}/supported`)).text())
      assert.include(supported, `"maximumAmount":"${price + price / 2n}"`)
      assert.strictEqual((yield* settle(before.url, 0)).status, "included")
      yield* before.kill
      const { url } = yield* started(environment)
      const refusal = yield* Effect.flip(settle(url, 1))
      assert.strictEqual("detail" in refusal ? refusal.detail : refusal._tag, "stock_day_limit")
      assert.strictEqual(yield* first.balanceOf(operator.address), price + fee)
    }).pipe(Effect.scoped)
  )

  it.live("pays the shop after it was killed between the buyer's payment and its own", () =>
    Effect.gen(function* () {
      const { environment, first, payouts, settle } = yield* opened()
      const before = yield* started(environment)
      const { paymentId } = yield* settle(before.url, 0)
      yield* before.kill
      assert.deepStrictEqual(yield* payouts, [])
      yield* first.mine(2)
      const { url } = yield* started(environment)
      yield* delivered(url, paymentId)
      assert.deepStrictEqual(yield* payouts, [price])
    }).pipe(Effect.scoped)
  )

  it.live.each(["kept", "dropped"] as const)(
    "pays the shop once after it was killed with its own payment sent, and the node has %s it",
    (fate) =>
      Effect.gen(function* () {
        const { environment, first, payouts, second, settle, signer } = yield* opened()
        const before = yield* started(environment)
        yield* second.setAutomine(false)
        const { paymentId } = yield* settle(before.url, 0)
        yield* first.mine(2)
        const pooled = Effect.promise(() => second.client.getBlock({ blockTag: "pending", includeTransactions: true }))
        const { transactions } = yield* Effect.repeat(pooled, {
          until: (block) => block.transactions.some(({ from }) => from === signer.address.toLowerCase()),
          schedule: often
        })
        yield* before.kill
        if (fate === "dropped") yield* Effect.forEach(transactions, ({ hash }) => second.drop(hash))
        const { url } = yield* started(environment)
        yield* second.setIntervalMining(1)
        yield* delivered(url, paymentId)
        yield* second.mine(3)
        assert.deepStrictEqual(yield* payouts, [price])
      }).pipe(Effect.scoped)
  )

  it.live("takes a caller's payments for its own payees alone, wherever their money arrives", () =>
    Effect.gen(function* () {
      const { environment, first, operator, paid, second } = yield* opened()
      const { payee } = second.accounts
      const [shop, rival] = ["key-of-the-shop-0001", "key-of-the-rival-0001"]
      const { url } = yield* started({
        ...environment,
        PONTAGE_API_KEYS: JSON.stringify([
          { key: shop, payees: [operator.address, payee.address] },
          { key: rival, payees: [operator.address, second.accounts.stranger.address] }
        ])
      })
      const settledBy = Effect.fnUntraced(function* (key: string, payer: number) {
        const client = yield* FacilitatorClient.make({ url, headers: { authorization: `Bearer ${key}` } })
        return yield* client.settle(yield* paid(payer), TestPayment.claim(payer))
      })
      const { message } = yield* Effect.flip(settledBy(rival, 0))
      assert.include(message, "are not registered for this caller")
      assert.strictEqual(yield* first.balanceOf(operator.address), 0n)
      assert.strictEqual((yield* settledBy(shop, 1)).status, "included")
    }).pipe(Effect.scoped)
  )
})
