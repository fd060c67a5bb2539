/**
 * The code of accounts: only an account with code may have signatures of another form. A caller can cause a request to the
 * node by each signature that is not the payer's, so an account without code is cached for a moment. An account with code is
 * read every time, because there are few.
 */
import type { ChainUnavailable } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type * as EvmLagGuard from "../node/EvmLagGuard.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"

/** Milliseconds for which an account seen without code counts as plain. */
const plainMillis = 10_000
const capacity = 4096

/** The code of an account; `0x` for an account without code. */
export type CodeOf = (account: EvmAddress.Address) => Effect.Effect<EvmHex.Hex, ChainUnavailable>

/** Reads the code of accounts, and forgets what is cached of one. */
export interface AccountCode {
  readonly codeOf: CodeOf
  /** For an account that may be deployed at any moment, such as by a payment of its own. */
  readonly forget: (account: EvmAddress.Address) => void
}

/**
 * Asks a node, and caches the last few thousand plain accounts. A missing code speaks against the payer, so it is confirmed:
 * the node may lag.
 */
export const make = ({ judge, rpc }: EvmLagGuard.EvmLagGuard): AccountCode => {
  const plainUntil = BoundedMap.oldestOut<EvmAddress.Address, number>(capacity)
  const codeOf: CodeOf = Effect.fnUntraced(function* (account) {
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
  return { codeOf, forget: (account) => void plainUntil.delete(account) }
}

/**
 * For a facilitator that serves no contract accounts: it reads no code and refuses a signature that is not the payer's own.
 */
export const never: AccountCode = { codeOf: () => Effect.succeed("0x"), forget: () => {} }
