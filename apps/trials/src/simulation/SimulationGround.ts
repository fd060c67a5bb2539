/**
 * The ground of a simulation: its time, its scheduler, its chance and its story, which everything else stands on.
 */
import * as TrialRandom from "../world/TrialRandom.ts"
import type { Violation } from "./Invariant.ts"
import type { SimulationPlan } from "./SimulationPlan.ts"
import * as Story from "./Story.ts"
import * as SimulatedProcess from "./world/SimulatedProcess.ts"
import * as SimulatedScheduler from "./world/SimulatedScheduler.ts"
import * as SimulatedTime from "./world/SimulatedTime.ts"

/** When simulations take place: some instant far from zero, Unix milliseconds. */
export const start = 1_700_000_000_000

/** The ground. */
export interface SimulationGround {
  readonly plan: SimulationPlan
  readonly random: TrialRandom.TrialRandom
  readonly time: SimulatedTime.DrivenTime
  readonly scheduler: SimulatedScheduler.SimulatedScheduler
  readonly story: Story.Story
  /** Notes that a promise was broken; the first time counts. */
  readonly violate: (violation: Violation) => void
  readonly violation: () => Violation | undefined
  readonly startProcess: (name: string) => SimulatedProcess.SimulatedProcess
}

/** The ground of a plan. */
export const make = (plan: SimulationPlan, tells: boolean): SimulationGround => {
  const random = TrialRandom.make(`run ${plan.seed}`)
  const time = SimulatedTime.make(start, random.branch("time"))
  const scheduler = SimulatedScheduler.make(random.branch("turns"), plan.setup.shuffles)
  const story = Story.make(time, tells)
  let violation: Violation | undefined
  const violate = (one: Violation) => {
    violation ??= one
    story.tell(() => `BROKEN: ${one.words}`)
  }
  const log: SimulatedProcess.Surroundings["log"] = (process, level, text, isDefect) => {
    story.tell(() => `${process} logs (${level}): ${text}`)
    if (isDefect) violate({ invariant: "no-defect", words: `${process}: ${text}` })
  }
  return {
    plan,
    random,
    time,
    scheduler,
    story,
    violate,
    violation: () => violation,
    startProcess: (name) => SimulatedProcess.make(name, random.branch(name), { time, scheduler, log })
  }
}
