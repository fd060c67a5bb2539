/**
 * G21: attackers cannot burn a facilitator's gas beyond the ceiling that its operator has set, and other callers do not notice.
 */
import type { Anvil } from "@pontage/evm/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import type { Testimony } from "../audit/PaymentStory.ts"
import * as PaymentStory from "../audit/PaymentStory.ts"
import type { CallerOutcome } from "../audit/TrialJournal.ts"
import * as TrialAct from "../world/TrialAct.ts"
import * as TrialCaller from "../world/TrialCaller.ts"
import type { TrialOptions } from "../world/TrialOptions.ts"
import type { Broken, TrialReport } from "../world/TrialReport.ts"
import * as TrialWorld from "../world/TrialWorld.ts"
import * as EmptyingPayer from "./EmptyingPayer.ts"

const usualAttacks = 60
const atOnce = 4
const honestPayers = 10
/** The price of gas is held, so that every attack costs the same. */
const baseFee = 10n * 10n ** 9n
/** Wei in 24 hours for the attacker's payments: some dozen reverted transactions at this price. */
const ceiling = 10n ** 16n

const keys = { attacker: "the-key-of-the-attacker", honest: "the-key-of-the-others", books: "the-key-of-the-operator" }

const callers = [
  { name: "attacker", key: keys.attacker, gasCeiling: ceiling },
  { name: "honest", key: keys.honest },
  { name: "operator", key: keys.books, operator: true }
]

/** Runs the trial; its size counts the attacks. */
export const run = Effect.fnUntraced(function* (
  options: TrialOptions
): Effect.fn.Return<TrialReport, Anvil.AnvilFailed, Scope.Scope> {
  const attacks = options.size ?? usualAttacks
  const world = yield* TrialWorld.make(options, { payers: attacks + honestPayers, booksKey: keys.books })
  const facilitator = yield* world.facilitator({ callers })
  yield* facilitator.listening
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(world.chain.setNextBlockBaseFee(baseFee), Effect.sleep(300))))
  const honest = world.chain.accounts.payers.slice(attacks)
  const hostile = world.chain.accounts.payers.slice(0, attacks).map(({ address }) => address.toLowerCase())
  const outcome = yield* TrialAct.underLoad(
    world,
    {
      facilitators: [facilitator.url],
      caller: TrialCaller.make({ journal: world.journal, apiKey: keys.honest }),
      payers: honest,
      concurrency: 4,
      payments: 20,
      rules: { reverted: 1, hostile: new Set(hostile) }
    },
    attackAll(world, facilitator.url, attacks)
  )
  const loss = lossOf(outcome.said, hostile)
  return {
    goal: "G21",
    title: `${attacks} payers who empty their balance right before they pay`,
    options,
    figures: {
      "ceiling, wei": `${ceiling}`,
      "loss, wei": `${loss.wei}`,
      "attacks that cost gas": loss.count,
      "attacks refused for the ceiling": outcome.result.filter(({ _tag }) => _tag === "CannotTell").length,
      ...TrialAct.figures(outcome)
    },
    findings: [...brokenBy(loss), ...disturbed(outcome.said, hostile), ...outcome.findings]
  }
})

const attackAll = (world: TrialWorld.TrialWorld, facilitator: string, attacks: number) =>
  Effect.gen(function* () {
    const caller = TrialCaller.make({ journal: world.journal, apiKey: keys.attacker })
    return yield* Effect.forEach(
      world.chain.accounts.payers.slice(0, attacks),
      (payer, index): Effect.Effect<CallerOutcome> =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          EmptyingPayer.attack({
            world,
            caller,
            facilitator,
            payer,
            // A failure is reported when the validity is over in a final block, which the audit's wait covers.
            validBefore: Math.floor(now / 1000) + 40,
            luck: world.random.branch(`attack${index}`)
          })
        ),
      { concurrency: atOnce }
    )
  })

interface Loss {
  readonly wei: bigint
  readonly count: number
  /** Cost of the dearest of them. */
  readonly most: bigint
}

/** Cost of the transactions of the attackers' payments. */
const lossOf = (said: Testimony, hostile: ReadonlyArray<string>): Loss => {
  const payers = new Set(hostile)
  const costs = PaymentStory.all(said)
    .filter(({ payment }) => payment !== undefined && payers.has(payment.payer))
    .flatMap(({ transactions }) => transactions.map(({ cost }) => cost))
  return {
    wei: costs.reduce((sum, cost) => sum + cost, 0n),
    count: costs.length,
    most: costs.reduce((most, cost) => (cost > most ? cost : most), 0n)
  }
}

const brokenBy = ({ count, most, wei }: Loss): ReadonlyArray<Broken> => [
  ...(wei > ceiling + most ? [{ check: "ceiling", detail: `attacks cost ${wei} wei, ${ceiling} are allowed` }] : []),
  ...(count === 0 ? [{ check: "no-attack", detail: "no attack cost any gas: nothing was tried" }] : [])
]

/** The other callers never have to retry. */
const disturbed = ({ journal }: Testimony, hostile: ReadonlyArray<string>): ReadonlyArray<Broken> => {
  const theirs = new Set(
    journal.flatMap((line) =>
      line._tag === "RequestSent" && !hostile.includes(line.payment.payer) ? [line.order] : []
    )
  )
  const refused = journal.filter(
    (line) =>
      line._tag === "OutcomeReceived" &&
      theirs.has(line.to) &&
      (line.told._tag === "CannotTell" || line.told._tag === "Lost")
  )
  return refused.length === 0
    ? []
    : [{ check: "disturbed", detail: `${refused.length} requests of others got no verdict` }]
}
