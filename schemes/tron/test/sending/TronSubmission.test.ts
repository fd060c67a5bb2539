import { assert, describe, it } from "@effect/vitest"

import * as TronSubmission from "../../src/sending/TronSubmission.ts"

/** Every code of java-tron's `response_code`, and its meaning here. */
const meanings: Readonly<Record<string, string>> = {
  SUCCESS: "Accepted",
  DUP_TRANSACTION_ERROR: "Known",
  SIGERROR: "Outdated",
  CONTRACT_VALIDATE_ERROR: "Outdated",
  CONTRACT_EXE_ERROR: "Outdated",
  BANDWITH_ERROR: "Outdated",
  TAPOS_ERROR: "Outdated",
  TOO_BIG_TRANSACTION_ERROR: "Outdated",
  TRANSACTION_EXPIRATION_ERROR: "Outdated",
  OTHER_ERROR: "Outdated",
  SERVER_BUSY: "Refused",
  NO_CONNECTION: "Refused",
  NOT_ENOUGH_EFFECTIVE_CONNECTION: "Refused",
  BLOCK_UNSOLIDIFIED: "Refused"
}

describe("TronSubmission", () => {
  it("stops no other payment for the rejection of one, and proves nothing", () => {
    for (const [code, meaning] of Object.entries(meanings)) {
      const submission = TronSubmission.toResult({ code, message: "why" })
      assert.strictEqual(submission._tag, meaning, code)
      if (submission._tag === "Outdated" || submission._tag === "Refused") {
        assert.strictEqual(submission.message, `${code}: why`)
      }
    }
  })
})
