/**
 * The functions by which a gate stands in a router's layer, recognised by identity, so that a gated layer differs from
 * a layer that runs its handler for free.
 */

const steps = new WeakSet<object>()

/** Marks a function as a step of a gate, and returns it. */
export const mark = <Step extends object>(step: Step): Step => {
  steps.add(step)
  return step
}

/** Whether one of a layer's functions is a step of a gate. */
export const isIn = (stack: ReadonlyArray<object>): boolean => stack.some((step) => steps.has(step))
