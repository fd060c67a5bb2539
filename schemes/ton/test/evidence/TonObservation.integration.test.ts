/** Proof that a payment's money moved, with any sender and with nodes that show other transactions. */
import { assert, describe, layer } from "@effect/vitest"
import type { Payment, PreparedTransaction, SchemeFacilitator } from "@pontage/core"
import * as Binding from "@pontage/core/Binding"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import { ExactTon } from "../../src/index.ts"
import { ToncenterFault, type TonTestAccounts, TonTestChain } from "../../src/testing/index.ts"
import * as Trial from "../TonTrial.ts"

const chainLayer = TonTestChain.layer({ payers: 10 })

const observed = (
  facilitator: SchemeFacilitator,
  payment: Payment,
  prepared: PreparedTransaction,
  since = prepared.head,
  earliest = Number.MAX_SAFE_INTEGER
) => Effect.map(facilitator.observe([{ payment, since, earliest }], [prepared]), ({ observations }) => observations[0])

/** A payment that is bound to a challenge: its payload, and the payment that is read from it. */
const bound = Effect.fnUntraced(function* (trial: Trial.Trial, account: TonTestAccounts.TestAccount) {
  const { clientOf, requirements } = trial
  const client = clientOf(account)
  const asset = client.asset(requirements)
  if (asset === undefined) return yield* Effect.die("the payer knows the asset")
  const binding = yield* Binding.make("a-challenge-of-the-shop")
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const order = { requirements, asset, validAfter: 0, validBefore: now + Trial.validSeconds, binding }
  const { payload } = yield* client.sign(order)
  const { boc } = yield* ExactTon.decodePayload(payload)
  return { payload, boc, payment: yield* Trial.read(trial, payload) }
})

/** A stranger sends a request to its wallet, with the stranger's TON. */
const broughtBy = (trial: Trial.Trial, boc: string) =>
  trial.chain.send(trial.chain.accounts.stranger, Trial.carried(boc, 50_000_000n))

describe("a node that returns a genuine credit of an older payment", () => {
  layer(chainLayer, { excludeTestServices: true })((it) => {
    it.effect("proves nothing about a newer one, at any step of its transfer", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const [first, second] = chain.accounts.payers
        if (second === undefined) return yield* Effect.die("there are enough payers")
        const older = yield* Trial.payment(trial, first)
        const { prepared: earlier } = yield* Trial.sent(trial, [older])
        const paid = yield* observed(facilitator, older, earlier)
        assert.strictEqual(paid?._tag, "Settled")
        const [credit] = yield* chain.credits(chain.accounts.payee.address)
        const transactions = yield* Effect.promise(() =>
          chain.client.getTransactions(chain.jetton.walletOf(chain.accounts.payee.address), {
            limit: 1,
            archival: true
          })
        )
        const [genuine] = transactions
        assert.isDefined(genuine)
        const result = {
          "@type": "raw.transaction",
          data: genuine?.raw.toBoc().toString("base64"),
          transaction_id: {
            "@type": "internal.transactionId",
            lt: `${genuine?.lt}`,
            hash: genuine?.hash().toString("base64")
          }
        }
        assert.strictEqual(genuine?.hash().toString("hex"), credit?.transaction)

        yield* chain.setBlocks("manual")
        const newer = yield* Trial.payment(trial, second)
        yield* facilitator.verify(newer)
        const { prepared } = yield* Trial.sent(trial, [newer])
        const received = yield* chain.balanceOf(chain.accounts.payee.address)
        for (let hop = 0; hop < 3; hop++) {
          yield* chain.block
          yield* chain.spoil("tryLocateResultTx", ToncenterFault.Instead({ result }))
          assert.strictEqual(
            yield* Trial.wordOf(observed(facilitator, newer, prepared)),
            "ChainUnavailable",
            `hop ${hop}`
          )
          yield* chain.mend
          // The first response of this observation is right and the second is wrong; then the first two are right.
          for (const right of [1, 2]) {
            let asked = 0
            const lying = yield* Trial.make({
              onRequest: (method) => {
                if (method !== "tryLocateResultTx" || ++asked <= right) return
                Effect.runSync(chain.spoil(method, ToncenterFault.Instead({ result })))
              }
            })
            const seen = yield* Effect.result(observed(lying.facilitator, newer, prepared))
            yield* chain.mend
            assert.isFalse(seen._tag === "Success" && seen.success?._tag === "Settled", `hop ${hop}`)
          }
        }
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), received)
        yield* chain.block
        assert.strictEqual((yield* observed(facilitator, newer, prepared))?._tag, "Settled")
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), received + Trial.amount)
        yield* chain.setBlocks("instant")
      })
    )

    it.effect("or another account's history, or one with a gap, or an empty one, counts as unavailable", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const payer = chain.accounts.payers[2] ?? chain.accounts.payers[0]
        const payment = yield* Trial.payment(trial, payer)
        const { prepared } = yield* Trial.sent(trial, [payment])
        const answers = yield* Effect.promise(() =>
          chain.client.getTransactions(chain.jetton.walletOf(chain.accounts.payee.address), {
            limit: 3,
            archival: true
          })
        )
        const records = answers.map((one) => ({
          data: one.raw.toBoc().toString("base64"),
          transaction_id: { lt: `${one.lt}`, hash: one.hash().toString("base64") }
        }))
        for (const result of [[], records, records.slice(1), records.filter((_, index) => index !== 1)]) {
          yield* chain.spoil("getTransactions", ToncenterFault.Instead({ result }))
          assert.strictEqual(yield* Trial.wordOf(observed(facilitator, payment, prepared)), "ChainUnavailable")
          yield* chain.mend
        }
        assert.strictEqual((yield* observed(facilitator, payment, prepared))?._tag, "Settled")
      })
    )
  })
})

describe("a bound payment that a stranger sends to its wallet", () => {
  layer(chainLayer, { excludeTestServices: true })((it) => {
    it.effect("between verification and signing is settled", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const [payer] = chain.accounts.payers
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        const { boc, payment } = yield* bound(trial, payer)
        yield* facilitator.verify(payment)
        const { head } = yield* facilitator.chainHead
        yield* broughtBy(trial, boc)
        const { prepared } = yield* Trial.sent(trial, [payment])
        // Many blocks may lie between: the time of its record counts, not the time of the observation.
        const since = prepared.head + 1_000n
        const seen = yield* observed(facilitator, payment, prepared, since, head.time - 5)
        const late = yield* observed(facilitator, payment, prepared, since, head.time + 3_600)
        assert.strictEqual(late?._tag, "Failed")
        assert.strictEqual(seen?._tag, "Settled")
        assert.isTrue(seen?._tag === "Settled" && seen.external)
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), before + Trial.amount)
      })
    )

    it.effect("after its claim is valid, through a facilitator too, and pays once", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const payer = chain.accounts.payers[1] ?? chain.accounts.payers[0]
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        const { boc, payload, payment } = yield* bound(trial, payer)
        const request = Trial.request(trial, payload)
        const [first, second] = yield* Trial.withService(facilitator, (service) =>
          Effect.gen(function* () {
            const claim = Trial.newClaim()
            yield* service.claim(request, claim)
            yield* broughtBy(trial, boc)
            return [yield* service.settle(request, claim), yield* service.settle(request, Trial.newClaim())] as const
          })
        )
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(payment)), "already_used seqno_consumed")
        assert.isTrue(Trial.isSettled(first))
        assert.strictEqual(first.execution, "granted")
        assert.notStrictEqual(second.execution, "granted")
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), before + Trial.amount)
      })
    )

    it.effect("and that did not arrive is refused with the reason", () =>
      Effect.gen(function* () {
        const { governed } = yield* TonTestChain.TonTestChain
        const trial = yield* Trial.make({ jetton: governed })
        const { chain, facilitator } = trial
        const payer = chain.accounts.payers[2] ?? chain.accounts.payers[0]
        const { boc, payment } = yield* bound(trial, payer)
        yield* chain.lock(chain.accounts.payee.address, 2)
        yield* broughtBy(trial, boc)
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(payment)), "INVALID_RECIPIENT bounced")
        yield* chain.lock(chain.accounts.payee.address, 0)
      })
    )

    it.effect("bans no account, any number of times while ours is pending", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const payer = chain.accounts.payers[3] ?? chain.accounts.payers[0]
        for (let time = 0; time < 4; time++) {
          const { boc, payment } = yield* bound(trial, payer)
          yield* facilitator.verify(payment)
          const [lane = ""] = facilitator.lanes
          const slot = { lane, number: yield* facilitator.nextSlot(lane, "known") }
          const { prepared } = yield* facilitator.prepare([payment], slot, yield* facilitator.chainHead)
          yield* broughtBy(trial, boc)
          yield* facilitator.submit(prepared)
          assert.strictEqual((yield* observed(facilitator, payment, prepared))?._tag, "Settled")
        }
        assert.strictEqual(trial.expenses.length, 4)
        assert.isTrue(trial.expenses.every(({ isSettled }) => isSettled))
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(yield* Trial.payment(trial, payer))), "ok")
      })
    )
  })
})

describe("an unbound payment", () => {
  layer(chainLayer, { excludeTestServices: true })((it) => {
    it.effect("that was carried out before is refused: it may have been shown elsewhere", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const payload = yield* Trial.signed(trial, chain.accounts.payers[0])
        const { boc } = yield* ExactTon.decodePayload(payload)
        yield* broughtBy(trial, boc)
        const verdict = Effect.flatMap(Trial.read(trial, payload), (payment) => facilitator.verify(payment))
        assert.strictEqual(yield* Trial.wordOf(verdict), "already_used seqno_consumed")
      })
    )
  })
})

describe("one payer's account that is unavailable", () => {
  layer(chainLayer, { excludeTestServices: true })((it) => {
    it.effect("does not delay another payment of the same message", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain } = trial
        const [one, two] = chain.accounts.payers
        if (two === undefined) return yield* Effect.die("there are enough payers")
        const payments = [yield* Trial.payment(trial, one), yield* Trial.payment(trial, two)]
        const { prepared } = yield* Trial.sent(trial, payments)
        let asked = 0
        const { facilitator } = yield* Trial.make({
          onRequest: (method) => {
            if (method === "tryLocateResultTx" && ++asked === 1)
              Effect.runSync(chain.spoil(method, ToncenterFault.Broken(), 1))
          }
        })
        const observedPayments = payments.map((payment) => ({ payment, since: prepared.head }))
        const { observations } = yield* facilitator.observe(observedPayments, [prepared])
        assert.deepStrictEqual(observations.map(({ _tag }) => _tag).toSorted(), ["Pending", "Settled"])
        yield* chain.mend
        const { observations: later } = yield* facilitator.observe(observedPayments, [prepared])
        assert.isTrue(later.every(({ _tag }) => _tag === "Settled"))
      })
    )
  })
})
