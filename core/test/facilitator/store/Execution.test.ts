/** The rules of an execution, one by one, at their bounds. */
import { assert, describe, it } from "@effect/vitest"

import type { Claim } from "../../../src/facilitator/Facilitator.ts"
import * as Execution from "../../../src/facilitator/store/Execution.ts"

const { entitlementMillis, firmMillis, leaseMillis, maximumExecutions } = Execution

const start = 1_700_000_000_000
const claimOf = (id: string, more: Partial<Claim> = {}): Claim => ({ id, resource: "report", ...more })

const unpaid = (now: number): Execution.Circumstances => ({
  settledAt: undefined,
  arrivedAt: undefined,
  opensNothing: false,
  provable: true,
  now
})
const paid = (now: number, more: Partial<Execution.Circumstances> = {}): Execution.Circumstances => ({
  ...unpaid(now),
  settledAt: start,
  arrivedAt: start,
  ...more
})

/** The same for a payment that anybody could repeat. */
const unproven = (now: number) => paid(now, { provable: false })

const held = Execution.make(claimOf("a"), start)
/** Ended by its holder a second after the money moved. */
const ended = (outcome: "served" | "failed" | "refused" | "notRun" | "unanswered") =>
  Execution.finish(held, "a", outcome, paid(start + 1000))
const verdict = (self: Execution.Execution, claim: Claim, at: Execution.Circumstances) =>
  Execution.claim(self, claim, at)[0]

describe("an execution", () => {
  it("belongs to the claim that it was made for until its lease ends", () => {
    assert.strictEqual(verdict(held, claimOf("b"), paid(start + leaseMillis - 1)), "held")
    assert.strictEqual(verdict(held, claimOf("b"), paid(start + leaseMillis)), "granted")
    assert.strictEqual(verdict(held, claimOf("a"), paid(start + 1)), "granted")
  })

  it("is not counted again for its own holder, whose lease begins anew", () => {
    const [, again] = Execution.claim(held, claimOf("a"), paid(start + 10))
    assert.deepStrictEqual(again, { ...held, holder: { claimId: "a", until: start + 10 + leaseMillis } })
  })

  it("is resumed by a claim that names the one that got no response", () => {
    const [granted, resumed] = Execution.claim(held, claimOf("b", { resumes: ["a"] }), paid(start + 10))
    assert.strictEqual(granted, "granted")
    assert.deepInclude(resumed, { count: 1, holder: { claimId: "b", until: start + 10 + leaseMillis } })
  })

  it("is firm for as long as half of its lease is left", () => {
    assert.isTrue(Execution.isFirm(held, "a", start + leaseMillis - firmMillis))
    assert.isFalse(Execution.isFirm(held, "a", start + leaseMillis - firmMillis + 1))
    assert.isFalse(Execution.isFirm(held, "b", start))
  })

  it("is spent once it was served, or where the money opens nothing", () => {
    assert.strictEqual(verdict(ended("served"), claimOf("b"), paid(start + 2000)), "spent")
    assert.strictEqual(verdict(ended("failed"), claimOf("b"), paid(start + 2000, { opensNothing: true })), "spent")
  })

  it("is ended by its holder alone", () => {
    assert.strictEqual(Execution.finish(held, "b", "served", paid(start + 1)), held)
  })
})

describe("a failed execution", () => {
  it("is owed until ten minutes after its failure, and not longer", () => {
    const until = start + 1000 + entitlementMillis
    assert.strictEqual(verdict(ended("failed"), claimOf("b"), paid(until - 1)), "granted")
    assert.strictEqual(verdict(ended("failed"), claimOf("b"), paid(until)), "spent")
    assert.strictEqual(Execution.standing(ended("failed"), paid(until - 1)), "entitled")
    assert.strictEqual(Execution.standing(ended("failed"), paid(until)), "owed")
  })

  it("is repeated until five were begun", () => {
    let self = held
    for (let run = 1; run < maximumExecutions; run++) {
      self = Execution.finish(self, self.holder?.claimId ?? "", "failed", paid(start + run))
      const [granted, next] = Execution.claim(self, claimOf(`again${run}`), paid(start + run))
      assert.strictEqual(granted, "granted", `${run}`)
      self = next
    }
    const last = Execution.finish(self, self.holder?.claimId ?? "", "failed", paid(start + 10))
    assert.strictEqual(last.count, maximumExecutions)
    assert.strictEqual(verdict(last, claimOf("one more"), paid(start + 11)), "spent")
    assert.isUndefined(Execution.entitlement(last, paid(start + 11)))
  })

  it("does not count where the handler was not reached", () => {
    assert.strictEqual(ended("notRun").count, 0)
    assert.strictEqual(ended("unanswered").count, 0)
    assert.strictEqual(ended("failed").count, 1)
  })

  it("says how many are left, and until when", () => {
    assert.deepStrictEqual(Execution.entitlement(ended("failed"), paid(start + 2000)), {
      runs: maximumExecutions - 1,
      until: start + 1000 + entitlementMillis
    })
    assert.isUndefined(Execution.entitlement(ended("failed"), unpaid(start + 2000)))
  })
})

describe("a lease that has ended", () => {
  it("counts as a failure after the money has moved, and as nothing before", () => {
    const after = paid(start + leaseMillis + 1)
    assert.strictEqual(Execution.claim(held, claimOf("b"), after)[1].count, 2)
    const late = { ...after, settledAt: start + leaseMillis, arrivedAt: start + leaseMillis }
    assert.strictEqual(Execution.claim(held, claimOf("b"), late)[1].count, 1)
  })
})

describe("a payment that nobody can prove to be its own", () => {
  it("buys one execution, also where its handler was not reached after the money moved", () => {
    const released = Execution.finish(held, "a", "notRun", unproven(start + 1))
    assert.strictEqual(released.count, 1)
    assert.strictEqual(verdict(released, claimOf("b"), unproven(start + 2)), "spent")
    assert.isUndefined(Execution.entitlement(released, unproven(start + 2)))
  })

  it("keeps it where no server learned of it", () => {
    const released = Execution.finish(held, "a", "unanswered", unproven(start + 1))
    assert.strictEqual(verdict(released, claimOf("b"), unproven(start + 2)), "granted")
  })
})

describe("another resource", () => {
  const elsewhere = claimOf("b", { resource: "forecast", route: "GET /:page" })
  const refused = {
    ...Execution.finish(Execution.make(claimOf("a", { route: "GET /:page" }), start), "a", "refused", paid(start + 1)),
    route: "GET /:page"
  }

  it("of the same route takes over what the application refused", () => {
    const [granted, moved] = Execution.claim(refused, elsewhere, paid(start + 2))
    assert.strictEqual(granted, "granted")
    assert.deepInclude(moved, { resource: "forecast", count: 2 })
  })

  it.each([
    ["before the money has moved", refused, elsewhere, unpaid(start + 2)],
    ["of another route", refused, { ...elsewhere, route: "GET /others" }, paid(start + 2)],
    ["without a route", refused, claimOf("b", { resource: "forecast" }), paid(start + 2)],
    ["for nobody's payment", refused, elsewhere, paid(start + 2, { provable: false })],
    ["after a failure, which is owed for its own resource", { ...refused, refused: false }, elsewhere, paid(start + 2)],
    ["while it is held", { ...refused, holder: held.holder }, elsewhere, paid(start + 2)],
    ["once it was served", { ...refused, served: true }, elsewhere, paid(start + 2)]
  ] as const)("gets nothing %s", (_, self, claim, at) => {
    assert.deepStrictEqual(Execution.claim(self, claim, at), ["conflict", self])
  })
})
