import { assert, describe, it } from "@effect/vitest"

import * as CrossingAudit from "../../src/audit/CrossingAudit.ts"
import type { CrossingFacts } from "../../src/audit/CrossingFacts.ts"
import type { BookEntry } from "../../src/audit/PaymentBooks.ts"

const signer = `0x${"5".repeat(40)}`
const payee = `0x${"e".repeat(40)}`
const payerOf = (index: number) => `0x${`${index}`.padStart(40, "a")}`
const nonceOf = (index: number) => `0x${`${index}`.padStart(64, "b")}`
const guidOf = (index: number) => `0x${`${index}`.padStart(64, "c")}`
const price = 100n
const fee = 7n

type Departure = CrossingFacts["departures"][number]
type Arrival = CrossingFacts["arrivals"][number]
type Push = CrossingFacts["far"]["transactions"][number]

const departureOf = (index: number, sent = price): Departure => ({
  payer: payerOf(index),
  nonce: nonceOf(index),
  guid: guidOf(index),
  sent,
  arriving: price,
  transaction: `0xd${index}`
})

const arrivalOf = (index: number, changed: Partial<Arrival> = {}): Arrival => ({
  guid: guidOf(index),
  to: payee,
  amount: price,
  fee: 0n,
  transaction: `0xa${index}`,
  ...changed
})

const recordOf = (index: number, changed: Partial<BookEntry> = {}): BookEntry => ({
  serial: `${index}`,
  paymentId: `pay_${index}`,
  status: "final",
  payer: payerOf(index),
  nonce: nonceOf(index),
  payTo: `0x${"f".repeat(40)}`,
  amount: price + fee,
  transaction: `0xD${index}`,
  delivery: { status: "delivered", transaction: `0xA${index}`, amount: price },
  history: [],
  ...changed
})

const pushOf = (index: number, hash: string): Push => ({
  hash,
  signer,
  nonce: BigInt(index),
  blockNumber: 1n,
  reverted: false,
  gasPrice: 1n,
  cost: 1n,
  input: `0x0c0c389e${guidOf(index).slice(2)}00`
})

const moved = (arrivals: ReadonlyArray<Arrival>): CrossingFacts["far"]["transfers"] =>
  arrivals.map(({ amount, to, transaction }) => ({
    transaction,
    blockHash: "0xb1",
    blockNumber: 1n,
    from: `0x${"0".repeat(40)}`,
    to,
    value: amount,
    nonce: undefined,
    sender: signer
  }))

interface Changed extends Partial<Omit<CrossingFacts, "far">> {
  readonly books?: ReadonlyArray<BookEntry>
  readonly pushes?: ReadonlyArray<Push>
  readonly pooled?: ReadonlyArray<bigint>
  readonly received?: CrossingFacts["far"]["transfers"]
}

/** Two payments that were paid and delivered: one by the executor, one by a push. */
const testimonyOf = ({ books, pooled = [], pushes, received, ...facts }: Changed = {}) => {
  const arrivals = facts.arrivals ?? [arrivalOf(1), arrivalOf(2)]
  const crossings: CrossingFacts = {
    departures: [departureOf(1), departureOf(2)],
    sums: { taken: 2n * (price + fee), fees: 2n * fee, locked: 2n * price },
    far: {
      head: 9n,
      transfers: received ?? moved(arrivals),
      transactions: pushes ?? [pushOf(2, "0xa2")],
      standings: [{ signer, included: 1n, pooled }]
    },
    ...facts,
    arrivals
  }
  return {
    books: books ?? [recordOf(1), recordOf(2)],
    journal: [],
    chain: { head: 9n, transfers: [], transactions: [], standings: [] },
    crossings
  }
}

const checksOf = (changed: Changed): ReadonlyArray<string> =>
  CrossingAudit.findings(testimonyOf(changed)).map(({ check }) => check)

/** The difference that each check finds. */
const planted: Readonly<Record<string, Changed>> = {
  "departure-unbooked": { books: [recordOf(1), recordOf(2, { status: "failed" })] },
  "arrival-undeparted": { arrivals: [arrivalOf(1), arrivalOf(2), arrivalOf(3)] },
  "delivered-twice": { arrivals: [arrivalOf(1), arrivalOf(2), arrivalOf(2, { transaction: "0xa3" })] },
  "delivered-otherwise": { arrivals: [arrivalOf(1), arrivalOf(2, { amount: price - 1n })] },
  undelivered: { arrivals: [arrivalOf(1)] },
  "delivery-open": { books: [recordOf(1), recordOf(2, { delivery: { status: "pending", detail: "waits" } })] },
  "delivery-unproven": {
    books: [recordOf(1), recordOf(2, { delivery: { status: "delivered", transaction: "0xa9", amount: price } })]
  },
  "pushed-twice": { pushes: [pushOf(2, "0xa2"), pushOf(2, "0xa3")] },
  "settled-undeparted": { books: [recordOf(1), recordOf(2), recordOf(3)] },
  unbalanced: { sums: { taken: 2n * (price + fee), fees: 2n * fee, locked: 2n * price - 1n } },
  "arrived-unbalanced": { received: moved([arrivalOf(1)]) },
  "push-unbooked": { pushes: [pushOf(2, "0xa2"), pushOf(8, "0xa8")] },
  "far-slot-gap": { pooled: [4n] }
}

describe("the audit of both chains", () => {
  it("finds nothing where both chains and the books say the same", () => {
    assert.deepStrictEqual(checksOf({}), [])
  })

  it("counts what is pending as owed", () => {
    const pending = { arrivals: [arrivalOf(1)], books: [recordOf(1), recordOf(2, { delivery: { status: "pending" } })] }
    assert.deepStrictEqual(checksOf(pending), ["undelivered", "delivery-open"])
    const { figures } = CrossingAudit
    assert.include(Object.values(figures(testimonyOf(pending))), "214 = 100 + 14 + 100")
  })

  it("counts what is taken on the way as a fee, and misses more than the payer has allowed", () => {
    const departures = [1, 2].map((index) => departureOf(index, price + 3n))
    const sums = { taken: 2n * (price + 3n + fee), fees: 2n * fee, locked: 2n * (price + 3n) }
    const arriving = (amount: bigint, taken: bigint) => ({
      departures,
      sums,
      arrivals: [arrivalOf(1, { amount: price + 3n }), arrivalOf(2, { amount, fee: taken })],
      books: [1, 2].map((index) =>
        recordOf(index, {
          delivery: { status: "delivered", transaction: `0xA${index}`, amount: index === 1 ? price + 3n : amount }
        })
      )
    })
    assert.deepStrictEqual(checksOf(arriving(price + 1n, 2n)), [])
    assert.deepStrictEqual(checksOf(arriving(price - 1n, 4n)), ["delivered-otherwise"])
    assert.deepStrictEqual(checksOf(arriving(price + 1n, 1n)), ["delivered-otherwise", "unbalanced"])
  })

  it("misses money that was taken and is nowhere", () => {
    const sums = { taken: 2n * (price + fee) + 1n, fees: 2n * fee + 1n, locked: 2n * price }
    assert.deepStrictEqual(checksOf({ sums: { ...sums, fees: 2n * fee } }), ["unbalanced", "unbalanced"])
    assert.deepStrictEqual(checksOf({ sums }), [])
  })

  it.each(CrossingAudit.crossingChecks)("finds its planted difference: %s", (check) => {
    assert.include(checksOf(planted[check] ?? assert.fail(`${check} has no planted difference`)), check)
  })
})
