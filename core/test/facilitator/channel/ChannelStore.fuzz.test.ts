/**
 * Random schedules of a channel against a reference model that keeps lists and sums instead of running totals, with a payer
 * who signs, replays and invents maxima, requests that fail, lapse and end twice, and a chain that moves below them.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"

import * as MemoryChannelStore from "../../../src/facilitator/channel/MemoryChannelStore.ts"
import * as Network from "../../../src/protocol/Network.ts"

const network = Network.make("ledger:fuzz")
const channelId = "0xchannel"
const lease = 10_000
const open = 4

interface Run {
  readonly name: string
  readonly amount: bigint
  readonly maximum: bigint
  readonly until: number
  end: bigint | "released" | "lapsed" | undefined
}

/** The reference model: all runs that ever were, and the chain. */
class Model {
  readonly runs: Array<Run> = []
  published = 0n
  balance = 1_000n
  claimed = 0n
  withdrawing = false

  used = () => highest(this.runs.filter(({ end }) => typeof end === "bigint" && end > 0n))
  signed = () => highest(this.runs.filter(({ end }) => end === undefined || (typeof end === "bigint" && end > 0n)))
  charged = () => this.runs.reduce((sum, { end }) => sum + (typeof end === "bigint" ? end : 0n), 0n)
  lapse = (now: number) => {
    for (const run of this.runs) if (run.end === undefined && run.until <= now) run.end = "lapsed"
  }
  openRuns = () => this.runs.filter(({ end }) => end === undefined)
  reserved = () => this.openRuns().reduce((sum, { amount }) => sum + amount, 0n)

  accept(name: string, maximum: bigint, amount: bigint, isNamed: boolean, now: number): string {
    this.lapse(now)
    const last = this.runs.findLast((run) => run.name === name)
    if (last !== undefined && last.end === undefined) return "Held"
    if (typeof last?.end === "bigint" && (isNamed || last.end > 0n)) return "Spent"
    if (this.withdrawing) return "Closing"
    const natural = this.charged() + this.reserved() + amount
    const fits = isNamed ? maximum >= natural : maximum === this.base(amount) + amount
    if (!fits) return "Stale"
    if (maximum > this.balance) return "Short"
    if (this.openRuns().length >= open) return "Busy"
    this.runs.push({ name, amount, maximum, until: now + lease, end: undefined })
    return "Granted"
  }

  /** The sum on top of which a voucher without a name is signed. */
  base(amount: bigint): bigint {
    const natural = this.charged() + this.reserved()
    const last = this.runs.findLast(({ name }) => name === `${natural + amount}/${amount}`)
    const isUsed = last !== undefined && (last.end === undefined || (typeof last.end === "bigint" && last.end > 0n))
    return isUsed || natural + amount <= this.published ? this.signed() : natural
  }
}

const highest = (runs: ReadonlyArray<Run>) => runs.reduce((high, { maximum }) => (maximum > high ? maximum : high), 0n)

type Step =
  | { readonly _tag: "Draw"; readonly amount: bigint; readonly extra: bigint; readonly salt: number | undefined }
  | { readonly _tag: "End"; readonly run: number; readonly charge: bigint | undefined }
  | { readonly _tag: "Claim" | "Withdraw" | "Cancel" | "Wait" }
  | { readonly _tag: "Balance"; readonly balance: bigint }

const steps: fc.Arbitrary<ReadonlyArray<Step>> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        _tag: fc.constant("Draw" as const),
        amount: fc.bigInt(0n, 60n),
        extra: fc.oneof({ weight: 3, arbitrary: fc.constant(0n) }, fc.bigInt(-80n, 200n)),
        salt: fc.option(fc.integer({ min: 0, max: 6 }), { nil: undefined })
      })
    },
    {
      weight: 5,
      arbitrary: fc.record({
        _tag: fc.constant("End" as const),
        run: fc.nat(12),
        charge: fc.option(fc.bigInt(-10n, 90n), { nil: undefined })
      })
    },
    { weight: 3, arbitrary: fc.record({ _tag: fc.constantFrom("Claim", "Withdraw", "Cancel", "Wait") }) },
    { weight: 1, arbitrary: fc.record({ _tag: fc.constant("Balance" as const), balance: fc.bigInt(0n, 1_500n) }) }
  ),
  { maxLength: 60 }
)

const walked = Effect.fnUntraced(function* (schedule: ReadonlyArray<Step>) {
  const store = MemoryChannelStore.make()
  const model = new Model()
  let now = 0
  let block = 1n
  const state = () => ({
    channelId,
    balance: model.balance,
    claimed: model.claimed,
    withdrawRequestedAt: model.withdrawing ? 1 : undefined,
    refundNonce: 0n,
    block: { number: block, hash: `${block}` }
  })
  const observe = Effect.suspend(() => {
    block += 1n
    return store.observed([state()])
  })
  yield* store.open({ ...state(), network, config: {} })
  for (const step of schedule) {
    switch (step._tag) {
      case "Draw": {
        model.lapse(now)
        const wished = model.base(step.amount) + step.amount + step.extra
        const maximum = wished < 0n ? 0n : wished
        const unique = step.salt === undefined ? undefined : `${step.salt}`
        const name = unique ?? `${maximum}/${step.amount}`
        const claimId = `${model.runs.length}`
        const verdict = model.accept(name, maximum, step.amount, unique !== undefined, now)
        const draw = { channelId, maximum, amount: step.amount, unique, voucher: `${maximum}` }
        const actual = yield* store.accept(draw, claimId, { lease, open })
        assert.strictEqual(actual._tag, verdict)
        break
      }
      case "End": {
        model.lapse(now)
        const run = model.runs[step.run]
        const claimId = `${step.run}`
        const end = yield* step.charge === undefined
          ? store.release(channelId, claimId)
          : store.commit(channelId, claimId, step.charge)
        // A later run of the same draw has its record.
        const isLost = run === undefined || model.runs.findLast(({ name }) => name === run.name) !== run
        if (isLost) {
          assert.strictEqual(end._tag, "Lost")
          break
        }
        const late = model.charged() + model.reserved() + run.amount
        const covers = late <= model.balance && [model.signed(), run.maximum].some((voucher) => late <= voucher)
        if (run.end === "lapsed" && step.charge !== undefined && !covers) {
          assert.strictEqual(end._tag, "Lost")
          break
        }
        if (run.end === undefined || run.end === "lapsed") {
          const bounded = [step.charge ?? 0n, run.amount].reduce((low, one) => (one < low ? one : low))
          run.end = step.charge === undefined ? "released" : bounded > 0n ? bounded : 0n
        }
        assert.strictEqual(end._tag, typeof run.end === "bigint" ? "Charged" : "Released")
        if (end._tag === "Charged") assert.strictEqual(end.charged, run.end)
        break
      }
      case "Claim": {
        const policy = { network, least: 1n, maximumUnclaimed: 1n, worthwhile: 1n, worthwhileAge: 0, maximumAge: 0 }
        const [row] = yield* store.due(policy)
        const total = [model.charged(), model.balance].reduce((low, one) => (one < low ? one : low))
        assert.strictEqual(row?.total, total > model.claimed ? total : undefined)
        if (row === undefined) break
        // The contract's own rules: a row that breaks one of them reverts the batch.
        assert.isTrue(row.total <= row.maximum && row.total <= model.balance && row.voucher === `${row.maximum}`)
        assert.strictEqual(row.maximum, model.used())
        model.claimed = row.total
        if (row.maximum > model.published) model.published = row.maximum
        yield* store.publish([row])
        yield* store.claimed([row], { number: block, hash: `${block}` })
        break
      }
      case "Withdraw":
      case "Cancel":
        model.withdrawing = step._tag === "Withdraw"
        yield* observe
        break
      case "Balance":
        model.balance = step.balance > model.claimed ? step.balance : model.claimed
        yield* observe
        break
      case "Wait":
        now += lease / 2
        yield* TestClock.adjust(lease / 2)
    }
    const standing = yield* store.find(channelId)
    assert.deepInclude(standing, { charged: model.charged(), signed: model.signed(), claimed: model.claimed })
    assert.isTrue(model.claimed <= model.charged() && model.charged() <= model.used())
    assert.isTrue(model.used() <= model.signed() && model.charged() + model.reserved() <= model.signed())
  }
  const ended = yield* store.release(channelId, "none of them")
  assert.strictEqual(ended._tag, "Lost")
  model.lapse(now)
  assert.deepInclude(yield* store.find(channelId), { reserved: model.reserved(), open: model.openRuns().length })
  return model.runs.length
})

describe("a channel store on random schedules", () => {
  it("grants, charges and claims as the reference model does", async () => {
    let granted = 0
    await fc.assert(
      fc.asyncProperty(steps, async (schedule) => {
        granted += await Effect.runPromise(Effect.provide(walked(schedule), TestClock.layer()))
      }),
      { numRuns: 300 }
    )
    assert.isAbove(granted, 300, "the schedules grant too few draws to say anything")
  })
})
