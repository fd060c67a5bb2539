/**
 * Strikes at the facilitator's checkpoints: `FAILPOINT=planned:kill:3` kills the process when it passes the checkpoint
 * `planned` for the third time. Several, with commas between them, strike one after another.
 */
import { Checkpoint } from "@pontage/core"
import * as Effect from "effect/Effect"

/** The effect of a strike: the process is gone at once; the step dies; or the step stands still for a while. */
export const failpointActions = ["kill", "throw", "hang"] as const

export type FailpointAction = (typeof failpointActions)[number]

/** Where, what, and at which passing (the first is 1). */
export interface Failpoint {
  readonly checkpoint: Checkpoint.CheckpointName
  readonly action: FailpointAction
  readonly passing: number
}

/**
 * Every checkpoint with every action: the trials follow from the list in the code, so that no checkpoint is added without
 * its trials.
 */
export const everyFailpoint: ReadonlyArray<Failpoint> = Checkpoint.checkpoints.flatMap((checkpoint) =>
  failpointActions.map((action) => ({ checkpoint, action, passing: 1 }))
)

/** The text form. */
export const toText = ({ action, checkpoint, passing }: Failpoint): string => `${checkpoint}:${action}:${passing}`

/** Reads the text form; `undefined` when it is none. */
export const fromText = (text: string): Failpoint | undefined => {
  const [name, what, count = "1"] = text.split(":")
  const checkpoint = [...Checkpoint.checkpoints, ...Checkpoint.channelCheckpoints].find((one) => one === name)
  const action = failpointActions.find((one) => one === what)
  const isCount = /^[1-9][0-9]{0,5}$/.test(count)
  return checkpoint && action && isCount ? { checkpoint, action, passing: Number(count) } : undefined
}

/** The text form of several. */
export const seriesToText = (failpoints: ReadonlyArray<Failpoint>): string => failpoints.map(toText).join(",")

/** Reads the text form of several; `undefined` when one of them is none. */
export const seriesFromText = (text: string): ReadonlyArray<Failpoint> | undefined => {
  const read = text.split(",").map(fromText)
  const failpoints = read.filter((one) => one !== undefined)
  return failpoints.length === read.length ? failpoints : undefined
}

/** The options of their strikes. */
export interface Options {
  /** Duration of a hang, in milliseconds. */
  readonly hangMillis: number
  /** Ends this process as a power cut would. */
  readonly kill: () => void
  /** Called when one of them strikes. */
  readonly onStrike?: (failpoint: Failpoint) => void
}

/** The checkpoints' meaning with these strikes: the passings for each are counted from the end of the strike before it. */
export const make = (
  failpoints: ReadonlyArray<Failpoint>,
  options: Options
): ((name: Checkpoint.CheckpointName) => Effect.Effect<void>) => {
  let turn = 0
  let passed = 0
  let isStriking = false
  const over = Effect.sync(() => {
    turn++
    passed = 0
    isStriking = false
  })
  return (name) =>
    Effect.suspend(() => {
      const failpoint = failpoints[turn]
      if (isStriking || failpoint?.checkpoint !== name || ++passed !== failpoint.passing) return Effect.void
      isStriking = true
      options.onStrike?.(failpoint)
      return Effect.ensuring(strike(failpoint.action, options), over)
    })
}

const strike = (action: FailpointAction, { hangMillis, kill }: Options): Effect.Effect<void> => {
  switch (action) {
    case "kill":
      return Effect.sync(kill)
    case "throw":
      return Effect.die(new Error("a failpoint strikes"))
    case "hang":
      return Effect.sleep(hangMillis)
  }
}
