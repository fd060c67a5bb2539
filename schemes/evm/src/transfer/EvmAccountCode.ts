/**
 * The code of accounts: only an account with code may sign in ways of its own. Who sends signatures that are not the payer's
 * makes a node be asked, so that an account is plain is remembered for a moment; code is asked for every time, because such
 * accounts are few.
 */
import type { ChainUnavailable } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type * as EvmHead from "../node/EvmHead.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"

/** How long an account counts as plain after it was seen to be, in milliseconds. */
const plainMillis = 10_000
const capacity = 4096

/** The code of an account; `0x` where there is none. */
export type CodeOf = (account: EvmAddress.Address) => Effect.Effect<EvmHex.Hex, ChainUnavailable>

/**
 * Asks a node, and remembers the last few thousand accounts that were plain. That there is no code speaks against a payer: a node
 * that is behind is not believed.
 */
export const make = ({ judge, rpc }: EvmHead.EvmHead): CodeOf => {
  const plainUntil = BoundedMap.oldestOut<EvmAddress.Address, number>(capacity)
  return Effect.fnUntraced(function* (account) {
    const now = yield* Clock.currentTimeMillis
    if ((plainUntil.get(account) ?? 0) > now) return "0x"
    const code = yield* judge(
      (block) => rpc.getCode(account, block),
      (found) => found === "0x"
    )
    if (code !== "0x") return code
    plainUntil.set(account, now + plainMillis)
    return code
  })
}

/**
 * Where no contract account is served, none is asked for: a signature that is not the payer's own is refused at once.
 */
export const never: CodeOf = () => Effect.succeed("0x")
