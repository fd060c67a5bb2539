/** Payers' own external messages: their ends, and their cost for a relayer and its node. */
import { assert, describe, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import { ToncenterFault, TonTestChain } from "../../src/testing/index.ts"
import * as Trial from "../TonTrial.ts"

/** The clock of the test, and the function that moves it forward, in milliseconds. */
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
    it.effect("ends when its number is used for another request, and its payer is blamed", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const [payer] = chain.accounts.payers
        yield* chain.setCoins(payer.address, 5_000_000_000n)
        for (const word of ["ok", "ok", "unsupported_authorization account_banned"]) {
          const payment = yield* Trial.payment(trial, payer, "external")
          yield* facilitator.verify(payment)
          const { observedPayments, prepared } = yield* Trial.relayed(trial, [payment])
          yield* chain.send(payer)
          yield* facilitator.submit(prepared)
          const { observations } = yield* facilitator.observe(observedPayments, [prepared])
          const [seen] = observations
          assert.strictEqual(seen?._tag === "Failed" && seen.error.detail, "seqno_consumed")
          const next = yield* Trial.payment(trial, payer, "external")
          assert.strictEqual(yield* Trial.wordOf(facilitator.verify(next)), word)
        }
      })
    )

    it.effect("that never runs is looked for ever less often", () =>
      Effect.gen(function* () {
        let asked = 0
        const trial = yield* Trial.make({ onRequest: () => void asked++ })
        const { chain, facilitator } = trial
        const payers = chain.accounts.payers.slice(1, 21)
        yield* Effect.forEach(payers, ({ address }) => chain.setCoins(address, 5_000_000_000n))
        const payments = yield* Effect.forEach(payers, (payer) => Trial.payment(trial, payer, "external"))
        const { observedPayments, prepared } = yield* Trial.relayed(trial, payments)
        // The node accepts them and they disappear, for example because their payers have emptied their wallets.
        yield* Effect.forEach(payers, ({ address }) => chain.setCoins(address, 0n))
        yield* facilitator.submit(prepared)
        const { ahead, clock } = yield* laterClock
        let before = 0
        const [settling, seconds] = [300, 900]
        for (let look = 0; look < (settling + seconds) * 2; look++) {
          ahead(500)
          if (look === settling * 2) before = asked
          const seen = yield* Effect.provideService(
            facilitator.observe(observedPayments, [prepared]),
            Clock.Clock,
            clock
          )
          assert.isTrue(seen.observations.every(({ _tag }) => _tag === "Pending"))
          const block = seen.inclusion?.block
          if (look % 4 === 0 && block !== undefined)
            assert.isTrue(yield* Effect.provideService(facilitator.isCanonical(block), Clock.Clock, clock))
        }
        const perSecond = (asked - before) / seconds
        assert.isBelow(perSecond, 1)
      })
    )

    it.effect("that a node has lost is sent again, and settles", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const payer = chain.accounts.payers[22] ?? chain.accounts.payers[0]
        yield* chain.setCoins(payer.address, 5_000_000_000n)
        const payment = yield* Trial.payment(trial, payer, "external")
        const { observedPayments, prepared } = yield* Trial.relayed(trial, [payment])
        yield* chain.spoil("sendBoc", ToncenterFault.Broken())
        assert.strictEqual(yield* Trial.wordOf(facilitator.submit(prepared)), "ChainUnavailable")
        yield* chain.mend
        const relay = prepared.bytes.split(",").at(-1) ?? ""
        yield* facilitator.submit({ ...prepared, bytes: relay })
        const { ahead, clock } = yield* laterClock
        const words: Array<string> = []
        for (let look = 0; look < 60 && words.at(-1) !== "Settled"; look++) {
          ahead(500)
          const seen = yield* Effect.provideService(
            facilitator.observe(observedPayments, [prepared]),
            Clock.Clock,
            clock
          )
          words.push(seen.observations[0]?._tag ?? "")
        }
        assert.strictEqual(words.at(-1), "Settled", words.join())
        assert.isAbove(words.length, 10)
      })
    )

    it.effect("that a node refuses does not delay another payment", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const [own, other] = chain.accounts.payers.slice(23, 25)
        if (own === undefined || other === undefined) return yield* Effect.die("there are enough payers")
        yield* chain.setCoins(own.address, 5_000_000_000n)
        const payments = [yield* Trial.payment(trial, own, "external"), yield* Trial.payment(trial, other)]
        const { observedPayments, prepared } = yield* Trial.relayed(trial, payments)
        yield* chain.setCoins(own.address, 0n)
        yield* facilitator.submit(prepared)
        const { observations } = yield* facilitator.observe(observedPayments, [prepared])
        assert.deepStrictEqual(
          observations.map(({ _tag }) => _tag),
          ["Pending", "Settled"]
        )
      })
    )

    it.effect("has a minimum amount, which is a setting", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const payer = trial.chain.accounts.payers[25] ?? trial.chain.accounts.payers[0]
        yield* trial.chain.setCoins(payer.address, 5_000_000_000n)
        const wordOf = (minimum: bigint | undefined, price: bigint) =>
          Effect.gen(function* () {
            const wish = minimum === undefined ? {} : { externalMinimum: minimum }
            const { facilitator, ...rest } = yield* Trial.make(wish)
            const requirements = { ...rest.requirements, maxAmountRequired: `${price}` }
            const payload = yield* Trial.signed({ facilitator, ...rest, requirements }, payer, "external")
            return yield* Trial.wordOf(
              Effect.flatMap(facilitator.read(requirements, payload), (one) => facilitator.verify(one))
            )
          })
        assert.strictEqual(yield* wordOf(undefined, 9_999n), "unsupported_authorization external_below_minimum")
        assert.strictEqual(yield* wordOf(undefined, 10_000n), "ok")
        assert.strictEqual(yield* wordOf(0n, 1n), "ok")
        assert.strictEqual(yield* wordOf(20_000n, 19_999n), "unsupported_authorization external_below_minimum")
      })
    )
  })
})
