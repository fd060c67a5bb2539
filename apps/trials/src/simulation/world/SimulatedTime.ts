/**
 * The one time of a simulation: nothing happens but the events that were put down here, in the order of their instants. Events on the
 * same instant happens in an order that the seed draws, so that no run depends on the order in which things were put down.
 */
import type { TrialRandom } from "../../world/TrialRandom.ts"

/** Time that goes on only when its next event is taken. */
export interface SimulatedTime {
  /** Unix milliseconds of the truth, which no process's clock shows. */
  readonly now: () => number
  /** Schedules an event, in milliseconds from now. Returns its cancellation. */
  readonly after: (millis: number, what: string, action: () => void) => () => void
}

/** The same for who drives it. */
export interface DrivenTime extends SimulatedTime {
  /** When the next event is; `undefined` when there is none. */
  readonly next: () => number | undefined
  /** Has the next event happen, and names it. */
  readonly step: () => string | undefined
}

interface Happening {
  readonly at: number
  readonly lot: number
  readonly what: string
  action: (() => void) | undefined
}

/** Time that begins at this instant (Unix milliseconds). */
export const make = (start: number, random: TrialRandom): DrivenTime => {
  const heap: Array<Happening> = []
  let now = start
  const peek = (): Happening | undefined => {
    while (heap[0] !== undefined && heap[0].action === undefined) take(heap)
    return heap[0]
  }
  return {
    now: () => now,
    after: (millis, what, action) => {
      const happening: Happening = { at: now + Math.max(0, Math.ceil(millis)), lot: random.word(), what, action }
      put(heap, happening)
      return () => {
        happening.action = undefined
      }
    },
    next: () => peek()?.at,
    step: () => {
      const happening = peek()
      if (happening === undefined) return undefined
      take(heap)
      now = happening.at
      happening.action?.()
      return happening.what
    }
  }
}

const isBefore = (a: Happening, b: Happening): boolean => a.at < b.at || (a.at === b.at && a.lot < b.lot)

const put = (heap: Array<Happening>, one: Happening): void => {
  let place = heap.push(one) - 1
  while (place > 0) {
    const parent = (place - 1) >> 1
    const above = heap[parent]
    if (above === undefined || !isBefore(one, above)) break
    heap[place] = above
    place = parent
  }
  heap[place] = one
}

const take = (heap: Array<Happening>): void => {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let place = 0
  while (true) {
    const left = heap[2 * place + 1]
    const right = heap[2 * place + 2]
    const isRight = left !== undefined && right !== undefined && isBefore(right, left)
    const lower = isRight ? right : left
    if (lower === undefined || !isBefore(lower, last)) break
    heap[place] = lower
    place = 2 * place + (isRight ? 2 : 1)
  }
  heap[place] = last
}
