import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as EvmRefusal from "../../src/transfer/EvmRefusal.ts"
import type { EvmRevert } from "../../src/transfer/EvmRevert.ts"
import * as Payment from "../EvmTestPayment.ts"

const rows: ReadonlyArray<readonly [EvmRevert, string]> = [
  [{ _tag: "UsedOrCanceled" }, "already_used nonce_used"],
  [{ _tag: "Expired" }, "EXPIRED_PAYMENT expired"],
  [{ _tag: "NotYetValid" }, "EXPIRED_PAYMENT not_yet_valid"],
  [{ _tag: "InvalidSignature" }, "INVALID_SIGNATURE token_refused"],
  [{ _tag: "InsufficientBalance" }, "INSUFFICIENT_BALANCE balance_below_amount"],
  [{ _tag: "Blacklisted" }, "unsupported_authorization account_blocked"],
  [{ _tag: "Paused" }, "ChainUnavailable"],
  [{ _tag: "Other", message: "no reason" }, "unsupported_authorization transfer_refused"]
]

describe("EvmRefusal", () => {
  for (const [revert, expected] of rows) {
    it.effect(`says of ${revert._tag}: ${expected}`, () =>
      Effect.gen(function* () {
        const error = EvmRefusal.fromRevert("eip155:1", revert)
        assert.strictEqual(yield* Payment.outcome(Effect.fail(error)), expected)
      })
    )
  }
})
