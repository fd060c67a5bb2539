/**
 * A gate before the handlers of a shop. In a round of requests every run waits until each other request runs too or has its
 * response, so that the requests are really at once, however slow the machine is.
 */

/** The gate. It is open until a round begins. */
export interface HandlerGate {
  /** Begins a round of this many requests; 0 opens the gate. */
  readonly begin: (requests: number) => void
  /** Awaited by each run of a handler. */
  readonly pass: () => Promise<void>
  /** Says that a request of the round has its response. */
  readonly answered: () => void
}

/** An open gate. */
export const make = (): HandlerGate => {
  let missing = 0
  let waiting: Array<() => void> = []
  const step = () => {
    if (--missing > 0) return
    for (const pass of waiting) pass()
    waiting = []
  }
  return {
    begin: (requests) => {
      missing = requests
    },
    pass: async () => {
      if (missing <= 0) return
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        step()
      })
    },
    answered: () => {
      if (missing > 0) step()
    }
  }
}
