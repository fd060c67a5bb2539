/** Payments of an operator on a TRON node: others are signed only once the last one can never be included. */
import { assert, describe, it, layer } from "@effect/vitest"
import { PayoutLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as exactTron from "../../src/exact/ExactTronRoles.ts"
import * as TronTestChain from "../../src/testing/TronTestChain.ts"

/** More than a payment is valid for, in milliseconds; and more blocks than are not solidified. */
const validity = 1_300_000
const solidifying = 30

/** An operator's account on a node that makes blocks on demand. */
const opened = Effect.gen(function* () {
  const tron = yield* TronTestChain.make({ payers: 1, mining: "manual" })
  yield* tron.mine(solidifying)
  const { accounts, network, rpcUrl } = tron
  const payouts = exactTron.payouts({ signer: exactTron.localSigner(accounts.payers[0].privateKey), rpcUrl, network })
  const asset = payouts.asset(undefined)
  if (asset === undefined) return yield* Effect.die(new Error("the token is not known"))
  yield* payouts.prove(asset)
  const facilitator = yield* exactTron.facilitator({ rpcUrl, network })
  const recipient = accounts.payee.address
  const trial: PayoutLaws.PayoutTrial = {
    payouts,
    facilitator,
    recipient,
    received: tron.balanceOf(recipient),
    include: tron.mine(1),
    finalise: tron.mine(solidifying),
    expire: Effect.andThen(tron.advance(validity), tron.mine(1)),
    losing: (submission) =>
      Effect.tap(submission, () =>
        Effect.flatMap(tron.waiting, (all) => Effect.forEach(all, (id) => tron.drop(id), { discard: true }))
      ),
    impoverish: Effect.andThen(tron.drain(payouts.account), tron.mine(1)),
    whileDown: (effect) =>
      Effect.acquireUseRelease(
        tron.plant({ _tag: "Disconnect" }),
        () => effect,
        () => tron.heal
      )
  }
  return { tron, asset, trial }
}).pipe(Effect.orDie)

describe("the laws of an operator's payments, kept by exactTron.payouts", () => {
  const trials = Layer.succeed(
    PayoutLaws.Subject,
    Effect.map(opened, ({ trial }) => trial)
  )
  layer(trials, { excludeTestServices: true })((it) => {
    for (const law of PayoutLaws.all) it.effect(law.name, () => law.effect)
  })
})

/** The requests for receipts. */
const receipts = { path: "gettransactioninfobyid" }

/** A payment in a block that is not solidified. */
const included = Effect.fnUntraced(function* ({ asset, trial }: Effect.Success<typeof opened>) {
  const { facilitator, payouts, recipient } = trial
  const signing = yield* payouts.sign({ asset, recipient, amount: 10_000n })
  if (signing._tag !== "Signed") return yield* Effect.die(new Error(signing.reason))
  const { payload, requirements } = signing.push
  const payment = yield* facilitator.read(requirements, payload)
  const { prepared } = yield* facilitator.prepare([payment], undefined, yield* facilitator.chainHead)
  yield* facilitator.submit(prepared)
  yield* trial.include
  return { push: signing.push, id: prepared.transaction }
})

/** A payment that was made; a solidified block is past its expiration. */
const paid = Effect.fnUntraced(function* (given: Effect.Success<typeof opened>) {
  const made = yield* included(given)
  yield* given.trial.expire
  yield* given.trial.finalise
  return made
})

/** The node's own words about a transaction in a solidified block. */
const solidifiedReceiptOf = (rpcUrl: string, id: string) =>
  Effect.promise(async () => {
    const init = { method: "POST", body: JSON.stringify({ value: id }) }
    return (await fetch(`${rpcUrl}/walletsolidity/gettransactioninfobyid`, init)).text()
  })

describe("exactTron.payouts", () => {
  it.live("calls a payment final once its block is solidified", () =>
    Effect.gen(function* () {
      const given = yield* opened
      const { payouts, finalise } = given.trial
      const { id: transaction, push } = yield* included(given)
      assert.deepInclude(yield* payouts.observe(push), { _tag: "Delivered", transaction, final: false })
      yield* finalise
      assert.deepInclude(yield* payouts.observe(push), { _tag: "Delivered", transaction, final: true })
    }).pipe(Effect.scoped)
  )

  it.live("is not over by one look at nodes that show no receipt, past the expiration of a payment that was made", () =>
    Effect.gen(function* () {
      const market = yield* opened
      const { push } = yield* paid(market)
      const { tron, trial } = market
      yield* tron.plant({ _tag: "Text", body: "{}" }, receipts)
      assert.strictEqual((yield* trial.payouts.observe(push))._tag, "Open")
      assert.strictEqual((yield* trial.payouts.observe(push))._tag, "Open", "as of the same solidified block")
      yield* tron.heal
      yield* tron.mine(1)
      assert.deepInclude(yield* trial.payouts.observe(push), { _tag: "Delivered", final: true })
      yield* tron.plant({ _tag: "Text", body: "{}" }, receipts)
      yield* tron.mine(1)
      assert.strictEqual((yield* trial.payouts.observe(push))._tag, "Open", "once it was shown again")
      assert.strictEqual(yield* trial.received, 10_000n)
    }).pipe(Effect.scoped)
  )

  it.live("is never over while a solidified receipt shows its transfer", () =>
    Effect.gen(function* () {
      const market = yield* opened
      const { id, push } = yield* paid(market)
      const { tron, trial } = market
      const body = yield* solidifiedReceiptOf(tron.rpcUrl, id)
      // The first look shows nothing at all.
      for (let look = 0; look <= 3; look++) {
        if (look > 0) yield* tron.plant({ _tag: "Text", body }, { ...receipts, times: 1 })
        yield* tron.plant({ _tag: "Text", body: "{}" }, receipts)
        assert.strictEqual((yield* trial.payouts.observe(push))._tag, "Open", `look ${look}`)
        yield* tron.heal
        yield* tron.mine(1)
      }
      yield* tron.plant({ _tag: "Text", body: "{}" }, receipts)
      assert.strictEqual((yield* trial.payouts.observe(push))._tag, "Open", "nothing again, after it was shown")
    }).pipe(Effect.scoped)
  )

  it.live("says what its account lacks", () =>
    Effect.gen(function* () {
      const { asset, trial } = yield* opened
      const { payouts, recipient } = trial
      const reasonOf = (order: { readonly recipient: string; readonly amount: bigint }) =>
        Effect.map(payouts.sign({ asset, ...order }), (signing) =>
          signing._tag === "Refused" ? signing.reason : signing._tag
        )
      assert.include(yield* reasonOf({ recipient, amount: 10n ** 15n }), "smallest unit, the payment takes")
      yield* trial.impoverish
      assert.include(yield* reasonOf({ recipient, amount: 10_000n }), "would burn")
      assert.include(yield* reasonOf({ recipient: payouts.account, amount: 10_000n }), "another account")
    }).pipe(Effect.scoped)
  )
})
