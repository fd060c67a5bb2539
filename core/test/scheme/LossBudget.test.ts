import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"

import * as LossBudget from "../../src/scheme/LossBudget.ts"

const never = Number.MAX_SAFE_INTEGER
const risk = (payer: string, amount = 10n, caller = "shop") => ({ payer, caller, amount })

/** A verdict in a word. */
const word = (verdict: LossBudget.LossVerdict): string =>
  verdict._tag === "Exhausted" ? `${verdict.share} exhausted` : verdict._tag

const reserved = (budget: LossBudget.LossBudget, id: string, of: LossBudget.LossRisk) =>
  Effect.map(budget.reserve(id, of, never), word)
const judged = (budget: LossBudget.LossBudget, of: LossBudget.LossRisk) => Effect.map(budget.judge(of), word)

/** Signs for a payment and loses it by its payer's own doing. */
const lost = Effect.fnUntraced(function* (budget: LossBudget.LossBudget, id: string, of: LossBudget.LossRisk) {
  const verdict = yield* reserved(budget, id, of)
  if (verdict === "Open") yield* budget.lose(id, { ...of, culprit: of.payer })
  return verdict
})

const settled = Effect.fnUntraced(function* (budget: LossBudget.LossBudget, id: string, of: LossBudget.LossRisk) {
  assert.strictEqual(yield* reserved(budget, id, of), "Open")
  yield* budget.settle(id, of)
})

describe("a pending payment", () => {
  it.effect("counts before anything is lost, until it ends", () =>
    Effect.gen(function* () {
      const budget = yield* LossBudget.make({ total: 20n, perCaller: 20n, perPayer: 20n })
      assert.strictEqual(yield* reserved(budget, "1", risk("a")), "Open")
      assert.strictEqual(yield* reserved(budget, "2", risk("b")), "Open")
      assert.strictEqual(yield* judged(budget, risk("c")), "caller exhausted")
      assert.strictEqual(yield* judged(budget, risk("c", 10n, "")), "all exhausted")
      yield* budget.release("1")
      yield* budget.release("1")
      assert.strictEqual(yield* reserved(budget, "3", risk("c")), "Open")
      assert.strictEqual(yield* judged(budget, risk("a")), "caller exhausted")
    })
  )

  it.effect("counts once for one id, with the largest risk", () =>
    Effect.gen(function* () {
      const budget = yield* LossBudget.make({ total: 30n, perCaller: 30n, perPayer: 30n })
      for (const amount of [10n, 20n, 5n]) assert.strictEqual(yield* reserved(budget, "1", risk("a", amount)), "Open")
      assert.strictEqual(yield* judged(budget, risk("b", 10n)), "Open")
      assert.strictEqual(yield* judged(budget, risk("b", 11n)), "caller exhausted")
    })
  )

  it.effect("does not count beyond its time", () =>
    Effect.gen(function* () {
      const budget = yield* LossBudget.make({ total: 10n, perCaller: 10n, perPayer: 10n })
      yield* budget.reserve("1", risk("a"), 60_000)
      yield* budget.reserve("1", risk("a"), 90_000)
      yield* TestClock.adjust("89 seconds")
      assert.strictEqual(yield* judged(budget, risk("b")), "caller exhausted")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* judged(budget, risk("b")), "Open")
    })
  )
})

describe("a loss", () => {
  it.effect("counts once for one payment, for a day, and no amount is below zero", () =>
    Effect.gen(function* () {
      const budget = yield* LossBudget.make({ total: 30n, perCaller: 30n, perPayer: 30n })
      for (let look = 0; look < 3; look++) yield* budget.lose("1", risk("a", 20n))
      yield* budget.lose("2", risk("a", -20n))
      assert.strictEqual(yield* judged(budget, risk("b", 10n)), "Open")
      assert.strictEqual(yield* judged(budget, risk("b", 11n)), "caller exhausted")
      yield* TestClock.adjust("24 hours")
      assert.strictEqual(yield* judged(budget, risk("b", 11n)), "caller exhausted")
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* judged(budget, risk("b", 30n)), "Open")
    })
  )

  it.effect("bans its culprit at once when it is grave, and the code of its account; no other account", () =>
    Effect.gen(function* () {
      const budget = yield* LossBudget.make({ total: 1_000n, banMillis: 60_000 })
      const hostile = { ...risk("a"), codeHash: "0xc0de" }
      assert.strictEqual(yield* lost(budget, "1", hostile), "Open")
      assert.strictEqual(yield* judged(budget, risk("a")), "Banned")
      assert.strictEqual(yield* judged(budget, { ...risk("b"), codeHash: "0xc0de" }), "Banned")
      assert.strictEqual(yield* judged(budget, risk("b")), "Open")
      assert.strictEqual(yield* budget.bannedUntil("a"), 60_000)
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual(yield* judged(budget, hostile), "Open")
      assert.isUndefined(yield* budget.bannedUntil("a"))
    })
  )

  it.effect("bans at the third time in a day when it is slight, and without a culprit no account", () =>
    Effect.gen(function* () {
      const budget = yield* LossBudget.make({ total: 1_000n })
      for (const id of ["1", "2"]) yield* budget.lose(id, { ...risk("a"), culprit: "a", gravity: "slight" })
      for (const id of ["3", "4", "5"]) yield* budget.lose(id, risk("a"))
      assert.strictEqual(yield* judged(budget, risk("a")), "Open")
      yield* budget.lose("6", { ...risk("a"), culprit: "a", gravity: "slight" })
      assert.strictEqual(yield* judged(budget, risk("a")), "Banned")
    })
  )
})

describe("an exhausted budget", () => {
  it.effect("of a payer refuses that payer alone, and of a caller its newcomers alone", () =>
    Effect.gen(function* () {
      const budget = yield* LossBudget.make({ total: 400n, perPayer: 50n, banMillis: 0 })
      yield* settled(budget, "proof", risk("honest"))
      for (let n = 0; n < 5; n++) assert.strictEqual(yield* lost(budget, `a${n}`, risk("a")), "Open")
      assert.strictEqual(yield* judged(budget, risk("a")), "payer exhausted")
      for (let n = 0; n < 5; n++) assert.strictEqual(yield* lost(budget, `b${n}`, risk(`b${n}`)), "Open")
      assert.strictEqual(yield* judged(budget, risk("newcomer")), "caller exhausted")
      assert.strictEqual(yield* judged(budget, risk("honest")), "Open")
      assert.strictEqual(yield* judged(budget, risk("newcomer", 10n, "other shop")), "Open")
    })
  )

  it.effect("of all serves those that have proven themselves, one payment at a time until they have settled more", () =>
    Effect.gen(function* () {
      const budget = yield* LossBudget.make({ total: 40n, banMillis: 0 })
      yield* settled(budget, "1", risk("honest"))
      for (let n = 0; n < 4; n++) yield* lost(budget, `a${n}`, risk(`a${n}`, 10n, `caller ${n}`))
      assert.strictEqual(yield* judged(budget, risk("b", 1n, "fifth")), "all exhausted")
      assert.strictEqual(yield* reserved(budget, "2", risk("honest", 25n)), "Open")
      assert.strictEqual(yield* reserved(budget, "3", risk("honest")), "payer exhausted")
      yield* budget.settle("2", risk("honest"))
      for (const id of ["4", "5", "6"]) assert.strictEqual(yield* reserved(budget, id, risk("honest")), "Open")
      assert.strictEqual(yield* reserved(budget, "7", risk("honest")), "payer exhausted")
      yield* budget.lose("4", { ...risk("honest"), culprit: "honest" })
      assert.strictEqual(yield* judged(budget, risk("honest", 1n)), "payer exhausted")
      yield* TestClock.adjust("25 hours")
      assert.strictEqual(yield* judged(budget, risk("b", 40n)), "Open")
    })
  )

  it.effect("is within the reach of everybody where callers are not told apart", () =>
    Effect.gen(function* () {
      const budget = yield* LossBudget.make({ total: 40n })
      for (let n = 0; n < 4; n++) assert.strictEqual(yield* reserved(budget, `${n}`, risk(`a${n}`, 10n, "")), "Open")
      assert.strictEqual(yield* judged(budget, risk("b", 1n, "")), "all exhausted")
    })
  )

  it.effect("of a share holds one payment however dear, and of all does not", () =>
    Effect.gen(function* () {
      const budget = yield* LossBudget.make({ total: 40n })
      assert.strictEqual(yield* judged(budget, risk("a", 40n)), "Open")
      assert.strictEqual(yield* judged(budget, risk("a", 41n)), "all exhausted")
    })
  )
})

describe("demand", () => {
  it.effect("tells a ban, which is the payer's doing, from trouble that is nobody's", () =>
    Effect.gen(function* () {
      const banned = yield* Effect.flip(LossBudget.demand({ _tag: "Banned", account: "a", until: 0 }))
      assert.strictEqual(banned._tag === "ValidationError" && banned.detail, "account_banned")
      for (const share of ["payer", "caller", "all"] as const) {
        const error = yield* Effect.flip(LossBudget.demand({ _tag: "Exhausted", share }))
        assert.strictEqual(error._tag, "FacilitatorUnavailable")
      }
      yield* LossBudget.demand({ _tag: "Open" })
    })
  )
})

describe("make", () => {
  it.effect.each([
    { total: 0n },
    { total: 10n, perCaller: 0n },
    { total: 10n, perCaller: 11n },
    { total: 10n, perPayer: 0n },
    { total: 10n, perPayer: 11n },
    { total: 10n, banMillis: -1 },
    { total: 10n, banMillis: 0.5 }
  ])("refuses %s", (limits) =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(LossBudget.make(limits))
      assert.isTrue(Exit.isFailure(exit))
    })
  )
})

const total = 100n
const steps = fc.array(
  fc.record({
    payer: fc.nat({ max: 5 }),
    caller: fc.nat({ max: 2 }),
    amount: fc.bigInt({ min: 1n, max: 40n }),
    end: fc.constantFrom("settled", "settled", "lost", "slight", "flying", "released"),
    /** The pending payment that ends now. */
    which: fc.nat({ max: 20 }),
    minutes: fc.constantFrom(0, 0, 0, 5, 5, 5, 61)
  }),
  { minLength: 40, maxLength: 120, size: "max" }
)

interface Model {
  lost: bigint
  settled: bigint
  dearest: bigint
  isProven: boolean
}

describe("any series of losses within a day", () => {
  it("no more is lost than the total and what proven payers were worth, and no proven payer is refused", async () => {
    let served = 0
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        served += await Effect.runPromise(Effect.provide(oneDay(sequence), TestClock.layer()))
      }),
      { numRuns: 300 }
    )
    assert.isAbove(served, 50)
  })

  it("an attacker under one caller leaves the others their newcomers", async () => {
    const attacks = fc.array(fc.bigInt({ min: 1n, max: 30n }), { maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(attacks, (amounts) =>
        Effect.runPromise(
          Effect.gen(function* () {
            const budget = yield* LossBudget.make({ total, banMillis: 0 })
            for (const [n, amount] of amounts.entries()) yield* lost(budget, `${n}`, risk(`a${n}`, amount, "hostile"))
            assert.strictEqual(yield* judged(budget, risk("newcomer", 40n, "shop")), "Open")
          })
        )
      ),
      { numRuns: 300 }
    )
  })
})

type Step = typeof steps extends fc.Arbitrary<ReadonlyArray<infer A>> ? A : never

/** Plays a sequence against the budget, and holds it to what it promises; returns how often a proven payer was served. */
const oneDay = Effect.fnUntraced(function* (sequence: ReadonlyArray<Step>) {
  const budget = yield* LossBudget.make({ total, banMillis: 3_600_000 })
  const models = new Map<string, Model>()
  const modelOf = (payer: string): Model => {
    const model = models.get(payer) ?? { lost: 0n, settled: 0n, dearest: 0n, isProven: false }
    models.set(payer, model)
    return model
  }
  const flying: Array<{ readonly id: string; readonly of: LossBudget.LossRisk; readonly end: Step["end"] }> = []
  let minutes = 0
  let served = 0
  for (const [index, step] of sequence.entries()) {
    minutes += step.minutes
    if (minutes >= 1_380) return served
    yield* TestClock.adjust(`${step.minutes} minutes`)
    const of = risk(`p${step.payer}`, step.amount, `c${step.caller}`)
    const model = modelOf(of.payer)
    const isAlone = !flying.some((one) => one.of.payer === of.payer)
    const verdict = yield* reserved(budget, `${index}`, of)
    if (model.isProven && model.lost === 0n && isAlone) {
      assert.strictEqual(verdict, "Open")
      served++
    }
    if (verdict === "Open") flying.push({ id: `${index}`, of, end: step.end })
    const [ending] = flying.splice(step.which % Math.max(1, flying.length), step.end === "flying" ? 0 : 1)
    if (ending !== undefined) yield* conclude(budget, modelOf(ending.of.payer), ending)
    let bound = total
    for (const { dearest, settled } of models.values()) if (settled > 0n) bound += settled > dearest ? settled : dearest
    const losses = [...models.values()].reduce((sum, one) => sum + one.lost, 0n)
    assert.isTrue(losses <= bound, `${losses} lost, ${bound} allowed`)
  }
  return served
})

const conclude = (
  budget: LossBudget.LossBudget,
  model: Model,
  { end, id, of }: { readonly id: string; readonly of: LossBudget.LossRisk; readonly end: Step["end"] }
): Effect.Effect<void> => {
  if (of.amount > model.dearest) model.dearest = of.amount
  if (end === "settled") {
    model.settled += of.amount
    model.isProven = true
    return budget.settle(id, of)
  }
  if (end === "released" || end === "flying") return budget.release(id)
  model.lost += of.amount
  model.isProven = false
  return budget.lose(id, { ...of, culprit: of.payer, gravity: end === "slight" ? "slight" : "grave" })
}

describe("callers that are named", () => {
  it.effect("share the total, and what one has not lost of its part no other one can", () =>
    Effect.gen(function* () {
      const budget = yield* LossBudget.make({ total: 100n, perPayer: 100n, callers: ["cheap", "dear"] })
      const verdicts: Array<string> = []
      for (let index = 0; index < 10; index++) {
        verdicts.push(yield* lost(budget, `n${index}`, risk(`payer-${index}`, 10n, "cheap")))
      }
      assert.strictEqual(verdicts.filter((verdict) => verdict === "Open").length, 7)
      assert.strictEqual(verdicts.at(-1), "caller exhausted")
      assert.strictEqual(yield* judged(budget, risk("bob", 25n, "dear")), "Open")
      assert.strictEqual(yield* judged(budget, risk("carol", 10n, "")), "Open")
    })
  )

  it.effect("have everything where there is one, and their own limit where it is set", () =>
    Effect.gen(function* () {
      const alone = yield* LossBudget.make({ total: 100n, perPayer: 100n, callers: ["shop"] })
      assert.strictEqual(yield* lost(alone, "1", risk("a", 60n)), "Open")
      assert.strictEqual(yield* judged(alone, risk("b", 40n)), "Open")
      const limited = yield* LossBudget.make({ total: 100n, perPayer: 100n, perCaller: 20n, callers: ["shop"] })
      assert.strictEqual(yield* lost(limited, "1", risk("a", 20n)), "Open")
      assert.strictEqual(yield* judged(limited, risk("b", 1n)), "caller exhausted")
    })
  )
})

describe("a loss that is taken back with its block", () => {
  it.effect("counts no more, lifts the ban that it has caused, and leaves the payer as proven as before", () =>
    Effect.gen(function* () {
      const budget = yield* LossBudget.make({ total: 30n, perCaller: 30n, perPayer: 30n })
      yield* settled(budget, "good", risk("a"))
      yield* reserved(budget, "bad", risk("a"))
      yield* budget.lose("bad", { ...risk("a", 20n), culprit: "a", codeHash: "code" })
      assert.strictEqual(yield* judged(budget, risk("a")), "Banned")
      assert.strictEqual(yield* judged(budget, { ...risk("b"), codeHash: "code" }), "Banned")
      assert.strictEqual(yield* judged(budget, risk("c", 11n)), "caller exhausted")
      yield* budget.retract("bad")
      assert.isUndefined(yield* budget.bannedUntil("a"))
      assert.strictEqual(yield* judged(budget, { ...risk("b"), codeHash: "code" }), "Open")
      assert.strictEqual(yield* judged(budget, risk("c", 30n)), "Open")
      yield* reserved(budget, "full", risk("d", 30n))
      assert.strictEqual(yield* judged(budget, risk("a")), "Open")
      assert.strictEqual(yield* judged(budget, risk("e", 1n)), "caller exhausted")
    })
  )

  it.effect("lifts no ban that another payment has caused too", () =>
    Effect.gen(function* () {
      const budget = yield* LossBudget.make({ total: 100n })
      for (const id of ["1", "2"]) yield* budget.lose(id, { ...risk("a"), culprit: "a" })
      yield* budget.retract("2")
      assert.strictEqual(yield* judged(budget, risk("a")), "Banned")
      yield* budget.retract("2")
      assert.strictEqual(yield* judged(budget, risk("a")), "Banned")
      yield* budget.retract("1")
      assert.strictEqual(yield* judged(budget, risk("a")), "Open")
    })
  )

  it.effect("may be lost again, and is taken back by its settlement", () =>
    Effect.gen(function* () {
      const budget = yield* LossBudget.make({ total: 10n, perCaller: 10n, perPayer: 10n })
      yield* budget.lose("1", { ...risk("a"), culprit: "a" })
      yield* budget.retract("1")
      yield* budget.lose("1", { ...risk("a"), culprit: "a" })
      assert.strictEqual(yield* judged(budget, risk("a")), "Banned")
      yield* budget.settle("1", risk("a"))
      assert.strictEqual(yield* judged(budget, risk("a")), "Open")
      assert.strictEqual(yield* judged(budget, risk("b", 10n)), "Open")
    })
  )

  it.effect("takes nothing from a day that begins after it, and nothing back that was never lost", () =>
    Effect.gen(function* () {
      const budget = yield* LossBudget.make({ total: 10n, perCaller: 10n, perPayer: 10n })
      yield* budget.retract("nothing")
      yield* budget.lose("old", { ...risk("a"), culprit: "a", gravity: "slight" })
      yield* TestClock.adjust("26 hours")
      yield* budget.lose("new", { ...risk("b", 4n), culprit: "b", gravity: "slight" })
      yield* budget.retract("old")
      assert.strictEqual(yield* judged(budget, risk("c", 6n)), "Open")
      assert.strictEqual(yield* judged(budget, risk("c", 7n)), "caller exhausted")
    })
  )
})

describe("the facilitator's own delivery", () => {
  it.effect("is signed for whatever its account and others have lost, and counts nothing", () =>
    Effect.gen(function* () {
      const budget = yield* LossBudget.make({ total: 20n, perCaller: 20n, perPayer: 20n })
      const own = { ...risk("operator"), isOwn: true }
      for (const id of ["1", "2", "3"]) assert.strictEqual(yield* lost(budget, id, own), "Open")
      assert.strictEqual(yield* judged(budget, risk("a", 20n)), "Open")
      for (const payer of ["b", "c"]) yield* lost(budget, payer, risk(payer))
      assert.strictEqual(yield* judged(budget, risk("a")), "caller exhausted")
      assert.strictEqual(yield* judged(budget, own), "Open")
      assert.strictEqual(yield* reserved(budget, "4", { ...own, amount: 1_000n }), "Open")
      yield* budget.hold("5", own, never)
      yield* budget.settle("4", own)
      assert.strictEqual(yield* judged(budget, risk("operator")), "caller exhausted")
    })
  )
})
