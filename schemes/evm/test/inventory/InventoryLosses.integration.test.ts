/** An operator's loss by a reorganisation deeper than its finality, on two real chains: it is counted, and the pair stops. */
import { assert, describe, it } from "@effect/vitest"
import { Network, type Payment, type SchemeFacilitator } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

import { EvmAddress, EvmHex, exactEvm } from "../../src/index.ts"
import * as EvmTestChain from "../../src/testing/EvmTestChain.ts"
import * as EvmTestToken from "../EvmTestToken.ts"

const price = 10_000_000n
const fee = 50_000n

/** Signs and sends the transaction of a payment, and returns its place on the chain. */
const settled = Effect.fnUntraced(function* (facilitator: SchemeFacilitator, payment: Payment) {
  const [lane = ""] = facilitator.lanes
  const number = yield* facilitator.nextSlot(lane, "known")
  const { prepared } = yield* facilitator.prepare([payment], { lane, number }, yield* facilitator.chainHead)
  yield* facilitator.submit(prepared)
  const observed = { payment, since: prepared.head }
  const look = Effect.map(facilitator.observe([observed], [prepared]), ({ observations: [first] }) => first)
  const seen = yield* Effect.repeat(look, {
    until: (one) => one?._tag !== "Pending",
    schedule: Schedule.spaced("20 millis")
  })
  if (seen?._tag !== "Settled") return yield* Effect.die(new Error(`the payment is ${seen?._tag}`))
  return seen
})

const opened = Effect.gen(function* () {
  const [first, second] = yield* Effect.all([EvmTestChain.make(), EvmTestChain.make({ chainId: 31_338 })])
  const { payee, payers, signers } = first.accounts
  const operator = signers[3]
  const assets = [
    { network: first.network, ...first.token },
    { network: second.network, ...second.token }
  ]
  const shared = { assets, finalityDepth: 1 }
  const to = { network: second.network, rpcUrl: second.rpcUrl, finalityDepth: 50 }
  yield* second.mint(operator.address, 100_000_000n)
  const facilitator = yield* exactEvm.facilitator({
    ...shared,
    signer: signers[0],
    rpcUrl: first.rpcUrl,
    inventory: { signer: operator, pairs: [{ to, fee, perDay: 100_000_000n, lossBudget: price }] }
  })
  const far = yield* exactEvm.facilitator({ ...shared, signer: signers[1], rpcUrl: second.rpcUrl })
  const network = Network.make(first.network)
  const requirements = {
    scheme: "exact",
    network,
    maxAmountRequired: `${price + fee}`,
    resource: "https://shop.example/report",
    payTo: operator.address,
    asset: first.token.address,
    extra: {
      assetTransferMethod: "inventory",
      inventory: {
        network: second.network,
        asset: EvmAddress.checksum(EvmAddress.fromText(second.token.address) ?? EvmAddress.zero),
        payTo: payee.address,
        amount: `${price}`,
        fee: `${fee}`,
        quotedUntil: 4_102_444_800
      }
    }
  }
  const paid = Effect.fnUntraced(function* (index: number) {
    const signer = payers[index] ?? payers[0]
    const routes = exactEvm.routes({ inventories: [operator.address] })
    const client = exactEvm.client({ signer, network, assets, routes })
    const asset = client.asset(requirements)
    if (asset === undefined) return yield* Effect.die(new Error("the token is not known"))
    const validBefore = Math.floor((yield* Clock.currentTimeMillis) / 1000) + 600
    const { payload } = yield* client.sign({ requirements, asset, validAfter: 0, validBefore, binding: undefined })
    return yield* facilitator.read(requirements, payload)
  })
  return { first, second, facilitator, far, paid, operator }
})

describe("an inventory whose finality is too short", () => {
  it.live("counts a payment that was taken back after the shop was paid, and takes no new ones", () =>
    Effect.gen(function* () {
      const { far, facilitator, first, paid, second } = yield* opened
      const { onward } = facilitator
      if (onward === undefined) return yield* Effect.die(new Error("the facilitator has no onward part"))
      const payment = yield* paid(0)
      yield* facilitator.verify(payment)
      const before = yield* first.snapshot
      const { block, transaction } = yield* settled(facilitator, payment)
      const observe = onward.observe({ payment, transaction, block, attempt: 1 })
      assert.strictEqual((yield* observe)._tag, "Underway")
      yield* first.mine(1)
      const ready = yield* observe
      if (ready._tag !== "Ready") return yield* Effect.die(new Error(`the payout is ${ready._tag}`))
      // The payment to the shop is the same one in every attempt, so the other token takes it once.
      assert.deepStrictEqual(yield* onward.observe({ payment, transaction, block, attempt: 2 }), ready)
      const { payload, requirements } = ready.push
      const extra = { ...requirements.extra, delivers: "pay_of_this_test" }
      const payout = yield* far.read({ ...requirements, extra }, payload)
      yield* far.verify(payout)
      yield* settled(far, payout)
      assert.strictEqual((yield* observe)._tag, "Delivered")
      yield* facilitator.verify(yield* paid(1))
      yield* first.revert(before)
      yield* first.mine(4)
      assert.deepInclude(yield* observe, { _tag: "Delivered", amount: price, final: false })
      const refusal = yield* Effect.flip(facilitator.verify(yield* paid(2)))
      assert.strictEqual(refusal._tag, "FacilitatorUnavailable")
      // The payer's authorization is still good, and its chain may show it again: then nothing is lost.
      yield* settled(facilitator, payment)
      yield* first.mine(1)
      assert.strictEqual(yield* second.balanceOf(first.accounts.payee.address), price)
    }).pipe(Effect.scoped)
  )
})

describe("an operator's payment to a shop", () => {
  it.live("is never made after its authorization was cancelled, so that the buyer can be paid back", () =>
    Effect.gen(function* () {
      const { facilitator, far, first, operator, paid, second } = yield* opened
      const { onward } = facilitator
      if (onward === undefined) return yield* Effect.die(new Error("the facilitator has no onward part"))
      const payment = yield* paid(0)
      const { block, transaction } = yield* settled(facilitator, payment)
      yield* first.mine(1)
      const observe = onward.observe({ payment, transaction, block, attempt: 1 })
      const ready = yield* observe
      if (ready._tag !== "Ready") return yield* Effect.die(new Error(`the payout is ${ready._tag}`))
      const { payload, requirements } = ready.push
      const payout = yield* far.read({ ...requirements, extra: { delivers: "pay_of_this_test" } }, payload)
      const from = EvmAddress.fromText(operator.address) ?? EvmAddress.zero
      const cancelled = { from, nonce: EvmHex.fromTrusted(payout.authorization.nonce) }
      const cancelling = EvmTestToken.cancellation(cancelled, operator)
      yield* second.send(yield* Effect.provideService(cancelling, EvmTestChain.EvmTestChain, second))
      const end = yield* observe
      assert.strictEqual(end._tag, "Blocked")
      assert.include(end._tag === "Blocked" ? end.reason : "", "used up the nonce")
      assert.strictEqual((yield* Effect.flip(far.verify(payout)))._tag, "ValidationError")
      assert.strictEqual(yield* second.balanceOf(first.accounts.payee.address), 0n)
    }).pipe(Effect.scoped)
  )
})
