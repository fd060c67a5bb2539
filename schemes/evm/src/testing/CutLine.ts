/** A chain behind a connection that a test can cut. */
import * as Effect from "effect/Effect"

import * as JsonRpcRelay from "./JsonRpcRelay.ts"

/** Opens the connection to a node; it ends with the scope. */
export const make = Effect.fnUntraced(function* (rpcUrl: string) {
  let isCut = false
  const pass = JsonRpcRelay.passTo(rpcUrl)
  const attend = JsonRpcRelay.each(pass)
  const { url } = yield* JsonRpcRelay.make(async (requests) => (isCut ? { _tag: "Broken" } : attend(requests)))
  const whileDown = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => void (isCut = true)),
      () => effect,
      () => Effect.sync(() => void (isCut = false))
    )
  return { url, whileDown }
})
