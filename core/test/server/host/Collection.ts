/** Real garbage collection, for tests of what becomes of an object that is not held any more. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collect: unknown = runInNewContext("gc")

/** Resolves in a later turn of the event loop: what is collected tells of it there. */
const turn = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve)
  })

/** Collects garbage until the condition holds, or the test has run out of time. */
export const until = async (condition: () => boolean | Promise<boolean>, signal: AbortSignal): Promise<void> => {
  // oxlint-disable-next-line no-await-in-loop -- one collection after the other
  while (!signal.aborted && !(await condition())) {
    if (typeof collect === "function") Reflect.apply(collect, undefined, [])
    // oxlint-disable-next-line no-await-in-loop -- one collection after the other
    await turn()
  }
}
