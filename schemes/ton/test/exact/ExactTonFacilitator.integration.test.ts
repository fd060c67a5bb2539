/** Payments on a real virtual machine: their costs, the time when a payment counts, and that it counts once. */
import { assert, describe, layer } from "@effect/vitest"
import { MemoryPaymentStore, PaymentStore, type SchemeFacilitator } from "@pontage/core"
import { loadMessageRelaxed, SendMode } from "@ton/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"

import { ExactTon, TonBoc, TonMessage } from "../../src/index.ts"
import { TonTestChain } from "../../src/testing/index.ts"
import * as Forgery from "../TonForgery.ts"
import * as Trial from "../TonTrial.ts"

const chainOf = (options: TonTestChain.Options = {}) => TonTestChain.layer({ payers: 12, ...options })

describe("a relayed payment", () => {
  layer(chainOf(), { excludeTestServices: true })((it) => {
    it.effect("moves the Jettons, costs the payer no TON, and the relayer a little", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const { payee, payers } = chain.accounts
        yield* chain.setCoins(payers[0].address, 123_456_789n)
        const payload = yield* Trial.signed(trial, payers[0])
        const settled = yield* Trial.withService(facilitator, (service) =>
          service.settle(Trial.request(trial, payload), Trial.newClaim())
        )
        assert.isTrue(Trial.isSettled(settled))
        assert.strictEqual(yield* chain.balanceOf(payee.address), Trial.amount)
        assert.strictEqual(yield* chain.coins(payers[0].address), 123_456_789n)
        const [expense] = trial.expenses
        assert.isDefined(expense)
        assert.strictEqual(trial.expenses.length, 1)
        assert.strictEqual(expense?.transaction, settled.transaction)
        const cost = (expense?.attached ?? 0n) + (expense?.fees ?? 0n) - (expense?.returned ?? 0n)
        assert.isTrue(cost > 0n && cost < 40_000_000n, `${cost} nanotons`)
      })
    )

    it.effect("deploys the wallet of a payer who has none, once", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const [newcomer] = chain.accounts.newcomers
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        const first = yield* Trial.signed(trial, newcomer)
        yield* Trial.withService(facilitator, (service) =>
          service.settle(Trial.request(trial, first), Trial.newClaim())
        )
        const second = yield* Trial.signed(trial, newcomer)
        assert.isBelow(JSON.stringify(second).length, JSON.stringify(first).length)
        yield* Trial.withService(facilitator, (service) =>
          service.settle(Trial.request(trial, second), Trial.newClaim())
        )
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), before + 2n * Trial.amount)
      })
    )

    it.effect("may be paid for by the payer itself, by an external message", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const payer = chain.accounts.payers[1]
        assert.isDefined(payer)
        if (payer === undefined) return
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        const poor = yield* Trial.payment(trial, payer, "external")
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(poor)), "INSUFFICIENT_BALANCE no_gas")
        yield* chain.setCoins(payer.address, 1_000_000_000n)
        const payload = yield* Trial.signed(trial, payer, "external")
        const settled = yield* Trial.withService(facilitator, (service) =>
          service.settle(Trial.request(trial, payload), Trial.newClaim())
        )
        assert.isTrue(Trial.isSettled(settled))
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), before + Trial.amount)
        assert.isBelow(Number(yield* chain.coins(payer.address)), 1_000_000_000)
        assert.deepStrictEqual(trial.expenses, [])
      })
    )

    it.effect("may come from an older wallet, by an external message", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator, requirements } = trial
        const [veteran] = chain.accounts.veterans
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        const transfer = Forgery.transfer({
          amount: Trial.amount,
          to: Forgery.addressOf(requirements.payTo),
          responseTo: Forgery.addressOf(veteran.raw)
        })
        const to = Forgery.addressOf(chain.jetton.walletOf(veteran.address).toRawString())
        const body = veteran.wallet.createTransfer({
          seqno: 0,
          secretKey: veteran.secretKey,
          timeout: (yield* chain.time) + 60,
          sendMode: SendMode.PAY_GAS_SEPARATELY + SendMode.IGNORE_ERRORS,
          messages: [loadMessageRelaxed(Forgery.message({ to, value: 50_000_000n, body: transfer }).beginParse())]
        })
        const boc = TonBoc.toBase64(TonMessage.external(Forgery.addressOf(veteran.raw), body))
        const payload = { kind: "external", boc, from: veteran.raw }
        const settled = yield* Trial.withService(facilitator, (service) =>
          service.settle(Trial.request(trial, payload), Trial.newClaim())
        )
        assert.isTrue(Trial.isSettled(settled))
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), before + Trial.amount)
      })
    )

    it.effect("is one of two with the same number: the other is refused, and the money moves once", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const payer = chain.accounts.payers[2] ?? chain.accounts.payers[0]
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        const payloads = [yield* Trial.signed(trial, payer), yield* Trial.signed(trial, payer)]
        const words = yield* Trial.withService(facilitator, (service) =>
          Effect.forEach(
            payloads,
            (payload) => Trial.wordOf(service.settle(Trial.request(trial, payload), Trial.newClaim())),
            { concurrency: "unbounded" }
          )
        )
        assert.strictEqual(words.filter((word) => word === "ok").length, 1)
        assert.isTrue(
          words.some((word) => word.startsWith("EXPIRED_PAYMENT seqno_")),
          words.join()
        )
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), before + Trial.amount)
      })
    )

    it.effect("settles once for twenty callers", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const payer = chain.accounts.payers[3] ?? chain.accounts.payers[0]
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        const sentBefore = yield* Trial.externals(chain.accounts.relayers[0])
        const request = Trial.request(trial, yield* Trial.signed(trial, payer))
        const all = yield* Trial.withService(facilitator, (service) =>
          Effect.forEach(Array.from({ length: 20 }), () => service.settle(request, Trial.newClaim()), {
            concurrency: "unbounded"
          })
        )
        assert.strictEqual(all.filter(({ execution }) => execution === "granted").length, 1)
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), before + Trial.amount)
        assert.strictEqual(yield* Trial.externals(chain.accounts.relayers[0]), sentBefore + 1)
      })
    )

    it.effect("counts when a stranger sends it to the wallet first", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const payer = chain.accounts.payers[4] ?? chain.accounts.payers[0]
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        const payload = yield* Trial.signed(trial, payer)
        const payment = yield* Trial.read(trial, payload)
        yield* facilitator.verify(payment)
        const [lane = ""] = facilitator.lanes
        const slot = { lane, number: yield* facilitator.nextSlot(lane, "known") }
        const { prepared } = yield* facilitator.prepare([payment], slot, yield* facilitator.chainHead)
        const { boc } = yield* ExactTon.decodePayload(payload)
        yield* chain.send(chain.accounts.stranger, Trial.carried(boc, 50_000_000n))
        yield* facilitator.submit(prepared)
        const { inclusion, observations } = yield* facilitator.observe([{ payment, since: prepared.head }], [prepared])
        assert.strictEqual(inclusion?.transaction, prepared.transaction)
        const [seen] = observations
        assert.strictEqual(seen?._tag, "Settled")
        assert.isTrue(seen?._tag === "Settled" && seen.external)
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), before + Trial.amount)
        assert.isBelow(Number(inclusion?.cost), 60_000_000)
      })
    )

    it.effect("of a payer whose number was used for another request fails, and the relayer loses little", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const payer = chain.accounts.payers[5] ?? chain.accounts.payers[0]
        yield* chain.setCoins(payer.address, 1_000_000_000n)
        const payment = yield* Trial.payment(trial, payer)
        yield* facilitator.verify(payment)
        const [lane = ""] = facilitator.lanes
        const slot = { lane, number: yield* facilitator.nextSlot(lane, "known") }
        const { prepared } = yield* facilitator.prepare([payment], slot, yield* facilitator.chainHead)
        yield* chain.send(payer)
        const before = yield* chain.coins(chain.accounts.relayers[0].address)
        yield* facilitator.submit(prepared)
        const { observations } = yield* facilitator.observe([{ payment, since: prepared.head }], [prepared])
        const [seen] = observations
        assert.isTrue(seen?._tag === "Failed" && seen.error._tag === "PaymentError")
        assert.strictEqual(seen?._tag === "Failed" && seen.error.message.includes("number"), true)
        const lost = before - (yield* chain.coins(chain.accounts.relayers[0].address))
        assert.isTrue(lost > 0n && lost < 15_000_000n, `${lost} nanotons`)
        const [expense] = trial.expenses
        assert.strictEqual(expense?.isSettled, false)
        assert.isAbove(Number(expense?.returned), 25_000_000)
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(yield* Trial.payment(trial, payer))), "ok")
      })
    )

    it.effect("of a payer that changed before anything was signed costs nothing but an empty message", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const [, , , , , , one, two] = chain.accounts.payers
        if (one === undefined || two === undefined) return yield* Effect.die("there are enough payers")
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        yield* chain.setCoins(one.address, 1_000_000_000n)
        const payments = [yield* Trial.payment(trial, one), yield* Trial.payment(trial, two)]
        yield* chain.send(one)
        const { count, prepared } = yield* Trial.sent(trial, payments)
        assert.strictEqual(count, 2)
        const observedPayments = payments.map((payment) => ({ payment, since: prepared.head }))
        const { observations } = yield* facilitator.observe(observedPayments, [prepared])
        assert.deepStrictEqual(
          observations.map(({ _tag }) => _tag),
          ["Failed", "Settled"]
        )
        assert.isBelow(Number(prepared.cost), 80_000_000)
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), before + Trial.amount)
      })
    )
  })
})

describe("on a chain with one hop a block", () => {
  layer(chainOf({ blocks: "manual" }), { excludeTestServices: true })((it) => {
    it.effect("a payment is settled with the credit, and not a hop earlier", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const payment = yield* Trial.payment(trial, chain.accounts.payers[0])
        yield* facilitator.verify(payment)
        const { prepared } = yield* Trial.sent(trial, [payment])
        const seen: Array<string> = []
        for (let hop = 0; hop < 6; hop++) {
          const { inclusion, observations } = yield* facilitator.observe(
            [{ payment, since: prepared.head }],
            [prepared]
          )
          const received = yield* chain.balanceOf(chain.accounts.payee.address)
          seen.push(`${inclusion === undefined ? "pending" : "included"} ${observations[0]?._tag} ${received}`)
          yield* chain.block
        }
        assert.deepStrictEqual(seen, [
          "pending Pending 0",
          "included Pending 0",
          "included Pending 0",
          "included Pending 0",
          "included Settled 10000",
          "included Settled 10000"
        ])
      })
    )

    it.effect("another payment of the payer waits until the first has ended", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const payer = chain.accounts.payers[1] ?? chain.accounts.payers[0]
        const first = yield* Trial.payment(trial, payer)
        const second = yield* Trial.payment(trial, payer)
        const { prepared } = yield* Trial.sent(trial, [first])
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(second)), "EXPIRED_PAYMENT seqno_reserved")
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(first)), "ok")
        for (let hop = 0; hop < 5; hop++) yield* chain.block
        yield* facilitator.observe([{ payment: first, since: prepared.head }], [prepared])
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(second)), "EXPIRED_PAYMENT seqno_consumed")
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(first)), "already_used seqno_consumed")
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(yield* Trial.payment(trial, payer))), "ok")
      })
    )

    it.effect("a message that arrived too late is signed again for the same number", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const [lane = ""] = facilitator.lanes
        const slot = { lane, number: yield* facilitator.nextSlot(lane, "known") }
        const { noop } = facilitator
        const early = yield* noop(slot, yield* facilitator.chainHead)
        yield* chain.setTime((yield* chain.time) + 120)
        yield* chain.block
        assert.strictEqual((yield* facilitator.submit(early))._tag, "Outdated")
        const late = yield* noop(slot, yield* facilitator.chainHead)
        assert.strictEqual((yield* facilitator.submit(late))._tag, "Accepted")
        yield* chain.block
        assert.strictEqual((yield* facilitator.submit(early))._tag, "SlotUsed")
        assert.strictEqual((yield* facilitator.observe([], [early, late])).inclusion?.transaction, late.transaction)
      })
    )
  })
})

describe("a facilitator that restarts during a settlement", () => {
  layer(chainOf({ blocks: "manual" }), { excludeTestServices: true })((it) => {
    it.effect("continues where the first one stopped, and the money moves once", () =>
      Effect.gen(function* () {
        const before = yield* Trial.make()
        const { chain } = before
        const records = Layer.succeed(PaymentStore.PaymentStore, yield* MemoryPaymentStore.make)
        const payload = yield* Trial.signed(before, chain.accounts.payers[0])
        const request = Trial.request(before, payload)
        const claim = Trial.newClaim()
        const isSent = yield* Deferred.make<void>()
        const watched = {
          ...before.facilitator,
          submit: (prepared: Parameters<typeof before.facilitator.submit>[0]) =>
            Effect.tap(before.facilitator.submit(prepared), () => Deferred.succeed(isSent, undefined))
        }
        const life = yield* Effect.forkChild(
          Trial.withService(watched, (service) => service.settle(request, claim), records)
        )
        yield* Deferred.await(isSent)
        yield* Fiber.interrupt(life)
        yield* chain.setBlocks("instant")
        const after = yield* Trial.make()
        const settled = yield* Trial.withService(
          after.facilitator,
          (service) => service.settle(request, claim),
          records
        )
        assert.isTrue(Trial.isSettled(settled))
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), Trial.amount)
        assert.strictEqual(yield* Trial.externals(chain.accounts.relayers[0]), 1)
      })
    )
  })
})

describe("fifty payers at once", () => {
  layer(chainOf({ payers: 50 }), { excludeTestServices: true })((it) => {
    it.effect("are paid for by one relayer in a few messages", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make({ batches: { windowMillis: 250 } })
        const { chain, facilitator } = trial
        const payloads = yield* Effect.forEach(chain.accounts.payers, (payer) => Trial.signed(trial, payer))
        const all = yield* Trial.withService(facilitator, (service) =>
          Effect.forEach(payloads, (payload) => service.settle(Trial.request(trial, payload), Trial.newClaim()), {
            concurrency: "unbounded"
          })
        )
        assert.isTrue(all.every(Trial.isSettled))
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), 50n * Trial.amount)
        assert.isAtMost(yield* Trial.externals(chain.accounts.relayers[0]), 5)
        assert.strictEqual(trial.expenses.length, 50)
      })
    )
  })
})

describe("a relayer's numbers", () => {
  layer(chainOf(), { excludeTestServices: true })((it) => {
    it.effect("that a wrong count has left out are used by noops, and the payment behind them settles", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        let skipped = 2n
        const misled: SchemeFacilitator = {
          ...facilitator,
          nextSlot: (lane, counting) => Effect.map(facilitator.nextSlot(lane, counting), (honest) => honest + skipped),
          // The payment behind the gap is sent by now: from here on the count is right.
          submit: (prepared) =>
            Effect.andThen(
              Effect.sync(() => void (skipped = 0n)),
              facilitator.submit(prepared)
            )
        }
        const payload = yield* Trial.signed(trial, chain.accounts.payers[0])
        const settled = yield* Trial.withService(misled, (service) =>
          service.settle(Trial.request(trial, payload), Trial.newClaim())
        )
        assert.isTrue(Trial.isSettled(settled))
        assert.strictEqual(yield* Trial.externals(chain.accounts.relayers[0]), 3)
      })
    )
  })
})

describe("a payment on record", () => {
  layer(chainOf(), { excludeTestServices: true })((it) => {
    it.effect("is read, sent again and observed to its end under other Jettons, relayers and limits", () =>
      Effect.gen(function* () {
        const { accounts, governed, jetton, network } = yield* TonTestChain.TonTestChain
        const earlier = yield* Trial.make({ jetton: governed })
        const payload = yield* Trial.signed(earlier, accounts.payers[0])
        const { observedPayments, prepared } = yield* Trial.relayed(earlier, [yield* Trial.read(earlier, payload)])
        const { decimals, raw, symbol } = jetton
        const { facilitator } = yield* Trial.make({
          signer: accounts.relayers[1],
          assets: [{ network, address: raw, symbol, decimals }],
          maxInnerTon: 1n
        })
        const read = facilitator.read(earlier.requirements, payload)
        assert.strictEqual(yield* Trial.wordOf(read), "asset_mismatch asset_not_settled")
        const payment = yield* facilitator.recall?.(earlier.requirements, payload) ?? assert.fail("it can be recalled")
        assert.deepStrictEqual(payment.authorization, observedPayments[0]?.payment.authorization)
        assert.strictEqual((yield* facilitator.submit(prepared))._tag, "Accepted")
        const { inclusion, observations } = yield* Effect.repeat(
          facilitator.observe([{ payment, since: prepared.head }], [prepared]),
          { while: ({ observations }) => observations.some(({ _tag }) => _tag === "Pending") }
        )
        assert.strictEqual(inclusion?.transaction, prepared.transaction)
        assert.include(observations[0], { _tag: "Settled", external: false })
        assert.strictEqual((yield* facilitator.conclude({ payment, since: prepared.head }))._tag, "Settled")
      })
    )
  })
})

describe("a batch", () => {
  layer(chainOf({ payers: 230 }), { excludeTestServices: true })((it) => {
    it.effect("is limited by its relayer's balance and by the maximum cost", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const [relayer] = chain.accounts.relayers
        const payments = yield* Effect.forEach(chain.accounts.payers.slice(0, 6), (payer) =>
          Trial.payment(trial, payer)
        )
        const [lane = ""] = facilitator.lanes
        const slot = { lane, number: yield* facilitator.nextSlot(lane, "known") }
        const chainHead = yield* facilitator.chainHead
        const prepare = (maximumCost?: bigint) => facilitator.prepare(payments, slot, chainHead, maximumCost)
        const owned = yield* chain.coins(relayer.address)
        const all = yield* prepare()
        assert.strictEqual(all.count, 6)
        assert.strictEqual((yield* prepare(all.prepared.cost)).count, 6)
        assert.strictEqual((yield* prepare(all.prepared.cost - 1n)).count, 5)
        assert.strictEqual((yield* prepare(1n)).count, 1)
        yield* chain.setCoins(relayer.address, all.prepared.cost / 2n)
        const some = yield* prepare()
        assert.isTrue(some.count === 2 || some.count === 3, `${some.count}`)
        assert.isAtMost(Number(some.prepared.cost), Number(all.prepared.cost / 2n))
        yield* chain.setCoins(relayer.address, 1n)
        assert.match((yield* Effect.flip(prepare())).message, /has 1 nanotons, .* are needed; fund it/)
        yield* chain.setCoins(relayer.address, owned)
      })
    )

    it.effect("is signed again with all of its payments under a lower maximum and budget", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain } = trial
        const payments = yield* Effect.forEach(chain.accounts.payers.slice(10, 16), (payer) =>
          Trial.payment(trial, payer)
        )
        const first = yield* Trial.relayed(trial, payments)
        assert.strictEqual(first.count, 6)
        const { facilitator } = yield* Trial.make({ batches: { maximum: 2 }, lossBudget: 1n })
        const { slot } = first.prepared
        const chainHead = yield* facilitator.chainHead
        const { count, prepared } = yield* facilitator.prepare(payments, slot, chainHead, undefined, first.prepared)
        assert.strictEqual(count, 6)
        yield* facilitator.submit(prepared)
        const { observations } = yield* Effect.repeat(
          facilitator.observe(first.observedPayments, [first.prepared, prepared]),
          {
            while: ({ observations }) => observations.some(({ _tag }) => _tag === "Pending")
          }
        )
        assert.isTrue(observations.every(({ _tag }) => _tag === "Settled"))
      })
    )

    it.effect("fits into an external message, and holds one payment of a payer", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make({ batches: { maximum: 255 }, lossBudget: 20_000_000_000n })
        const { chain, facilitator } = trial
        const payments = yield* Effect.forEach(chain.accounts.payers, (payer) => Trial.payment(trial, payer))
        const [lane = ""] = facilitator.lanes
        const slot = { lane, number: yield* facilitator.nextSlot(lane, "known") }
        const { count, prepared } = yield* facilitator.prepare(payments, slot, yield* facilitator.chainHead)
        assert.isTrue(count > 190 && count < 230, `${count}`)
        assert.isAtMost(Buffer.from(prepared.bytes, "base64").length, 65_535)
        assert.strictEqual((yield* facilitator.submit(prepared))._tag, "Accepted")
        const payer = chain.accounts.payers[229] ?? chain.accounts.payers[0]
        const two = [yield* Trial.payment(trial, payer), yield* Trial.payment(trial, payer)]
        assert.strictEqual((yield* Trial.sent(trial, two)).count, 1)
      })
    )
  })
})
