/**
 * Whether accounts have code: only such an account may sign in ways of its own. Who sends signatures that are not the
 * payer's makes a node be asked, so that an account is plain is remembered for a moment; that it has code is asked every
 * time, because such accounts are few.
 */
import type { ChainUnavailable } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type * as EvmAddress from "./EvmAddress.ts"
import type * as EvmRpc from "./EvmRpc.ts"

/** How long an account counts as plain after it was seen to be, in milliseconds. */
const plainMillis = 10_000
const capacity = 4096

/**
 * Whether an account has code.
 *
 * @category models
 */
export type HasCode = (account: EvmAddress.Address) => Effect.Effect<boolean, ChainUnavailable>

/**
 * Asks a node, and remembers the last few thousand accounts that were plain.
 *
 * @category constructors
 */
export const make = (rpc: EvmRpc.Shape): HasCode => {
  const plainUntil = new Map<EvmAddress.Address, number>()
  return Effect.fnUntraced(function* (account) {
    const now = yield* Clock.currentTimeMillis
    if ((plainUntil.get(account) ?? 0) > now) return false
    if ((yield* rpc.getCode(account)) !== "0x") return true
    for (const oldest of plainUntil.keys()) {
      if (plainUntil.size < capacity) break
      plainUntil.delete(oldest)
    }
    plainUntil.delete(account)
    plainUntil.set(account, now + plainMillis)
    return false
  })
}

/**
 * Where no contract account is served, none is asked for: a signature that is not the payer's own is refused at once.
 *
 * @category constructors
 */
export const never: HasCode = () => Effect.succeed(false)
