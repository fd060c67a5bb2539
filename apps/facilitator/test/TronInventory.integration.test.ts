/**
 * The service with an inventory that pays shops on TRON, as a process of its own that is killed and started again, between a real EVM node
 * and a TRON node: each signing makes another transaction there, and the shop is paid once.
 */
import { assert, describe, it } from "@effect/vitest"
import { FacilitatorClient, Network } from "@pontage/core"
import { EvmTestChain } from "@pontage/evm/testing"
import { exactTron, TronAddress } from "@pontage/tron"
import { TronTestChain } from "@pontage/tron/testing"
import * as Effect from "effect/Effect"

import * as InventoryService from "./InventoryService.ts"
import * as TestPayment from "./TestPayment.ts"

const { delivered, fee, often, price, started, until } = InventoryService
const stock = 100_000_000n
const trx = 1_000_000n
/** More blocks than are not solidified. */
const solidifying = 30

interface Options {
  readonly sun?: bigint
  readonly perDay?: bigint
}

/** Both chains, the variables of an operator, and payments to its inventory. */
const opened = Effect.fnUntraced(function* ({ perDay, sun = 1_000n * trx }: Options = {}) {
  const [evm, tron] = yield* Effect.all([EvmTestChain.make(), TronTestChain.make({ payers: 1 })], {
    concurrency: "unbounded"
  })
  const payee = tron.accounts.payee.address
  const far = {
    network: tron.network,
    asset: tron.token.address,
    payee,
    environment: { PONTAGE_TRON_RPC_URL: tron.rpcUrl, PONTAGE_TRON_NETWORK: tron.network }
  }
  const inventory = InventoryService.between(evm, far, perDay)
  const { address: there } = exactTron.localSigner(inventory.operator.privateKey)
  yield* tron.mint(there, stock)
  if (sun > 0n) yield* tron.fund(there, sun)
  const payouts = Effect.map(tron.transfers(), (all) => all.filter(({ from }) => from === there))
  const values = Effect.map(payouts, (all) => all.map(({ to, value }) => [to, value]))
  return { evm, tron, ...inventory, payouts, values, payee, there }
})

describe("the service with an inventory on TRON", () => {
  it.live("is marked as custody, pays an account that does not exist yet, and sells the payout to nobody else", () =>
    Effect.gen(function* () {
      const { environment, evm, payee, payouts, settle, there, tron, values } = yield* opened()
      const { output, url } = yield* started(environment)
      assert.include(output.join(""), `custody: the account`)
      assert.include(output.join(""), `on tron:local ${there}`)
      const { paymentId } = yield* settle(url, 0)
      assert.deepStrictEqual(yield* payouts, [])
      yield* evm.mine(2)
      const seen = yield* delivered(url, paymentId)
      assert.deepStrictEqual(yield* values, [[payee, price]])
      const [payout] = yield* payouts
      assert.strictEqual(seen?.transaction, payout?.transaction)
      assert.strictEqual(seen?.amount, `${price}`)
      assert.strictEqual(yield* tron.balanceOf(there), stock - price)
      // Anybody has the bytes of the payout: they are on the chain.
      const found = yield* Effect.promise(async () => {
        const body = JSON.stringify({ value: payout?.transaction })
        const answer = await fetch(`${tron.rpcUrl}/wallet/gettransactionbyid`, { method: "POST", body })
        return (await answer.json()) as { readonly raw_data_hex: string; readonly signature: ReadonlyArray<string> }
      })
      const { raw_data_hex, signature } = found
      const signedTransaction = { txID: payout?.transaction ?? "", raw_data_hex, signature }
      const place = { network: Network.make(tron.network), payTo: payee, asset: tron.token.address }
      const refused = yield* InventoryService.refusals(url, { from: there, signedTransaction }, place)
      assert.deepStrictEqual(refused, ["already_used", "already_used"])
    }).pipe(Effect.scoped)
  )

  it.live.each(["kept", "dropped"] as const)(
    "pays the shop once after it was killed with its own payment sent, and the node has %s it",
    (fate) =>
      Effect.gen(function* () {
        const { environment, evm, payee, settle, tron, values } = yield* opened()
        const before = yield* started(environment)
        yield* tron.setMining("manual")
        const { paymentId } = yield* settle(before.url, 0)
        yield* evm.mine(2)
        const [first] = yield* Effect.repeat(tron.waiting, { until: (all) => all.length > 0, schedule: often })
        yield* before.kill
        if (fate === "dropped") yield* tron.drop(first ?? "")
        const { url } = yield* started(environment)
        yield* tron.setMining("instant")
        const seen = yield* delivered(url, paymentId)
        assert.strictEqual(seen?.transaction, first, "the same bytes")
        yield* tron.mine(solidifying)
        assert.deepStrictEqual(yield* values, [[payee, price]])
      }).pipe(Effect.scoped)
  )

  it.live("waits, and says why, while its account cannot pay the chain", () =>
    Effect.gen(function* () {
      const { environment, evm, payee, settle, there, tron, values } = yield* opened({ sun: 0n })
      const { url } = yield* started(environment)
      const { paymentId } = yield* settle(url, 0)
      yield* evm.mine(2)
      const stuck = yield* until(url, paymentId, ({ status }) => status === "stuck")
      assert.include(stuck?.detail, "is not activated")
      assert.deepStrictEqual(yield* tron.waiting, [])
      // Activated, and without the TRX for the energy.
      yield* tron.fund(there, 1n)
      yield* until(url, paymentId, ({ detail }) => detail?.includes("would burn") === true)
      yield* tron.fund(there, 1_000n * trx)
      yield* delivered(url, paymentId)
      assert.deepStrictEqual(yield* values, [[payee, price]])
    }).pipe(Effect.scoped)
  )

  it.live("takes routes to accounts alone, in the one form of their address, and within the limit of a day", () =>
    Effect.gen(function* () {
      const { environment, evm, operator, paid, payee, settle, there, tron, values } = yield* opened({
        perDay: price + 1n
      })
      const { url } = yield* started(environment)
      const client = yield* FacilitatorClient.make({ url })
      const hexadecimal = TronAddress.fromText(payee) ?? ""
      for (const recipient of [hexadecimal, there, tron.token.address, operator.address, TronAddress.toBase58(zero)]) {
        const request = yield* paid(1, recipient)
        const refusal = yield* Effect.flip(client.settle(request, TestPayment.claim(1)))
        assert.strictEqual("detail" in refusal ? refusal.detail : refusal._tag, "inventory_recipient", recipient)
      }
      // A route is signed with its recipient: another offer does not change it.
      const { paymentPayload, paymentRequirements } = yield* paid(1)
      const other = yield* paid(1, tron.accounts.stranger.address)
      const swapped = { paymentPayload, paymentRequirements: other.paymentRequirements }
      const stolen = yield* Effect.flip(client.settle(swapped, TestPayment.claim(2)))
      assert.strictEqual("detail" in stolen ? stolen.detail : stolen._tag, "inventory_terms")
      assert.strictEqual(
        (yield* client.settle({ paymentPayload, paymentRequirements }, TestPayment.claim(3))).status,
        "included"
      )
      const limited = yield* Effect.flip(settle(url, 2))
      assert.strictEqual("detail" in limited ? limited.detail : limited._tag, "stock_day_limit")
      assert.strictEqual(yield* evm.balanceOf(operator.address), price + fee)
      assert.deepStrictEqual(yield* values, [])
    }).pipe(Effect.scoped)
  )

  it.live("takes a caller's payments for its own payees alone", () =>
    Effect.gen(function* () {
      const { environment, operator, paid, payee } = yield* opened()
      const [shop, rival] = ["key-of-the-shop-0001", "key-of-the-rival-0001"]
      const { url } = yield* started({
        ...environment,
        PONTAGE_API_KEYS: JSON.stringify([
          { key: shop, payees: [operator.address, payee] },
          { key: rival, payees: [operator.address] }
        ])
      })
      const request = yield* paid(0)
      const by = (key: string) => FacilitatorClient.make({ url, headers: { authorization: `Bearer ${key}` } })
      const { message } = yield* Effect.flip((yield* by(rival)).settle(request, TestPayment.claim(0)))
      assert.include(message, "are not registered for this caller")
      const { status } = yield* (yield* by(shop)).settle(request, TestPayment.claim(0))
      assert.strictEqual(status, "included")
    }).pipe(Effect.scoped)
  )
})

const zero = TronAddress.fromTail("0".repeat(40))
