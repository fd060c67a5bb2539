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
  return {
    paymentPayload: PaymentPayload.sealPayload("exact", first.network, payload),
    paymentRequirements: requirements
  }
})

describe("a routed payment", () => {
  it.live("is replaced with what its message costs then, where that has risen since it was sent", () =>
    Effect.gen(function* () {
      const routed = yield* RoutedPayments.make()
      const { first, home, near } = routed
      const { mine, request, setAutomine } = first
      const pooled = Effect.map(request("txpool_content"), (content): ReadonlyArray<Hex> => {
        const { pending }: Content = Object(content)
        return Object.values(pending).flatMap((byNonce) => Object.values(byNonce).map(({ hash }) => hash))
      })
      const other = (known: Hex | undefined) =>
        Effect.map(
          Effect.repeat(pooled, { until: ([hash]) => hash !== undefined && hash !== known, schedule: poll }),
          ([hash]) => hash
        )
      const payment = yield* signedBy(routed)
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
