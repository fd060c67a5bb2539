/**
 * Runs the fibers of all processes of a simulation, one step after another: which process takes the next step is drawn from
 * the seed, and within a process tasks run in their order, or in a drawn one where the seed wants to see more.
 */
import type * as Scheduler from "effect/Scheduler"

import type { TrialRandom } from "../../world/TrialRandom.ts"

/** The tasks of one process that are ready to run. */
export interface Turns {
  readonly scheduler: Scheduler.Scheduler
  /** Its tasks wait, or go on. */
  readonly pause: (waits: boolean) => void
  /** Its tasks are gone, and none is taken any more. */
  readonly stop: () => void
}

/** The scheduler of a whole simulation. */
export interface SimulatedScheduler {
  readonly turns: () => Turns
  /** Runs one task of one process; `false` when none is ready. */
  readonly step: () => boolean
}

interface Queue {
  readonly tasks: Array<Task>
  isPaused: boolean
}

interface Task {
  readonly run: () => void
  readonly priority: number
}

/** A scheduler; `shuffles` has the tasks of a process run in a drawn order. */
export const make = (random: TrialRandom, shuffles: boolean): SimulatedScheduler => {
  const queues: Array<Queue> = []
  const chosen = (): Queue | undefined => {
    const ready = queues.filter(({ isPaused, tasks }) => tasks.length > 0 && !isPaused)
    return ready.length < 2 ? ready[0] : ready[random.below(ready.length)]
  }
  const taken = ({ tasks }: Queue): Task | undefined => {
    const first = tasks.reduce((lowest, { priority }) => Math.min(lowest, priority), Number.POSITIVE_INFINITY)
    const places = tasks.flatMap(({ priority }, place) => (priority === first ? [place] : []))
    const place = shuffles && places.length > 1 ? random.pick(places) : (places[0] ?? 0)
    return tasks.splice(place, 1)[0]
  }
  return {
    turns: () => {
      const queue: Queue = { tasks: [], isPaused: false }
      queues.push(queue)
      let isOpen = true
      const scheduleTask = (run: () => void, priority: number) => {
        if (isOpen) queue.tasks.push({ run, priority })
      }
      const dispatcher = { scheduleTask, flush: () => undefined }
      return {
        scheduler: {
          executionMode: "async",
          shouldYield: (fiber) => fiber.currentOpCount >= fiber.cache.maxOpsBeforeYield,
          makeDispatcher: () => dispatcher
        },
        pause: (waits) => {
          queue.isPaused = waits
        },
        stop: () => {
          isOpen = false
          queue.tasks.length = 0
          queues.splice(queues.indexOf(queue), 1)
        }
      }
    },
    step: () => {
      const queue = chosen()
      if (queue === undefined) return false
      taken(queue)?.run()
      return true
    }
  }
}
