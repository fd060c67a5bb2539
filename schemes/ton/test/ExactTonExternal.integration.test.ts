/** Payers' own external messages: what becomes of them, and what they cost a relayer and its node. */
import { assert, describe, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import { ToncenterFault, TonTestChain } from "../src/testing/index.ts"
import * as Trial from "./TonTrial.ts"

/** The clock of the test, and what puts it forward: milliseconds. */
const laterClock = Effect.map(Clock.Clock, (now) => {
  let millis = 0
  const clock: Clock.Clock = Object.assign(Object.create(now), {
    currentTimeMillisUnsafe: () => now.currentTimeMillisUnsafe() + millis,
    currentTimeMillis: Effect.sync(() => now.currentTimeMillisUnsafe() + millis)
  })
  return { clock, ahead: (more: number) => void (millis += more) }
})

describe("a payer's own external message", () => {
  layer(TonTestChain.layer({ payers: 30 }), { excludeTestServices: true })((it) => {
    it.effect("ends as soon as its number is used for another, and is held against its payer", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, half } = trial
        const [payer] = chain.accounts.payers
        yield* chain.setCoins(payer.address, 5_000_000_000n)
        for (const word of ["ok", "ok", "unsupported_authorization account_banned"]) {
          const payment = yield* Trial.payment(trial, payer, "external")
          yield* half.verify(payment)
          const { observedPayments, prepared } = yield* Trial.relayed(trial, [payment])
          yield* chain.send(payer)
          yield* half.submit(prepared)
          const { observations } = yield* half.observe(observedPayments, [prepared])
          const [seen] = observations
          assert.strictEqual(seen?._tag === "Failed" && seen.error.detail, "seqno_consumed")
          const next = yield* Trial.payment(trial, payer, "external")
          assert.strictEqual(yield* Trial.wordOf(half.verify(next)), word)
        }
      })
    )

    it.effect("that never runs is asked for ever more seldom", () =>
      Effect.gen(function* () {
        let asked = 0
        const trial = yield* Trial.make({ onRequest: () => void asked++ })
        const { chain, half } = trial
        const payers = chain.accounts.payers.slice(1, 21)
        yield* Effect.forEach(payers, ({ address }) => chain.setCoins(address, 5_000_000_000n))
        const payments = yield* Effect.forEach(payers, (payer) => Trial.payment(trial, payer, "external"))
        const { observedPayments, prepared } = yield* Trial.relayed(trial, payments)
        // The node takes them, and they are not heard of again: their payers have emptied their wallets, say.
        yield* Effect.forEach(payers, ({ address }) => chain.setCoins(address, 0n))
        yield* half.submit(prepared)
        const { ahead, clock } = yield* laterClock
        let before = 0
        const [settling, seconds] = [300, 900]
        for (let look = 0; look < (settling + seconds) * 2; look++) {
          ahead(500)
          if (look === settling * 2) before = asked
          const seen = yield* Effect.provideService(half.observe(observedPayments, [prepared]), Clock.Clock, clock)
          assert.isTrue(seen.observations.every(({ _tag }) => _tag === "Pending"))
          const block = seen.inclusion?.block
          if (look % 4 === 0 && block !== undefined)
            assert.isTrue(yield* Effect.provideService(half.isCanonical(block), Clock.Clock, clock))
        }
        const perSecond = (asked - before) / seconds
        assert.isBelow(perSecond, 1)
      })
    )

    it.effect("that a node has lost is sent again, and settles", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, half } = trial
        const payer = chain.accounts.payers[22] ?? chain.accounts.payers[0]
        yield* chain.setCoins(payer.address, 5_000_000_000n)
        const payment = yield* Trial.payment(trial, payer, "external")
        const { observedPayments, prepared } = yield* Trial.relayed(trial, [payment])
        yield* chain.spoil("sendBoc", ToncenterFault.Broken())
        assert.strictEqual(yield* Trial.wordOf(half.submit(prepared)), "ChainUnavailable")
        yield* chain.mend
        const relay = prepared.bytes.split(",").at(-1) ?? ""
        yield* half.submit({ ...prepared, bytes: relay })
        const { ahead, clock } = yield* laterClock
        const words: Array<string> = []
        for (let look = 0; look < 60 && words.at(-1) !== "Settled"; look++) {
          ahead(500)
          const seen = yield* Effect.provideService(half.observe(observedPayments, [prepared]), Clock.Clock, clock)
          words.push(seen.observations[0]?._tag ?? "")
        }
        assert.strictEqual(words.at(-1), "Settled", words.join())
        assert.isAbove(words.length, 10)
      })
    )

    it.effect("that a node refuses does not delay another payment", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, half } = trial
        const [own, other] = chain.accounts.payers.slice(23, 25)
        if (own === undefined || other === undefined) return yield* Effect.die("there are enough payers")
        yield* chain.setCoins(own.address, 5_000_000_000n)
        const payments = [yield* Trial.payment(trial, own, "external"), yield* Trial.payment(trial, other)]
        const { observedPayments, prepared } = yield* Trial.relayed(trial, payments)
        yield* chain.setCoins(own.address, 0n)
        yield* half.submit(prepared)
        const { observations } = yield* half.observe(observedPayments, [prepared])
        assert.deepStrictEqual(
          observations.map(({ _tag }) => _tag),
          ["Pending", "Settled"]
        )
      })
    )

    it.effect("is of a minimum, which may be set", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const payer = trial.chain.accounts.payers[25] ?? trial.chain.accounts.payers[0]
        yield* trial.chain.setCoins(payer.address, 5_000_000_000n)
        const wordOf = (minimum: bigint | undefined, price: bigint) =>
          Effect.gen(function* () {
            const wish = minimum === undefined ? {} : { externalMinimum: minimum }
            const { half, ...rest } = yield* Trial.make(wish)
            const requirements = { ...rest.requirements, maxAmountRequired: `${price}` }
            const payload = yield* Trial.signed({ half, ...rest, requirements }, payer, "external")
            return yield* Trial.wordOf(Effect.flatMap(half.read(requirements, payload), (one) => half.verify(one)))
          })
        assert.strictEqual(yield* wordOf(undefined, 9_999n), "unsupported_authorization external_below_minimum")
        assert.strictEqual(yield* wordOf(undefined, 10_000n), "ok")
        assert.strictEqual(yield* wordOf(0n, 1n), "ok")
        assert.strictEqual(yield* wordOf(20_000n, 19_999n), "unsupported_authorization external_below_minimum")
      })
    )
  })
})
