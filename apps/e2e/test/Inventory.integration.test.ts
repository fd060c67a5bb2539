/**
 * Purchases across chains that a facilitator's operator delivers from its own money, over real HTTP between two real nodes: the buyer
 * signs once, and the shop is paid once the buyer's money is final.
 */
import { assert, describe, it } from "@effect/vitest"
import { FacilitatorClient, Network, PaymentPayload } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import type { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import { concatHex, decodeFunctionData, encodeFunctionData, isHash, parseAbi, toHex } from "viem"

import * as InventoryMarket from "./InventoryMarket.ts"

const { fee, price } = InventoryMarket
const often = Schedule.spaced("100 millis")

interface Record {
  readonly status: string
  readonly network: string
  readonly transaction: string
  readonly amount: string
  readonly payTo: string
  readonly delivery?: {
    readonly network: string
    readonly status: string
    readonly transaction?: string
    readonly amount?: string
    readonly detail?: string
  }
}

const recordOf = (facilitator: string, paymentId: string) =>
  Effect.promise(async () => (await (await fetch(`${facilitator}/payments/${paymentId}`)).json()) as Record)

const deliveryOf = (facilitator: string, paymentId: string) =>
  Effect.map(recordOf(facilitator, paymentId), ({ delivery }) => delivery)

const transfer = parseAbi([
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)"
])

/** The payload that anybody can rebuild from the transaction of an operator's payment. */
const rebuilt = Effect.fnUntraced(function* ({ client }: EvmTestChain.Shape, hash: string) {
  if (!isHash(hash)) return yield* Effect.die(new Error(`${hash} is no transaction`))
  const { input } = yield* Effect.promise(() => client.getTransaction({ hash }))
  const { args } = decodeFunctionData({ abi: transfer, data: input })
  const [from, to, value, validAfter, validBefore, nonce, v, r, s] = args
  const signature = concatHex([r, s, toHex(v)])
  const times = { validAfter: `${validAfter}`, validBefore: `${validBefore}` }
  return { signature, authorization: { from, to, value: `${value}`, ...times, nonce } }
})

describe("a purchase from an inventory", () => {
  it.live("pays the shop once the buyer's payment is final, and shows both legs", () =>
    Effect.gen(function* () {
      const market = yield* InventoryMarket.open({ serve: "departed" })
      const { buyer, earned, facilitator, first, operator, received, runs, second, stock } = market
      const { body, paymentId, status } = yield* buyer(0)
      assert.strictEqual(status, 200, body)
      assert.strictEqual(runs(), 1)
      assert.strictEqual(yield* earned, price + fee)
      // The block of the payment is not final yet: nothing is signed for the shop.
      const waiting = yield* Effect.repeat(deliveryOf(facilitator, paymentId), {
        until: (seen) => seen?.detail !== undefined,
        schedule: often
      })
      assert.include(waiting?.detail, "is final")
      assert.strictEqual(yield* received, 0n)
      yield* first.mine(InventoryMarket.finalityDepth)
      yield* Effect.repeat(received, { until: (amount) => amount > 0n, schedule: often })
      assert.strictEqual(yield* received, price)
      assert.strictEqual(yield* stock, 90_000_000n)
      const { delivery, ...record } = yield* Effect.repeat(recordOf(facilitator, paymentId), {
        until: ({ delivery: seen }) => seen?.status === "delivered",
        schedule: often
      })
      assert.include(record, {
        network: first.network,
        amount: `${price + fee}`,
        payTo: operator.address
      })
      assert.include(delivery, { network: second.network, amount: `${price}` })
      assert.match(delivery?.transaction ?? "", /^0x[0-9a-f]{64}$/)
      assert.strictEqual((yield* second.transfers()).filter(({ from }) => from === operator.address).length, 1)
    }).pipe(Effect.scoped)
  )

  it.live("sells the last of the inventory once, and charges nothing to the buyer who comes second", () =>
    Effect.gen(function* () {
      const market = yield* InventoryMarket.open({ serve: "departed", balance: price + price / 2n })
      const { buyer, earned, first, received, runs, stock } = market
      const results = yield* Effect.all([buyer(0), buyer(1)], { concurrency: "unbounded" })
      assert.strictEqual(results.filter(({ status }) => status === 200).length, 1, JSON.stringify(results))
      assert.include(results.find(({ status }) => status === 0)?.body, "is promised to other payments")
      assert.strictEqual(runs(), 1)
      assert.strictEqual(yield* earned, price + fee)
      yield* first.mine(InventoryMarket.finalityDepth)
      yield* Effect.repeat(received, { until: (amount) => amount > 0n, schedule: often })
      assert.strictEqual(yield* received, price)
      assert.strictEqual(yield* stock, price / 2n)
    }).pipe(Effect.scoped)
  )

  it.live("is not offered where the inventory is below the price", () =>
    Effect.gen(function* () {
      const { buyer, earned, origin, runs } = yield* InventoryMarket.open({ serve: "departed", balance: price - 1n })
      const offer = yield* Effect.promise(() => fetch(`${origin}/report`))
      assert.strictEqual(offer.status, 503)
      assert.notInclude(yield* Effect.promise(() => offer.text()), '"inventory"')
      assert.strictEqual((yield* buyer(0)).status, 503)
      assert.strictEqual(runs(), 0)
      assert.strictEqual(yield* earned, 0n)
    }).pipe(Effect.scoped)
  )

  it.live("waits where the other token refuses its payee, and delivers once it does not", () =>
    Effect.gen(function* () {
      const market = yield* InventoryMarket.open({ serve: "departed" })
      const { buyer, facilitator, first, received, second } = market
      const { deployer, payee } = second.accounts
      const call = (functionName: "blacklist" | "unBlacklist") =>
        second.send({
          from: deployer.address,
          to: second.token.address,
          data: encodeFunctionData({ abi: InventoryMarket.blocking, functionName, args: [payee.address] })
        })
      yield* call("blacklist")
      const { paymentId, status } = yield* buyer(0)
      assert.strictEqual(status, 200)
      yield* first.mine(InventoryMarket.finalityDepth)
      const stuck = yield* Effect.repeat(deliveryOf(facilitator, paymentId), {
        until: (seen) => seen?.status === "stuck",
        schedule: often
      })
      assert.include(stuck?.detail, "would refuse it now")
      yield* call("unBlacklist")
      yield* Effect.repeat(received, { until: (amount) => amount > 0n, schedule: often })
      assert.strictEqual(yield* received, price)
    }).pipe(Effect.scoped)
  )

  it.live("waits for money that the operator has taken out of the inventory", () =>
    Effect.gen(function* () {
      const market = yield* InventoryMarket.open({ serve: "departed", balance: price })
      const { buyer, facilitator, first, operator, received, second } = market
      const { paymentId, status } = yield* buyer(0)
      assert.strictEqual(status, 200)
      yield* InventoryMarket.sweep(second, operator, 1n)
      yield* first.mine(InventoryMarket.finalityDepth)
      const stuck = yield* Effect.repeat(deliveryOf(facilitator, paymentId), {
        until: (seen) => seen?.status === "stuck",
        schedule: often
      })
      assert.include(stuck?.detail, "would refuse it now")
      yield* second.mint(operator.address, 1n)
      yield* Effect.repeat(received, { until: (amount) => amount > 0n, schedule: often })
      assert.strictEqual(yield* received, price)
    }).pipe(Effect.scoped)
  )

  it.live("pays both shops, though the other chain reverts one payment because the money for both was not there", () =>
    Effect.gen(function* () {
      const market = yield* InventoryMarket.open({ serve: "departed", balance: 2n * price })
      const { buyer, facilitator, first, operator, received, second, stock } = market
      const bought = [yield* buyer(0), yield* buyer(1)]
      assert.deepStrictEqual(
        bought.map(({ status }) => status),
        [200, 200]
      )
      // The rest pays for each of them alone: both are tried, signed and sent.
      yield* InventoryMarket.sweep(second, operator, price / 2n)
      yield* second.setAutomine(false)
      yield* first.mine(InventoryMarket.finalityDepth)
      const pooled = Effect.promise(() => second.client.getBlock({ blockTag: "pending" }))
      yield* Effect.repeat(pooled, { until: ({ transactions }) => transactions.length === 2, schedule: often })
      yield* second.mine(1)
      const made = yield* Effect.promise(() => second.client.getBlock({ includeTransactions: true }))
      const receipts = yield* Effect.forEach(made.transactions, ({ hash }) => second.receipt(hash))
      assert.deepStrictEqual(
        receipts.map(({ status }) => status),
        ["success", "reverted"]
      )
      assert.strictEqual(yield* received, price)
      yield* second.setIntervalMining(1)
      yield* second.mint(operator.address, price + price / 2n)
      yield* Effect.repeat(received, { until: (amount) => amount > price, schedule: often })
      const delivered = yield* Effect.forEach(bought, ({ paymentId }) =>
        Effect.repeat(deliveryOf(facilitator, paymentId), {
          until: (seen) => seen?.status === "delivered",
          schedule: often
        })
      )
      yield* second.mine(InventoryMarket.finalityDepth + 1)
      assert.strictEqual(new Set(delivered.map((seen) => seen?.transaction)).size, 2)
      assert.strictEqual(yield* received, 2n * price)
      assert.strictEqual(yield* stock, price)
      // Neither draw is left, and neither was given back twice: the rest sells once.
      yield* Effect.repeat(buyer(2), { until: ({ status }) => status === 200, schedule: often })
      assert.include((yield* buyer(3)).body, "is promised to other payments")
    }).pipe(Effect.scoped)
  )

  it.live("waits for coin of the signer that sends the operator's payments", () =>
    Effect.gen(function* () {
      const market = yield* InventoryMarket.open({ serve: "departed" })
      const { buyer, facilitator, first, received, second } = market
      const { address } = second.accounts.signers[1]
      yield* second.setBalance(address, 0n)
      const { paymentId, status } = yield* buyer(0)
      assert.strictEqual(status, 200)
      yield* first.mine(InventoryMarket.finalityDepth)
      yield* Effect.repeat(deliveryOf(facilitator, paymentId), {
        until: (seen) => seen?.detail?.includes("push") === true,
        schedule: often
      })
      assert.strictEqual(yield* received, 0n)
      yield* second.setBalance(address, 10n ** 18n)
      yield* Effect.repeat(received, { until: (amount) => amount > 0n, schedule: often })
      assert.strictEqual(yield* received, price)
    }).pipe(Effect.scoped)
  )

  it.live("pays once more where the other chain takes the payment back, and never twice", () =>
    Effect.gen(function* () {
      const market = yield* InventoryMarket.open({ serve: "delivered" })
      const { buyer, facilitator, first, operator, received, second, stock } = market
      const bought = yield* Effect.forkScoped(buyer(0))
      yield* Effect.repeat(market.earned, { until: (amount) => amount > 0n, schedule: often })
      const before = yield* second.snapshot
      yield* first.mine(InventoryMarket.finalityDepth)
      const { paymentId, status } = yield* Fiber.join(bought)
      assert.strictEqual(status, 200)
      yield* second.revert(before)
      assert.strictEqual(yield* received, 0n)
      yield* second.mine(1)
      yield* Effect.repeat(received, { until: (amount) => amount > 0n, schedule: often })
      yield* second.mine(InventoryMarket.finalityDepth + 1)
      yield* Effect.repeat(deliveryOf(facilitator, paymentId), {
        until: (seen) => seen?.status === "delivered",
        schedule: often
      })
      assert.strictEqual(yield* received, price)
      assert.strictEqual(yield* stock, 90_000_000n)
      assert.strictEqual((yield* second.transfers()).filter(({ from }) => from === operator.address).length, 1)
    }).pipe(Effect.scoped)
  )

  it.live("pays nobody for a payment that its own chain takes back before its block is final", () =>
    Effect.gen(function* () {
      const market = yield* InventoryMarket.open({ serve: "departed" })
      const { buyer, earned, facilitator, first, received, second } = market
      const before = yield* first.snapshot
      const { paymentId, status } = yield* buyer(0)
      assert.strictEqual(status, 200)
      yield* first.revert(before)
      // The payer has moved its money in the other branch: the payment can not be made again.
      yield* InventoryMarket.sweep(first, first.accounts.payers[0], 1_000_000_000n)
      yield* first.mine(InventoryMarket.finalityDepth + 2)
      yield* Effect.repeat(recordOf(facilitator, paymentId), {
        until: ({ status: now }) => now === "sent" || now === "accepted" || now === "failed",
        schedule: often
      })
      assert.strictEqual(yield* earned, 0n)
      assert.strictEqual(yield* received, 0n)
      assert.strictEqual((yield* second.transfers()).length, 11)
    }).pipe(Effect.scoped)
  )

  it.live("is delivered by a payment that buys nothing else, though anybody can rebuild it from its transaction", () =>
    Effect.gen(function* () {
      const { assets, buyer, facilitator, first, received, second } = yield* InventoryMarket.open({ serve: "departed" })
      yield* buyer(0)
      yield* first.mine(InventoryMarket.finalityDepth)
      yield* Effect.repeat(received, { until: (amount) => amount > 0n, schedule: often })
      const payload = yield* rebuilt(second, (yield* second.transfers()).at(-1)?.transactionHash ?? "")
      assert.strictEqual(payload.authorization.to, second.accounts.payee.address)
      // The shop sells on the second chain too, for the same price.
      const network = Network.make(second.network)
      const server = exactEvm.server({ rpcUrl: second.rpcUrl, network, assets })
      const asset = server.asset(network, undefined)
      const paymentRequirements = {
        scheme: "exact",
        network,
        maxAmountRequired: `${price}`,
        resource: "https://shop.example/other",
        payTo: second.accounts.payee.address,
        asset: second.token.address,
        extra: asset?.extra ?? {}
      }
      const paymentPayload = PaymentPayload.sealPayload("exact", network, payload)
      const client = yield* FacilitatorClient.make({ url: facilitator })
      const claim = { id: "c".repeat(22), resource: "r".repeat(43) }
      for (const asked of [undefined, claim]) {
        const refusal = yield* Effect.flip(client.settle({ paymentPayload, paymentRequirements }, asked))
        assert.strictEqual("reason" in refusal ? refusal.reason : refusal._tag, "already_used")
      }
    }).pipe(Effect.scoped)
  )
})
