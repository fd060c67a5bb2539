import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"

import * as TrialJournal from "../../src/audit/TrialJournal.ts"

const payment = { payer: "0x1", nonce: "0x2", payTo: "0x3", amount: 2n ** 70n }
const request = { operation: "settle", facilitator: "f", payment, claimId: undefined } as const

describe("the journal", () => {
  it("numbers what happens in its order, outcomes with the presentation that they are of", () => {
    const journal = TrialJournal.make()
    const first = journal.noteRequest(request)
    const second = journal.noteRequest(request)
    journal.noteOutcome(second, { _tag: "Lost" })
    journal.noteOutcome(first, { _tag: "CannotTell", httpStatus: 503 })
    assert.deepStrictEqual(
      journal.lines.map(({ order }) => order),
      [0, 1, 2, 3]
    )
    assert.deepStrictEqual(
      journal.lines.flatMap((line) => (line._tag === "OutcomeReceived" ? [line.to] : [])),
      [second, first]
    )
    assert.isTrue(journal.lines.every(({ at }, index) => index === 0 || at >= (journal.lines[index - 1]?.at ?? at)))
  })

  it("is in its file as it happens, exact amounts included", () => {
    const folder = mkdtempSync(join(tmpdir(), "journal-"))
    try {
      const file = join(folder, "journal.jsonl")
      const journal = TrialJournal.make(file)
      journal.noteRequest(request)
      const lines = readFileSync(file, "utf8").trim().split("\n")
      assert.strictEqual(lines.length, 1)
      assert.include(lines[0], `"amount":"${2n ** 70n}"`)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
