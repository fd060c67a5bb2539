/**
 * The service with an inventory that pays shops on TON, as a process of its own that is killed and started again, between a real EVM node
 * and a TON chain: its wallet makes one payment at a time, and each shop is paid once.
 */
import { assert, describe, it } from "@effect/vitest"
import { FacilitatorClient, Network } from "@pontage/core"
import { EvmTestChain } from "@pontage/evm/testing"
import { exactTon, TonAddress, TonBoc, TonMessage } from "@pontage/ton"
import { ToncenterFault, TonTestAccounts, TonTestChain } from "@pontage/ton/testing"
import * as Effect from "effect/Effect"

import * as InventoryService from "./InventoryService.ts"
import * as TestPayment from "./TestPayment.ts"

const { delivered, fee, often, price, started, until } = InventoryService
const stock = 100_000_000n

/** Both chains, the variables of an operator, and payments to its inventory, whose wallet is not deployed yet. */
const opened = Effect.fnUntraced(function* (perDay?: bigint) {
  const [evm, ton] = yield* Effect.all([EvmTestChain.make(), TonTestChain.make({ payers: 1 })], {
    concurrency: "unbounded"
  })
  const { payee, relayers } = ton.accounts
  const operator = TonTestAccounts.ofName("operator")
  yield* ton.mint(operator.address, stock)
  const far = {
    network: ton.network,
    asset: ton.jetton.raw,
    payee: payee.raw,
    environment: {
      PONTAGE_TON_RPC_URL: ton.rpcUrl,
      PONTAGE_TON_NETWORK: ton.network,
      PONTAGE_TON_SIGNER_KEY: relayers[0].seed.toString("hex"),
      PONTAGE_TON_BATCH_WINDOW_MS: "10",
      PONTAGE_BRIDGE_INVENTORY_TON_KEY: operator.seed.toString("hex")
    }
  }
  const inventory = InventoryService.between(evm, far, perDay)
  const credits = Effect.map(ton.credits(payee.address), (all) => all.map(({ amount, from }) => [from, amount]))
  const left = ton.balanceOf(operator.address)
  const sent = Effect.map(ton.calls, (calls) => calls.get("sendBoc") ?? 0)
  return { evm, ton, ...inventory, credits, left, sent, payee, there: operator, relayer: relayers[0] }
})

/** Takes Jettons out of the operator's wallet, by its own payment that another relayer sends. */
const spent = Effect.fnUntraced(function* (
  { accounts, network, rpcUrl }: TonTestChain.Shape,
  signer: TonTestAccounts.TestAccount,
  amount: bigint
) {
  const relayer = accounts.relayers[1]
  const payouts = exactTon.payouts({ signer, relayer: relayer.raw, rpcUrl, network })
  const asset = payouts.asset(undefined)
  if (asset === undefined) return yield* Effect.die(new Error("the token is not known"))
  const signing = yield* payouts.sign({ asset, recipient: accounts.deployer.raw, amount })
  if (signing._tag !== "Signed") return yield* Effect.die(new Error(signing.reason))
  const facilitator = yield* exactTon.facilitator({ signer: relayer, rpcUrl, network })
  const payment = yield* facilitator.read(signing.push.requirements, signing.push.payload)
  const slot = { lane: relayer.raw, number: yield* facilitator.nextSlot(relayer.raw, "known") }
  const { prepared } = yield* facilitator.prepare([payment], slot, yield* facilitator.chainHead)
  yield* facilitator.submit(prepared)
})

describe("the service with an inventory on TON", () => {
  it.live("is marked as custody, pays from a wallet without TON, and sells the payout to nobody else", () =>
    Effect.gen(function* () {
      const { credits, environment, evm, left, payee, relayer, settle, there, ton } = yield* opened()
      const { output, url } = yield* started(environment)
      assert.include(output.join(""), "custody: the account")
      assert.include(output.join(""), `on ton:local ${there.raw}`)
      assert.notInclude(output.join(""), there.seed.toString("hex"))
      const { paymentId } = yield* settle(url, 0)
      assert.deepStrictEqual(yield* credits, [])
      yield* evm.mine(2)
      const seen = yield* delivered(url, paymentId)
      assert.strictEqual(yield* left, stock - price)
      const [credit] = yield* ton.credits(payee.address)
      assert.strictEqual(credit?.amount, price)
      assert.strictEqual(seen?.transaction, credit?.transaction)
      assert.strictEqual(seen?.amount, `${price}`)
      assert.isBelow(Number(yield* ton.coins(there.address)), 1_000_000)
      // Anybody has the request of the payout: it is on the chain.
      const relayed = (yield* ton.transactions(there.address)).find(({ inMessage }) => inMessage?.init)
      const body = relayed?.inMessage?.body
      const to = TonAddress.fromCore(there.address)
      if (body === undefined || to === undefined) return yield* Effect.die(new Error("the wallet has no request"))
      const boc = TonBoc.toBase64(TonMessage.internal(to, 0n, body, there.wallet.init))
      const extra = { responseDestination: relayer.raw }
      const place = { network: Network.make(ton.network), payTo: payee.raw, asset: ton.jetton.raw, extra }
      const refused = yield* InventoryService.refusals(url, { kind: "w5-internal", boc, from: there.raw }, place)
      assert.deepStrictEqual(refused, ["already_used", "already_used"])
    }).pipe(Effect.scoped)
  )

  it.live("pays several shops one after the other, each once, through a kill in between", () =>
    Effect.gen(function* () {
      const { credits, environment, evm, left, settle } = yield* opened()
      const before = yield* started(environment)
      const payers = [0, 1, 2, 3]
      const ids = yield* Effect.forEach(payers, (payer) => settle(before.url, payer))
      yield* evm.mine(2)
      yield* Effect.repeat(credits, { until: (all) => all.length > 0, schedule: often })
      yield* before.kill
      const { url } = yield* started(environment)
      yield* Effect.forEach(ids, ({ paymentId }) => delivered(url, paymentId), { concurrency: "unbounded" })
      assert.strictEqual((yield* credits).length, payers.length)
      assert.strictEqual(yield* left, stock - price * BigInt(payers.length))
    }).pipe(Effect.scoped)
  )

  it.live.each(["kept", "dropped"] as const)(
    "pays the shop once after it was killed with its own payment sent, and the node has %s it",
    (fate) =>
      Effect.gen(function* () {
        const { credits, environment, evm, left, sent, settle, there, ton } = yield* opened()
        const before = yield* started(environment)
        yield* ton.setBlocks("manual")
        if (fate === "dropped") yield* ton.spoil("sendBoc", ToncenterFault.Dropped())
        const { paymentId } = yield* settle(before.url, 0)
        yield* evm.mine(2)
        yield* Effect.repeat(sent, { until: (count) => count > 0, schedule: often })
        yield* before.kill
        yield* ton.mend
        const { url } = yield* started(environment)
        yield* ton.setBlocks("instant")
        yield* delivered(url, paymentId)
        assert.deepStrictEqual(yield* credits, [[there.raw, price]])
        assert.strictEqual(yield* left, stock - price)
      }).pipe(Effect.scoped)
  )

  it.live("waits, and says why, while its wallet holds too few Jettons", () =>
    Effect.gen(function* () {
      const { credits, environment, evm, settle, there, ton } = yield* opened()
      const { url } = yield* started(environment)
      const { paymentId } = yield* settle(url, 0)
      yield* spent(ton, there, stock - price + 1n)
      yield* evm.mine(2)
      const stuck = yield* until(url, paymentId, ({ status }) => status === "stuck")
      assert.include(stuck?.detail, "holds 9999999, the payment is of 10000000")
      yield* ton.mint(there.address, 1n)
      yield* delivered(url, paymentId)
      assert.strictEqual((yield* credits).length, 1)
    }).pipe(Effect.scoped)
  )

  it.live("takes routes to accounts alone, in the one form of their address, and within the limit of a day", () =>
    Effect.gen(function* () {
      const { credits, environment, evm, operator, paid, payee, settle, there, ton } = yield* opened(price + 1n)
      const { url } = yield* started(environment)
      const client = yield* FacilitatorClient.make({ url })
      const friendly = payee.address.toString()
      const zero = `0:${"0".repeat(64)}`
      for (const recipient of [friendly, there.raw, ton.jetton.raw, operator.address, zero]) {
        const request = yield* paid(1, recipient)
        const refusal = yield* Effect.flip(client.settle(request, TestPayment.claim(1)))
        assert.strictEqual("detail" in refusal ? refusal.detail : refusal._tag, "inventory_recipient", recipient)
      }
      assert.strictEqual((yield* settle(url, 3)).status, "included")
      const limited = yield* Effect.flip(settle(url, 2))
      assert.strictEqual("detail" in limited ? limited.detail : limited._tag, "stock_day_limit")
      assert.strictEqual(yield* evm.balanceOf(operator.address), price + fee)
      assert.deepStrictEqual(yield* credits, [])
    }).pipe(Effect.scoped)
  )
})
