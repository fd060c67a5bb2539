/**
 * Looks at every run of a handler: it is the only one of its payment, and the payment was not served before.
 */
import type { Violation } from "./Invariant.ts"
import type { SimulatedProcess } from "./world/SimulatedProcess.ts"

/** A run. */
export interface HandlerRun {
  readonly paymentId: string
  readonly shop: SimulatedProcess
  readonly at: number
  state: "running" | "delivered" | "broken"
}

/** A silent holder counts as failed after this time, in milliseconds. */
const leaseMillis = 60_000

/** The fault of this run, if any, right after it was recorded. */
export const judge = (runs: ReadonlyArray<HandlerRun>, run: HandlerRun, isServed: boolean): Violation | undefined => {
  const name = run.paymentId.slice(0, 10)
  const others = runs.filter((one) => one !== run && one.paymentId === run.paymentId)
  const beside = others.find(({ at, shop, state }) => state !== "broken" && shop.isAlive() && run.at < at + leaseMillis)
  if (beside !== undefined) {
    const words = `${run.shop.name} runs its handler for ${name}, which ${beside.shop.name} has ${beside.state === "running" ? "running" : "delivered"}`
    return { invariant: "one-run", words }
  }
  return isServed && others.length > 0
    ? {
        invariant: "one-run",
        words: `${run.shop.name} runs its handler for ${name}, whose record says that it is served`
      }
    : undefined
}
