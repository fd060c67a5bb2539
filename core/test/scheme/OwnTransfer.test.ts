import { assert, describe, it } from "@effect/vitest"

import { observedPaymentOf } from "../../src/facilitator/lane/TrackedTransaction.ts"
import type { StoredPayment } from "../../src/facilitator/store/PaymentStore.ts"
import { invalid } from "../../src/protocol/ValidationError.ts"
import * as OwnTransfer from "../../src/scheme/OwnTransfer.ts"

/** Block 100 was the head at the preparation; the record was made at second 1000. */
const since = 100n
const earliest = 1_000
const unbound = { authorization: { binding: undefined } }
const bound = { authorization: { binding: { challenge: "c", salt: "s" } } }

describe("a transfer in a block below the preparation", () => {
  const below = { number: 99n, time: 1_001 }
  const older = { number: 99n, time: 999 }
  const rows: ReadonlyArray<
    readonly [string, Omit<Parameters<typeof OwnTransfer.isOwn>[0], "since" | "earliest">, boolean]
  > = [
    ["of an unbound payment is another's", { payment: unbound }, false],
    ["of a bound payment is its own", { payment: bound }, true],
    ["of a payment that nothing was prepared for is its own", { payment: unbound, unprepared: true }, true],
    ["of a payment that it settled before a reorganisation is its own", { payment: unbound, settledBefore: true }, true]
  ]
  for (const [situation, payment, isOwn] of rows) {
    it(`${situation}: ${isOwn}`, () =>
      assert.strictEqual(OwnTransfer.isOwn({ since, earliest, ...payment }, below), isOwn))
    it(`${situation}, and never if it is older than the record`, () =>
      assert.isFalse(OwnTransfer.isOwn({ since, earliest, ...payment }, older)))
  }

  it("of a signer of ours is its own", () =>
    assert.isTrue(OwnTransfer.isOwn({ since, earliest, payment: unbound }, below, true)))

  it("is of a signer of ours if that one is configured, or is the signer of the payment's lane", () => {
    const signers = new Set(["signer-2"])
    for (const [sender, isOurs] of [
      ["signer-1", true],
      ["signer-2", true],
      ["signer-3", false]
    ] as const)
      assert.strictEqual(OwnTransfer.isSigner({ lane: "signer-1" }, signers, sender), isOurs, sender)
    assert.isFalse(OwnTransfer.isSigner({}, signers, "signer-1"))
  })
})

describe("a payment as the scheme observes it", () => {
  const at = 1_700_000_000_000
  const stored = (statuses: ReadonlyArray<StoredPayment["status"]>, refusal?: StoredPayment["refusal"]) =>
    ({ since, refusal, history: statuses.map((status) => ({ status, at })) }) as unknown as StoredPayment
  const observed = (one: StoredPayment) =>
    observedPaymentOf({ stored: one, payment: {} as never, concluded: false }, 0n, at).settledBefore

  it("was settled before if its own transfer was in a block, whatever became of that", () => {
    assert.isUndefined(observed(stored(["accepted", "planned", "sent"])))
    assert.isTrue(observed(stored(["accepted", "planned", "sent", "included", "sent"])))
  })

  it("was not if the transfer was another's, which its refusal says", () => {
    const refusal = invalid("already_used", "used", "another has sent it")
    assert.isUndefined(observed(stored(["accepted", "included", "sent"], refusal)))
  })

  it("names the signer of its lane, if it has one", () => {
    for (const [lane, signer] of [
      ["ledger:test signer-1", "signer-1"],
      ["ledger:test ", undefined],
      [undefined, undefined]
    ] as const) {
      const one = { ...stored(["accepted"]), lane }
      assert.strictEqual(
        observedPaymentOf({ stored: one, payment: {} as never, concluded: false }, 0n, at).lane,
        signer
      )
    }
  })
})
