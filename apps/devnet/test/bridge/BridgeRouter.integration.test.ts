/**
 * The router over LayerZero's published contracts on two chains: the payer's one signature pays on the second chain, and
 * no other route than the signed one is accepted.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { pad, parseEventLogs, slice, type TransactionReceipt } from "viem"

import * as BridgedChains from "../../src/bridge/BridgedChains.ts"
import * as LayerZeroRelay from "../../src/bridge/LayerZeroRelay.ts"
import * as SignedRoute from "./SignedRoute.ts"
import * as TwoChains from "./TwoChains.ts"

/** At most 5 % above the gas that the prototype of the router and LayerZero's contracts took. */
const within = (receipt: TransactionReceipt, measured: bigint) =>
  assert.isAtMost(Number(receipt.gasUsed), Number((measured * 105n) / 100n))

const packetIn = ({ logs }: TransactionReceipt): LayerZeroRelay.Packet => {
  const [packet] = LayerZeroRelay.packetsIn(logs)
  if (packet === undefined) throw new Error("no packet was sent")
  return packet
}

describe("the router over LayerZero", () => {
  it.live("pays the recipient on the other chain by one signature of a payer without coin", () =>
    Effect.gen(function* () {
      const chains = yield* TwoChains.make
      const { attester, away, first, pay, quote, routeOf, router, second, signed, token } = chains
      const { payee, payers, signers } = first.accounts
      const balance = second.balanceOf(payee.address, token)
      const payment = yield* signed(yield* routeOf())
      const fee = yield* quote(payment.route)
      const sending = yield* pay(payment, fee)
      assert.strictEqual(sending.status, "success")
      within(sending, 385_500n)
      const packet = packetIn(sending)
      const [sent] = parseEventLogs({ abi: SignedRoute.routerAbi, eventName: "Bridged", logs: sending.logs })
      assert.deepStrictEqual(sent?.args, {
        from: payers[0].address,
        nonce: payment.nonce,
        message: packet.guid,
        arriving: 10_000n
      })
      const attested = yield* LayerZeroRelay.attest(away, packet, attester)
      const committed = yield* LayerZeroRelay.commit(away, packet)
      const delivered = yield* LayerZeroRelay.execute(away, packet, 120_000n)
      within(attested, 69_700n)
      within(committed, 79_400n)
      within(delivered, 119_800n)
      assert.strictEqual(yield* balance, 10_000n)
      assert.strictEqual(yield* first.balanceOf(signers[0].address), 150n)
      assert.strictEqual(yield* first.balanceOf(payers[0].address), 1_000_000_000n - 10_150n)
      assert.strictEqual(yield* Effect.promise(() => first.client.getBalance({ address: payers[0].address })), 0n)
      // Nothing stays with the router: no money, no coin, no allowance.
      assert.strictEqual(yield* first.balanceOf(router), 0n)
      assert.strictEqual(yield* Effect.promise(() => first.client.getBalance({ address: router })), 0n)
      assert.strictEqual((yield* LayerZeroRelay.deliver(away, packet, second.accounts.stranger)).status, "reverted")
      assert.strictEqual((yield* pay(payment, fee)).status, "reverted")
      assert.strictEqual(yield* balance, 10_000n)

      const later = yield* signed(yield* routeOf())
      const again = yield* pay(later, fee)
      within(again, 300_000n)
      const next = packetIn(again)
      within(yield* LayerZeroRelay.attest(away, next, attester), 69_700n)
      within(yield* LayerZeroRelay.commit(away, next), 73_400n)
      within(yield* LayerZeroRelay.execute(away, next, 120_000n), 68_500n)
      assert.strictEqual(yield* balance, 20_000n)

      // The facilitator pays a tenth more than the message's price, which may rise until the block: the endpoint returns the rest.
      const margined = yield* pay(yield* signed(yield* routeOf()), (fee * 11n) / 10n)
      assert.strictEqual(margined.status, "success")
      assert.isAtMost(Number(margined.gasUsed - again.gasUsed), 7_100)
    })
  )

  it.live("refuses every other route than the signed one, and leaves the authorization good", () =>
    Effect.gen(function* () {
      const { first, lockbox, pay, quote, routeOf, router, signed } = yield* TwoChains.make
      const { payers, signers, stranger } = first.accounts
      const payment = yield* signed(yield* routeOf())
      const fee = yield* quote(payment.route)
      const changes: Readonly<Record<string, Partial<SignedRoute.Route>>> = {
        recipient: { recipient: pad(stranger.address) },
        destination: { destination: BridgedChains.eids.first },
        minimum: { minimum: 1n },
        amount: { amount: 10_001n, fee: 149n },
        "fee's recipient": { feeRecipient: stranger.address },
        options: { options: TwoChains.optionsFor(10n) },
        tag: { tag: pad("0xff") },
        bridge: { bridge: stranger.address },
        token: { token: lockbox }
      }
      for (const [name, change] of Object.entries(changes)) {
        const other = { ...payment, route: { ...payment.route, ...change } }
        assert.strictEqual((yield* pay(other, fee, stranger.address)).status, "reverted", name)
      }
      const forged = { ...payment, signature: SignedRoute.forged(payment.signature) }
      assert.strictEqual((yield* pay(forged, fee)).status, "reverted")
      const short = { ...payment, signature: slice(payment.signature, 0, 64) }
      assert.strictEqual((yield* pay(short, fee)).status, "reverted")
      assert.strictEqual((yield* pay(payment, fee - 1n)).status, "reverted")
      // The lockbox moves whole units of the OFT alone; the least that arrives is above what is sent.
      const greedy = yield* signed(yield* routeOf({ minimum: 10_001n }))
      assert.strictEqual((yield* pay(greedy, fee)).status, "reverted")
      // A stranger submits it: the same route, the fee to the one that the payer has signed, and the rest of the value back.
      const before = yield* first.balanceOf(signers[0].address)
      const external = yield* pay(payment, fee + 10n ** 17n, stranger.address)
      assert.strictEqual(external.status, "success")
      assert.strictEqual(yield* first.balanceOf(signers[0].address), before + 150n)
      assert.strictEqual(yield* first.balanceOf(payers[0].address), 1_000_000_000n - 10_150n)
      const coin = yield* Effect.promise(() => first.client.getBalance({ address: router }))
      assert.strictEqual(coin, 0n)
    })
  )

  it.live(
    "delivers only what its verifiers attest, in their order, and anybody can deliver what the executor has failed",
    () =>
      Effect.gen(function* () {
        const { attester, away, first, pay, quote, routeOf, second, signed, token } = yield* TwoChains.make
        const { payee, stranger } = first.accounts
        const balance = second.balanceOf(payee.address, token)
        const earlier = yield* signed(yield* routeOf())
        const fee = yield* quote(earlier.route)
        const one = packetIn(yield* pay(earlier, fee))
        // Too little gas was paid for.
        const poor = yield* signed(yield* routeOf({ options: TwoChains.optionsFor(20_000n) }))
        const two = packetIn(yield* pay(poor, yield* quote(poor.route)))
        assert.strictEqual((yield* LayerZeroRelay.deliver(away, two, stranger)).status, "reverted")
        assert.strictEqual((yield* LayerZeroRelay.attest(away, two, stranger)).status, "success")
        assert.strictEqual((yield* LayerZeroRelay.commit(away, two)).status, "reverted")
        yield* LayerZeroRelay.attest(away, two, attester)
        yield* LayerZeroRelay.commit(away, two)
        assert.strictEqual((yield* LayerZeroRelay.deliver(away, two, stranger)).status, "reverted")
        yield* LayerZeroRelay.attest(away, one, attester)
        yield* LayerZeroRelay.commit(away, one)
        assert.strictEqual((yield* LayerZeroRelay.execute(away, two, 20_000n)).status, "success")
        assert.strictEqual(yield* balance, 0n)
        assert.strictEqual((yield* LayerZeroRelay.deliver(away, two, stranger)).status, "success")
        assert.strictEqual(yield* balance, 10_000n)
        assert.strictEqual((yield* LayerZeroRelay.deliver(away, two, stranger)).status, "reverted")
        assert.strictEqual((yield* LayerZeroRelay.execute(away, one, 120_000n)).status, "success")
        assert.strictEqual(yield* balance, 20_000n)
      })
  )
})
