/** The least price of a network: it holds for every way to pay and every token, and the refusal names it. */
import { assert, describe, layer } from "@effect/vitest"
import type { PaymentRequest } from "@pontage/core"
import * as Effect from "effect/Effect"

import { EvmTestChain, Permit2Contracts } from "../../src/testing/index.ts"
import * as Operation from "../EvmTestOperation.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as Permit from "../PermitTestPayment.ts"

const chain = EvmTestChain.EvmTestChain
const below = "unsupported_authorization below_minimum_price"

/** Payments of 10 000 units, a cent of a dollar token, by every way to pay; each settles without a least price. */
const ways = Effect.gen(function* () {
  const one = yield* chain
  const { options, plain } = yield* Operation.ready
  yield* Permit2Contracts.deploy(one)
  for (const { address } of one.accounts.payers) yield* Permit2Contracts.approve(one, address)
  yield* Operation.mintPlain(plain, one.accounts.payers[0].address)
  const account = yield* Operation.simpleOf(plain, 1n)
  const requests: Readonly<Record<string, PaymentRequest>> = {
    "an authorization": yield* Payment.payment(),
    "a transfer by Permit2": yield* Permit.request(),
    "a user operation": yield* Operation.request(account, plain)
  }
  const outcomes = (minimum: Payment.FacilitatorOptions) =>
    Effect.gen(function* () {
      const schemeFacilitator = yield* Operation.schemeWith({ ...options, permit2: true, ...minimum })
      return yield* Effect.forEach(Object.values(requests), (request) =>
        Payment.outcome(
          Effect.flatMap(Payment.read(schemeFacilitator, request), (payment) => schemeFacilitator.verify(payment))
        )
      )
    })
  return { outcomes, plain }
})

/** The message of a start that fails. */
const mistake = (minimum: Payment.FacilitatorOptions, isDollar = true) =>
  Effect.gen(function* () {
    const one = yield* chain
    const gold = {
      network: one.network,
      address: one.accounts.stranger.address,
      symbol: "GOLD",
      decimals: 18,
      dollar: isDollar
    }
    const started = Effect.as(Payment.schemeOf(one, minimum, [gold]), "started")
    return yield* Effect.catch(started, ({ message }) => Effect.succeed(message))
  })

describe("the least price of a network", () => {
  layer(EvmTestChain.layer({ payers: 2 }), { excludeTestServices: true })((it) => {
    it.effect("holds for every way to pay, and lets the price itself through", () =>
      Effect.gen(function* () {
        const { outcomes } = yield* ways
        const ok = ["ok", "ok", "ok"]
        assert.deepStrictEqual(yield* outcomes({}), ok)
        assert.deepStrictEqual(yield* outcomes({ minimumPrice: "$0.01" }), ok)
        assert.deepStrictEqual(yield* outcomes({ minimumPrice: "$0.0100000001" }), [below, below, below])
        assert.deepStrictEqual(yield* outcomes({ minimumPrice: "$0.02" }), [below, below, below])
        assert.deepStrictEqual(yield* outcomes({ minimumPrice: "$5", minimumAmounts: { PUSD: 10_000n } }), [
          below,
          below,
          "ok"
        ])
        assert.deepStrictEqual(yield* outcomes({ minimumAmounts: { PUSD: 10_001n } }), ["ok", "ok", below])
      })
    )

    it.effect("is named by the refusal", () =>
      Effect.gen(function* () {
        const schemeFacilitator = yield* Payment.scheme(yield* chain, { minimumPrice: "$0.02" })
        const payment = yield* Payment.read(schemeFacilitator, yield* Payment.payment())
        const { message } = yield* Effect.flip(schemeFacilitator.verify(payment))
        assert.match(message, /are of at least 20000 here \(minimumPrice \$0\.02\), and this one is of 10000$/)
      })
    )

    it.effect("is refused at start where it cannot hold", () =>
      Effect.gen(function* () {
        assert.match(yield* mistake({ minimumPrice: "0.02" }), /minimumPrice: expected a price like/)
        assert.match(
          yield* mistake({ minimumAmounts: { GOLDEN: 1n } }),
          /minimumAmounts: "GOLDEN" is none of the tokens of/
        )
        assert.match(yield* mistake({ minimumAmounts: { GOLD: 0n } }), /minimumAmounts\["GOLD"\]: expected a bigint/)
        assert.match(
          yield* mistake({ minimumPrice: "$0.02" }, false),
          /minimumPrice: GOLD \(0x.*\) is no dollar; give its/
        )
        assert.strictEqual(yield* mistake({ minimumPrice: "$0.02", minimumAmounts: { GOLD: 5n } }, false), "started")
        assert.strictEqual(yield* mistake({ minimumPrice: "$0.02" }), "started")
      })
    )
  })
})
