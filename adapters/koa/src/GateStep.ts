/**
 * The functions by which a gate stands in a router's layer: known by identity, so that a layer that has one is told from a
 * layer that runs its handler for free.
 */

const steps = new WeakSet<object>()

/** Notes that a function is a step of a gate, and gives it back. */
export const mark = <Step extends object>(step: Step): Step => {
  steps.add(step)
  return step
}

/** Whether one of a layer's functions is a step of a gate. */
export const isIn = (stack: ReadonlyArray<object>): boolean => stack.some((step) => steps.has(step))
