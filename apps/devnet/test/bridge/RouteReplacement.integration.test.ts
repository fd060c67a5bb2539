/** A routed payment's transaction that is replaced after its message has become dearer, by a whole facilitator on a real chain. */
import { assert, describe, it } from "@effect/vitest"
import { Binding, Facilitator, LocalFacilitator, PaymentPayload } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { type Hex, isHash } from "viem"

import * as LayerZero from "../../src/bridge/LayerZero.ts"
import * as RoutedPayments from "./RoutedPayments.ts"

/** The pool of a node: by account, and by nonce. */
interface Content {
  readonly pending: Readonly<Record<string, Readonly<Record<string, { readonly hash: Hex }>>>>
}

/** The transactions that wait for a block. */
const pooledIn = ({ request }: RoutedPayments.RoutedPayments["first"]) =>
  Effect.map(request("txpool_content"), (content): ReadonlyArray<Hex> => {
    const { pending }: Content = Object(content)
    return Object.values(pending).flatMap((byNonce) => Object.values(byNonce).map(({ hash }) => hash))
  })

const poll = Schedule.spaced("20 millis")

/** A routed payment by the present quote, ready to be settled. */
const signedBy = Effect.fnUntraced(function* ({ client, first, offer }: RoutedPayments.RoutedPayments) {
  const requirements = yield* offer
  const buyer = client(first.accounts.payers[0])
  const asset = buyer.asset(requirements)
  if (asset === undefined) return yield* Effect.die(new Error("the buyer does not know the token"))
  const binding = yield* Binding.make("a-challenge-of-forty-three-characters-of-64")
  const validBefore = Math.floor((yield* Clock.currentTimeMillis) / 1000) + 80
  const { payload } = yield* buyer.sign({ requirements, asset, validAfter: 0, validBefore, binding })
  const paymentPayload = PaymentPayload.sealPayload("exact", first.network, payload)
  return { payload, request: { paymentPayload, paymentRequirements: requirements } }
})

/** A facilitator that has signed a routed payment's transaction, and not sent it. */
const prepared = Effect.gen(function* () {
  const routed = yield* RoutedPayments.make()
  const { facilitator } = routed
  const { payload, request } = yield* signedBy(routed)
  const payment = yield* facilitator.read(request.paymentRequirements, payload)
  const [lane = ""] = facilitator.lanes
  const number = yield* facilitator.nextSlot(lane, "known")
  const head = yield* facilitator.chainHead
  const { prepared: signed } = yield* facilitator.prepare([payment], { lane, number }, head)
  const observe = Effect.map(
    facilitator.observe([{ payment, since: signed.head }], [signed]),
    ({ inclusion, observations }) => ({ inclusion, seen: observations[0] })
  )
  return { ...routed, payment, signed, observe, dearer: routed.home.priceGas((LayerZero.gasPrice * 130n) / 100n) }
})

describe("recorded bytes of a routed payment", () => {
  it.live("are not sent where their message has become dearer than what they bring", () =>
    Effect.gen(function* () {
      const { dearer, facilitator, first, signed } = yield* prepared
      yield* dearer
      const result = yield* facilitator.submit(signed)
      assert.strictEqual(result._tag, "Outdated")
      yield* first.mine(1)
      const known = yield* first.request("eth_getTransactionByHash", [signed.transaction])
      assert.isNull(known)
    })
  )

  it.live("that have reverted are no failure while the payer's authorization can still be submitted", () =>
    Effect.gen(function* () {
      const { dearer, facilitator, first, observe, payment, signed } = yield* prepared
      yield* dearer
      yield* first.request("eth_sendRawTransaction", [signed.bytes])
      yield* first.mine(RoutedPayments.finalityDepth + 1)
      const { inclusion, seen } = yield* observe
      assert.strictEqual(inclusion?.transaction, signed.transaction)
      assert.strictEqual(seen?._tag, "Pending")
      yield* first.mine(RoutedPayments.finalityDepth + 1)
      assert.strictEqual((yield* observe).seen?._tag, "Pending")
      // Any party can submit it with the present price of the message: the payment is settled then.
      const { input, to } = yield* Effect.promise(() =>
        first.client.getTransaction({ hash: hashOf(signed.transaction) })
      )
      if (to === null) return assert.fail("the transaction calls no contract")
      const { stranger } = first.accounts
      const later = yield* first.send({ from: stranger.address, to, data: input, value: 10n ** 17n })
      assert.strictEqual(later.status, "success")
      const end = (yield* observe).seen
      assert.deepInclude(end, { _tag: "Settled", transaction: later.transactionHash, external: true })
      const conclusion = yield* facilitator.conclude({ payment, since: signed.head })
      assert.strictEqual(conclusion._tag, "Settled")
    })
  )
})

const hashOf = (text: string): Hex => {
  if (!isHash(text)) throw new Error(`${text} is no hash`)
  return text
}

describe("a routed payment", () => {
  it.live("is not sent again with what its message cost before: no transaction of it reverts", () =>
    Effect.gen(function* () {
      const routed = yield* RoutedPayments.make()
      const { first, home, near } = routed
      const { mine, request, setAutomine } = first
      const pooled = pooledIn(first)
      const { request: payment } = yield* signedBy(routed)
      const context = yield* Layer.build(
        LocalFacilitator.layerMemory({ schemes: [Effect.succeed(routed.facilitator)], drainMillis: 0 })
      )
      yield* setAutomine(false)
      const settling = yield* Effect.forkChild(Context.get(context, Facilitator).settle(payment))
      const [sent] = yield* Effect.repeat(pooled, { until: ([hash]) => hash !== undefined, schedule: poll })
      const dearer = Effect.gen(function* () {
        yield* request("anvil_dropTransaction", [sent])
        yield* setAutomine(true)
        yield* home.priceGas((LayerZero.gasPrice * 130n) / 100n)
        yield* mine(3)
      })
      yield* near.whileDown(dearer)
      // Blocks are made at once now: the same bytes, sent again, would be in one and revert.
      const reverted = Effect.repeat(request("eth_getTransactionReceipt", [sent]), {
        until: (receipt) => receipt !== null,
        schedule: poll
      })
      const settled = yield* Effect.raceFirst(Fiber.join(settling), Effect.as(reverted, { transaction: sent }))
      assert.notStrictEqual(settled.transaction, sent)
      assert.strictEqual((yield* first.receipt(hashOf(settled.transaction ?? ""))).status, "success")
      assert.strictEqual((yield* routed.packets).length, 1)
    })
  )

  it.live("is replaced with what its message costs then, where that has risen since it was sent", () =>
    Effect.gen(function* () {
      const routed = yield* RoutedPayments.make()
      const { first, home, near } = routed
      const { mine, request, setAutomine } = first
      const pooled = pooledIn(first)
      const other = (known: Hex | undefined) =>
        Effect.map(
          Effect.repeat(pooled, { until: ([hash]) => hash !== undefined && hash !== known, schedule: poll }),
          ([hash]) => hash
        )
      const { request: payment } = yield* signedBy(routed)
      const context = yield* Layer.build(
        LocalFacilitator.layerMemory({ schemes: [Effect.succeed(routed.facilitator)], drainMillis: 0 })
      )
      yield* setAutomine(false)
      const settling = yield* Effect.forkChild(Context.get(context, Facilitator).settle(payment))
      const sent = yield* other(undefined)
      // The node loses the transaction, and the message becomes dearer, all unseen by the facilitator.
      const dearer = Effect.gen(function* () {
        yield* request("anvil_dropTransaction", [sent])
        const pricing = yield* Effect.forkChild(home.priceGas((LayerZero.gasPrice * 130n) / 100n))
        yield* other(sent)
        yield* mine(1)
        yield* Fiber.join(pricing)
        yield* mine(3)
      })
      yield* near.whileDown(dearer)
      // It may send the same bytes again, which would revert, and replaces them before they are in a block.
      yield* other(sent)
      yield* setAutomine(true)
      yield* mine(1)
      const { transaction } = yield* Fiber.join(settling)
      if (!isHash(transaction)) return assert.fail(`${transaction} is no hash`)
      assert.notStrictEqual(transaction, sent)
      assert.strictEqual((yield* first.receipt(transaction)).status, "success")
      assert.strictEqual((yield* routed.packets).length, 1)
    })
  )
})
