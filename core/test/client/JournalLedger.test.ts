import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import { type JournalEntry, journalStates, type JournalState, mayFollow } from "../../src/client/JournalEntry.ts"
import * as JournalLedger from "../../src/client/JournalLedger.ts"
import * as PaymentJournal from "../../src/client/PaymentJournal.ts"

const entryOf = (id: string, state: JournalState): JournalEntry => ({
  id,
  state,
  request: "request",
  method: "GET",
  url: "https://shop.example/report",
  host: "shop.example",
  network: "eip155:8453",
  asset: "0xa",
  payTo: "0xb",
  amount: "10",
  spendings: [{ unit: "$", digits: "10", scale: 3 }],
  at: 0,
  validBefore: 60
})

const now = 1_000
const resumable = (ledger: JournalLedger.JournalLedger) => ledger.resumable("request", now, () => false)?.id

describe("resumable", () => {
  it("is the oldest of those that are open", () => {
    const ledger = JournalLedger.make()
    for (const id of ["first", "second", "third"]) ledger.put(entryOf(id, "pending"))
    assert.strictEqual(resumable(ledger), "first")
    ledger.put(entryOf("first", "settled"))
    assert.strictEqual(resumable(ledger), "second")
    ledger.put(entryOf("second", "released"))
    assert.strictEqual(resumable(ledger), "third")
  })

  it("keeps its place through its states", () => {
    const ledger = JournalLedger.make()
    ledger.put(entryOf("first", "reserved"))
    ledger.put(entryOf("second", "pending"))
    ledger.put(entryOf("first", "pending"))
    ledger.put(entryOf("first", "refused"))
    assert.strictEqual(resumable(ledger), "first")
  })

  it("does not come back where a line that is less certain arrives late", () => {
    for (const over of ["settled", "released"] as const) {
      const ledger = JournalLedger.make()
      ledger.put(entryOf("first", over))
      for (const late of ["reserved", "pending", "refused"] as const) {
        assert.strictEqual(ledger.put(entryOf("first", late)).state, over, late)
        assert.isUndefined(resumable(ledger))
      }
    }
  })

  it("stays owed whatever another tab was refused", () => {
    const ledger = JournalLedger.make()
    ledger.put({ ...entryOf("first", "owed"), owedUntil: now + 1 })
    for (const late of ["pending", "refused", "released"] as const) ledger.put(entryOf("first", late))
    assert.strictEqual(ledger.find("first")?.state, "owed")
    assert.strictEqual(resumable(ledger), "first")
  })

  it("is the one whose response broke off after it was over, in whatever order its lines come", () => {
    const settled = entryOf("first", "settled")
    const broken = { ...entryOf("first", "owed"), owedUntil: now + 1, cut: 1 }
    const orders = [
      [settled, broken],
      [broken, settled],
      [broken, { ...entryOf("first", "refused"), cut: 1 }]
    ]
    for (const lines of orders) {
      const ledger = JournalLedger.make()
      for (const line of lines) ledger.put(line)
      assert.strictEqual(resumable(ledger), "first")
      ledger.put({ ...settled, cut: 1 })
      ledger.put(broken)
      assert.isUndefined(resumable(ledger))
    }
  })

  it("does not walk through purchases that are over, and their sums stay", () => {
    const ledger = JournalLedger.make()
    for (let index = 0; index < 1_000; index++) {
      ledger.put(entryOf(`${index}`, "pending"))
      ledger.put(entryOf(`${index}`, index % 2 === 0 ? "settled" : "released"))
    }
    ledger.put(entryOf("open", "pending"))
    const looked: Array<string> = []
    ledger.resumable("request", now, (id) => looked.push(id) === 0)
    assert.deepStrictEqual(looked, ["open"])
    assert.strictEqual(ledger.spent("$", "shop.example").digits, 5_010n)
  })

  it("is forgotten with its entry", () => {
    const ledger = JournalLedger.make()
    ledger.put(entryOf("first", "pending"))
    ledger.prune(JournalLedger.retention + 1)
    assert.isUndefined(resumable(ledger))
  })
})

describe("spent", () => {
  const hosts = ["one.example", "two.example"]
  const networks = ["eip155:1", "eip155:8453"]
  const lines = fc.array(
    fc.record({
      id: fc.constantFrom("a", "b", "c"),
      state: fc.constantFrom(...journalStates),
      host: fc.constantFrom(...hosts),
      network: fc.constantFrom(...networks),
      digits: fc.option(fc.nat(1_000), { nil: undefined }),
      isReadBack: fc.boolean()
    }),
    { maxLength: 12 }
  )

  it("is the sum of the last lines, however each of them came about", () => {
    fc.assert(
      fc.property(lines, (changes) => {
        const ledger = JournalLedger.make()
        const last = new Map<string, JournalEntry>()
        for (const { digits, host, id, isReadBack, network, state } of changes) {
          // A state that follows from another by a copy has the very spendings of it; one read back from a disk has not.
          const entry = { ...(last.get(id) ?? entryOf(id, state)), host, network, state }
          const spendings = digits === undefined ? entry.spendings : [{ unit: "$", digits: `${digits}`, scale: 3 }]
          const line = { ...entry, spendings }
          if (mayFollow(last.get(id)?.state ?? "reserved", state)) last.set(id, line)
          ledger.put(isReadBack ? structuredClone(line) : line)
        }
        const sum = (host?: string, network?: string) =>
          [...last.values()]
            .filter((entry) => entry.state !== "released" && (host ?? entry.host) === entry.host)
            .filter((entry) => (network ?? entry.network) === entry.network)
            .reduce((total, { spendings }) => total + BigInt(spendings[0]?.digits ?? "0"), 0n)
        for (const host of [undefined, ...hosts]) {
          for (const network of [undefined, ...networks]) {
            assert.strictEqual(ledger.spent("$", host, network).digits, sum(host, network))
          }
        }
      }),
      { numRuns: 500 }
    )
  })
})

describe("a reservation", () => {
  const validBefore = 60
  const dead = validBefore * 1000 + JournalLedger.deathMargin

  it("counts until what it was to sign is dead, and nothing from then on", () => {
    const ledger = JournalLedger.make()
    ledger.put(entryOf("first", "reserved"))
    ledger.prune(dead - 1)
    assert.strictEqual(ledger.spent("$").digits, 10n)
    ledger.prune(dead)
    assert.strictEqual(ledger.spent("$").digits, 0n)
    assert.strictEqual(ledger.spent("$", "shop.example").digits, 0n)
  })

  it("that was sent counts all the same, also where that is learned late", () => {
    for (const learned of ["before", "after"] as const) {
      const ledger = JournalLedger.make()
      ledger.put(entryOf("first", "reserved"))
      if (learned === "after") ledger.prune(dead)
      ledger.put(entryOf("first", "pending"))
      ledger.prune(dead)
      assert.strictEqual(ledger.spent("$").digits, 10n, learned)
    }
  })
})

describe("prune", () => {
  it("forgets what is old behind an entry of a clock that was ahead", () => {
    const ledger = JournalLedger.make()
    ledger.put({ ...entryOf("ahead", "settled"), at: 100 * JournalLedger.retention })
    ledger.put(entryOf("old", "settled"))
    ledger.prune(JournalLedger.retention + 1)
    assert.isUndefined(ledger.find("old"))
    assert.strictEqual(ledger.spent("$").digits, 10n, "what may still be settled counts")
  })
})

describe("a metered stream", () => {
  const drawnAt = JournalLedger.retention

  it("counts for 24 hours after its last voucher, and hides no older entry behind it", () => {
    const ledger = JournalLedger.make()
    ledger.put({ ...entryOf("stream", "settled"), drawnAt })
    ledger.put(entryOf("old", "settled"))
    ledger.prune(2 * JournalLedger.retention - 1)
    assert.isUndefined(ledger.find("old"))
    assert.strictEqual(ledger.spent("$").digits, 10n)
    ledger.prune(2 * JournalLedger.retention)
    assert.strictEqual(ledger.spent("$").digits, 0n)
  })

  it("is in a log for as long", () => {
    const line = { ...entryOf("stream", "settled"), drawnAt }
    assert.isFalse(PaymentJournal.isObsolete(line, drawnAt - 1))
    assert.isTrue(PaymentJournal.isObsolete(line, drawnAt))
  })
})

const spendings = (unit: string) => [{ unit, digits: "10", scale: 0 }]

describe("an asset's sum", () => {
  it("is of all networks of its family, and of lines that still name the network", () => {
    const ledger = JournalLedger.make()
    ledger.put({ ...entryOf("old one", "settled"), spendings: spendings("eip155:8453/0xa") })
    ledger.put({ ...entryOf("old two", "settled"), spendings: spendings("eip155:1/0xa") })
    ledger.put({ ...entryOf("new", "settled"), spendings: spendings("eip155/0xa") })
    ledger.put({ ...entryOf("other", "settled"), spendings: spendings("eip155/0xb") })
    ledger.put({ ...entryOf("raw", "settled"), spendings: spendings("ton:mainnet/0:ab") })
    assert.strictEqual(ledger.spent("eip155/0xa").digits, 30n)
    assert.strictEqual(ledger.spent("eip155/0xa", "shop.example").digits, 30n)
    assert.strictEqual(ledger.spent("ton/0:ab").digits, 10n)
  })
})

const isOpen = (state: JournalState, at: number, owedUntil?: number) => {
  const ledger = JournalLedger.make()
  ledger.put({ ...entryOf("first", state), ...(owedUntil !== undefined && { owedUntil }) })
  return ledger.open("request", at) !== undefined
}
const expiry = 60_000 + JournalLedger.deathMargin

describe("a purchase", () => {
  it("is open while its signature may be settled, or a response is owed", () => {
    for (const state of ["reserved", "pending", "refused"] as const) assert.isTrue(isOpen(state, now), state)
    assert.isTrue(isOpen("owed", now, now + 1))
  })

  it("is over once it is served or given up, no response is owed, or nothing of it can be settled", () => {
    for (const state of ["settled", "released"] as const) assert.isFalse(isOpen(state, now), state)
    assert.isFalse(isOpen("owed", now, now))
    assert.isFalse(isOpen("reserved", expiry))
    assert.isFalse(isOpen("refused", expiry))
    assert.isTrue(isOpen("refused", expiry - 1))
  })
})

describe("a top-up", () => {
  const topUp = "9"
  const late = 10 * JournalLedger.retention

  it("is never forgotten while it is under way", () => {
    const ledger = JournalLedger.make()
    ledger.put(entryOf("purchase", "pending"))
    ledger.put({ ...entryOf("top-up", "pending"), request: "top-up", topUp })
    ledger.prune(late)
    assert.isUndefined(ledger.find("purchase"))
    assert.strictEqual(ledger.open("top-up", late)?.id, "top-up")
    assert.strictEqual(ledger.spent("$").digits, 10n)
    ledger.put({ ...entryOf("top-up", "settled"), request: "top-up", topUp })
    assert.isUndefined(ledger.open("top-up", late))
    ledger.prune(late)
    assert.isUndefined(ledger.find("top-up"))
  })

  it("and purchases that are open take their amount from the balance until they end or expire", () => {
    const ledger = JournalLedger.make()
    const place = { network: "eip155:8453", asset: "0xa" }
    ledger.put({ ...entryOf("top-up", "pending"), topUp })
    ledger.put(entryOf("reserved", "reserved"))
    ledger.put(entryOf("settled", "settled"))
    ledger.put({ ...entryOf("elsewhere", "pending"), network: "eip155:137" })
    ledger.put({ ...entryOf("drawn", "pending"), draw: { channel: "c", ceiling: "10" } })
    assert.strictEqual(ledger.committed(place, now), 20n)
    assert.strictEqual(ledger.committed(place, 60_000 + JournalLedger.deathMargin), 0n)
  })
})
