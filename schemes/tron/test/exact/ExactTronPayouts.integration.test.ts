/** Payments of an operator on a TRON node: others are signed only once the last one can never be included. */
import { assert, describe, it } from "@effect/vitest"
import type { Push } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as exactTron from "../../src/exact/ExactTronRoles.ts"
import * as TronTestChain from "../../src/testing/TronTestChain.ts"

const amount = 10_000_000n
/** More than a payment is valid for, in milliseconds; and more blocks than are not solidified. */
const validity = 1_300_000
const solidifying = 30

/** An operator's account, a payment, and the node's own way to take it. */
const opened = Effect.fnUntraced(function* () {
  const tron = yield* TronTestChain.make({ payers: 1, mining: "manual" })
  yield* tron.mine(solidifying)
  const { accounts, network, rpcUrl, token } = tron
  const payouts = exactTron.payouts({ signer: exactTron.localSigner(accounts.payers[0].privateKey), rpcUrl, network })
  const asset = payouts.asset(undefined)
  if (asset === undefined) return yield* Effect.die(new Error("the token is not known"))
  yield* payouts.prove(asset)
  const recipient = accounts.payee.address
  const sign = Effect.flatMap(payouts.sign({ asset, recipient, amount }), (push) =>
    typeof push === "string" ? Effect.die(new Error(push)) : Effect.succeed(push)
  )
  const settler = yield* exactTron.facilitator({ rpcUrl, network })
  const submit = Effect.fnUntraced(function* ({ payload, requirements }: Push) {
    const payment = yield* settler.read(requirements, payload)
    const now = yield* settler.chainHead
    const { prepared } = yield* settler.prepare([payment], undefined, now)
    yield* settler.submit(prepared)
    return prepared.transaction
  })
  const stateOf = (push: Push) => Effect.map(payouts.observe(push), ({ _tag }) => _tag)
  return { tron, payouts, asset, recipient, sign, submit, stateOf, token }
})

describe("exactTron.payouts", () => {
  it.live("signs another payment each time, makes the one that is sent, and calls it final once it is solidified", () =>
    Effect.gen(function* () {
      const { payouts, recipient, sign, stateOf, submit, token, tron } = yield* opened()
      const [push, other] = [yield* sign, yield* sign]
      assert.notDeepEqual(push.payload, other.payload)
      assert.isTrue(push.once)
      assert.strictEqual(yield* stateOf(push), "Open")
      const transaction = yield* submit(push)
      assert.strictEqual(yield* stateOf(push), "Open")
      yield* tron.mine(1)
      const seen = yield* payouts.observe(push)
      assert.deepInclude(seen, { _tag: "Delivered", transaction, amount, final: false })
      yield* tron.mine(solidifying)
      assert.deepInclude(yield* payouts.observe(push), { _tag: "Delivered", transaction, final: true })
      assert.strictEqual(yield* tron.balanceOf(recipient, token.address), amount)
      assert.strictEqual(yield* stateOf(other), "Open")
    }).pipe(Effect.scoped)
  )

  it.live("calls a payment over only when a solidified block is past its expiration and no block has it", () =>
    Effect.gen(function* () {
      const { sign, stateOf, submit, tron } = yield* opened()
      const [sent, unsent] = [yield* sign, yield* sign]
      const id = yield* submit(sent)
      yield* tron.advance(validity)
      yield* tron.drop(id)
      yield* tron.mine(1)
      // The head is past the expiration; a reorganisation could still include it in an earlier block.
      assert.strictEqual(yield* stateOf(unsent), "Open")
      assert.strictEqual(yield* stateOf(sent), "Open")
      yield* tron.mine(solidifying)
      assert.strictEqual(yield* stateOf(unsent), "Over")
      assert.strictEqual(yield* stateOf(sent), "Over")
    }).pipe(Effect.scoped)
  )

  it.live("keeps a payment that was included delivered, however long ago that was", () =>
    Effect.gen(function* () {
      const { sign, stateOf, submit, tron } = yield* opened()
      const push = yield* sign
      yield* submit(push)
      yield* tron.mine(1)
      yield* tron.advance(validity)
      yield* tron.mine(solidifying)
      assert.strictEqual(yield* stateOf(push), "Delivered")
    }).pipe(Effect.scoped)
  )

  it.live("signs nothing that the chain would not make, and says why", () =>
    Effect.gen(function* () {
      const { asset, payouts, recipient, tron } = yield* opened()
      const obstacleTo = (order: { readonly recipient: string; readonly amount: bigint }) =>
        Effect.map(payouts.sign({ asset, ...order }), (signed) => (typeof signed === "string" ? signed : "none"))
      assert.include(yield* obstacleTo({ recipient, amount: 10n ** 15n }), "smallest unit, the payment takes")
      yield* tron.drain(payouts.account)
      yield* tron.mine(1)
      assert.include(yield* obstacleTo({ recipient, amount }), "would burn")
      assert.include(yield* obstacleTo({ recipient: payouts.account, amount }), "another account")
    }).pipe(Effect.scoped)
  )

  it.live("says nothing of a payment while the node does not respond", () =>
    Effect.gen(function* () {
      const { sign } = yield* opened()
      const push = yield* sign
      const silent = exactTron.payouts({
        signer: exactTron.localSigner("1".repeat(64)),
        rpcUrl: "http://127.0.0.1:9",
        network: "tron:local"
      })
      const failure = yield* Effect.flip(silent.observe(push))
      assert.strictEqual(failure._tag, "ChainUnavailable")
    }).pipe(Effect.scoped)
  )
})
