/** A payout is signed only where the core asks for it: a signature that is thrown away would hold its account up. */
import { assert, describe, it } from "@effect/vitest"
import { Network, type Payouts, type PayoutState, type Push } from "@pontage/core"
import * as Effect from "effect/Effect"

import { ExactEvm } from "../../src/index.ts"
import * as AccountPayout from "../../src/inventory/AccountPayout.ts"
import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"

const network = Network.make("eip155:31337")
const asset = { network, address: EvmAddress.zero, symbol: "USD", decimals: 6, dollar: true, extra: {} }
const inventory = {
  network,
  asked: 7n,
  route: {
    network,
    asset: "token",
    recipient: "shop",
    amount: 7n,
    fee: 1n,
    tag: EvmHex.fromTrusted(`0x${"0".repeat(64)}`)
  }
}
const push: Push = {
  requirements: {
    scheme: "exact",
    network,
    maxAmountRequired: "7",
    resource: "urn:far",
    payTo: "shop",
    asset: "token"
  },
  payload: { number: 1 }
}

/** An account whose last payment is in this state. */
const accountOf = (state: PayoutState) => {
  let signed = 0
  const payouts: Payouts = {
    scheme: ExactEvm.scheme,
    network,
    account: "operator",
    asset: () => asset,
    prove: () => Effect.void,
    balance: () => Effect.succeed(7n),
    sign: () => Effect.sync(() => ({ _tag: "Signed", push: { ...push, payload: { number: 1 + ++signed } } })),
    observe: () => Effect.succeed(state)
  }
  return { payouts, signed: () => signed }
}

const observed = Effect.fnUntraced(function* (payouts: Payouts, pushed: Push | undefined) {
  const payout = yield* AccountPayout.make(payouts, asset, inventory, pushed)
  return yield* payout.pay
})

describe("AccountPayout", () => {
  it.effect.each([
    { pushed: undefined, state: { _tag: "Open" }, unsent: {} },
    { pushed: push, state: { _tag: "Over", isUnsent: false }, unsent: {} },
    { pushed: push, state: { _tag: "Over", isUnsent: true }, unsent: { isLastUnsent: true } }
  ] as const)("signs nothing while it is observed: $state", ({ pushed, state, unsent }) =>
    Effect.gen(function* () {
      const { payouts, signed } = accountOf(state)
      const seen = yield* observed(payouts, pushed)
      assert.strictEqual(signed(), 0)
      if (seen._tag !== "Unsigned") return assert.fail(seen._tag)
      assert.deepInclude(seen, unsent)
      assert.deepStrictEqual(yield* seen.sign, { _tag: "Ready", push: { ...push, payload: { number: 2 }, once: true } })
    })
  )

  it.effect("is the payment on record while that one may be made", () =>
    Effect.gen(function* () {
      const { payouts, signed } = accountOf({ _tag: "Open" })
      assert.deepStrictEqual(yield* observed(payouts, push), { _tag: "Ready", push: { ...push, once: true } })
      assert.strictEqual(signed(), 0)
    })
  )
})
