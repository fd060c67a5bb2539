import { assert, describe, it } from "@effect/vitest"

import { auditChecks, findings, type Rules } from "../../src/audit/Audit.ts"
import type { ChainTransfer, SignerTransaction } from "../../src/audit/ChainFacts.ts"
import type { BookEntry } from "../../src/audit/PaymentBooks.ts"
import type { Testimony } from "../../src/audit/PaymentStory.ts"
import type { JournalLine, JournalPayment, CallerOutcome } from "../../src/audit/TrialJournal.ts"

const signer = `0x${"5".repeat(40)}`
const stranger = `0x${"6".repeat(40)}`
const payTo = `0x${"e".repeat(40)}`
const nonceOf = (index: number) => `0x${`${index}`.padStart(64, "ab")}`
const payerOf = (index: number) => `0x${`${index}`.padStart(40, "A")}`
const paymentOf = (index: number): JournalPayment => ({
  payer: payerOf(index),
  nonce: nonceOf(index),
  payTo,
  amount: 100n
})

const recordOf = (index: number, changed: Partial<BookEntry> = {}): BookEntry => ({
  serial: `${index}`,
  paymentId: `pay_${index}`,
  status: "final",
  payer: payerOf(index),
  nonce: nonceOf(index),
  payTo: payTo.toUpperCase().replace("0X", "0x"),
  amount: 100n,
  transaction: `0xT${index}`,
  history: [],
  ...changed
})

const transferOf = (index: number, changed: Partial<ChainTransfer> = {}): ChainTransfer => ({
  transaction: `0xt${index}`,
  blockHash: "0xb1",
  blockNumber: 1n,
  from: payerOf(index).toLowerCase(),
  to: payTo,
  value: 100n,
  nonce: nonceOf(index),
  sender: signer,
  ...changed
})

const transactionOf = (index: number, changed: Partial<SignerTransaction> = {}): SignerTransaction => ({
  hash: `0xt${index}`,
  signer,
  nonce: BigInt(index),
  blockNumber: 1n,
  reverted: false,
  gasPrice: 10n,
  cost: 1000n,
  input: `0xe3ee160e${"0".repeat(24)}${payerOf(index).slice(2)}${nonceOf(index).slice(2)}${"0".repeat(64)}`,
  ...changed
})

const settled: CallerOutcome = {
  _tag: "Verdict",
  success: true,
  paymentId: "pay_1",
  status: "included",
  execution: "granted",
  transaction: "0xt1",
  refusal: undefined,
  detail: undefined
}
const pending: CallerOutcome = { ...settled, success: false, status: "sent", transaction: "" }
const refused = (refusal: string): CallerOutcome => ({ ...pending, refusal, execution: undefined })

/** A claim that was granted before the money moved. */
const claimed: CallerOutcome = { ...settled, status: "accepted", transaction: "" }

/** Requests of several callers for payment 1, one after the other, and payment 2 in order. */
const journalOfCalls = (
  ...calls: ReadonlyArray<readonly ["settle" | "claim", string, CallerOutcome | undefined]>
): Testimony => ({
  ...good,
  journal: [
    ...calls.flatMap(([operation, claimId, told], index) =>
      journalOf(paymentOf(1), [[claimId, told]], index * 2, operation)
    ),
    ...journalOf(paymentOf(2), [["b", settled]], 1000)
  ]
})

/** Requests of a payment and their outcomes, one after the other. */
const journalOf = (
  payment: JournalPayment,
  exchanges: ReadonlyArray<readonly [string, CallerOutcome | undefined]>,
  start = 0,
  operation: "settle" | "claim" = "settle"
): ReadonlyArray<JournalLine> =>
  exchanges.flatMap(([claimId, told], index): ReadonlyArray<JournalLine> => {
    const order = start + index * 2
    const asked = { _tag: "RequestSent", order, at: order, operation, facilitator: "f", payment, claimId } as const
    const answered = { _tag: "OutcomeReceived", order: order + 1, at: order + 1, to: order } as const
    return told === undefined ? [asked] : [asked, { ...answered, told }]
  })

/** Two payments in perfect order; a case changes what one witness says. */
const good: Testimony = {
  chain: {
    head: 5n,
    transfers: [transferOf(1), transferOf(2)],
    transactions: [transactionOf(1), transactionOf(2)],
    standings: [{ signer, included: 3n, pooled: [] }]
  },
  books: [recordOf(1), recordOf(2)],
  journal: [
    ...journalOf(paymentOf(1), [
      ["a", { _tag: "Lost" }],
      ["a", { _tag: "CannotTell", httpStatus: 503 }],
      ["a", pending],
      ["a", settled]
    ]),
    ...journalOf(paymentOf(2), [["b", settled]], 100)
  ]
}

const chainWith = (changed: Partial<Testimony["chain"]>): Testimony => ({
  ...good,
  chain: { ...good.chain, ...changed }
})
const booksWith = (...books: ReadonlyArray<BookEntry>): Testimony => ({ ...good, books })
const journalWith = (...exchanges: ReadonlyArray<readonly [string, CallerOutcome | undefined]>): Testimony => ({
  ...good,
  journal: [...journalOf(paymentOf(1), exchanges), ...journalOf(paymentOf(2), [["b", settled]], 100)]
})

const checksOf = (testimony: Testimony, rules?: Rules) => [
  ...new Set(findings(testimony, rules).map(({ check }) => check))
]

/** The difference that each check must find; others may notice the same. */
const planted: Readonly<Record<string, readonly [Testimony, Rules?]>> = {
  forgotten: [booksWith(recordOf(2))],
  unfinished: [booksWith(recordOf(1, { status: "sent" }), recordOf(2))],
  untold: [journalWith(["a", pending], ["a", { _tag: "CannotTell", httpStatus: 503 }], ["a", undefined])],
  "double-record": [booksWith(recordOf(1), recordOf(1, { serial: "3" }), recordOf(2))],
  invented: [{ ...good, journal: journalOf(paymentOf(1), [["a", settled]]) }],
  "double-transfer": [chainWith({ transfers: [transferOf(1), transferOf(1, { transaction: "0xt9" }), transferOf(2)] })],
  "unpaid-settlement": [chainWith({ transfers: [transferOf(2)] })],
  "unbooked-transfer": [booksWith(recordOf(1, { status: "failed" }), recordOf(2))],
  "unbooked-broadcast": [
    { ...booksWith(recordOf(2)), chain: { ...good.chain, transactions: [transactionOf(1, { reverted: true })] } }
  ],
  reverted: [
    chainWith({ transactions: [...good.chain.transactions, transactionOf(1, { reverted: true, hash: "0xr" })] })
  ],
  "told-settled": [
    {
      ...booksWith(recordOf(1, { status: "failed" }), recordOf(2)),
      chain: { ...good.chain, transfers: [transferOf(2)] }
    }
  ],
  "told-refused": [journalWith(["a", refused("INSUFFICIENT_BALANCE")])],
  "false-refusal": [journalWith(["a", refused("INVALID_SIGNATURE")], ["a", settled])],
  "granted-twice": [journalWith(["a", settled], ["c", settled])],
  "slot-gap": [chainWith({ standings: [{ signer, included: 3n, pooled: [5n] }] })],
  overpriced: [good, { gasPrice: 9n }]
}

describe("the audit", () => {
  it("finds nothing where all agree", () => {
    assert.deepStrictEqual(findings(good), [])
    assert.deepStrictEqual(findings(good, { gasPrice: 10n, reverted: 1 }), [])
  })

  it("has a planted difference for each of its checks", () =>
    assert.sameMembers(Object.keys(planted), [...auditChecks]))

  for (const [check, [testimony, rules]] of Object.entries(planted)) {
    it(`finds ${check}`, () => assert.include(checksOf(testimony, rules), check))
  }

  const alsoFound: Readonly<Record<string, readonly [string, Testimony]>> = {
    "a run that is granted while another's handler runs before the money": [
      "granted-twice",
      journalOfCalls(
        ["claim", "a", claimed],
        ["settle", "c", settled],
        ["settle", "a", { ...pending, execution: "held" }]
      )
    ],
    "two runs that are granted before the money, at once": [
      "granted-twice",
      journalOfCalls(["claim", "a", claimed], ["claim", "c", claimed], ["settle", "a", settled])
    ],
    "two runs that are granted with the money, whichever claimed before": [
      "granted-twice",
      journalOfCalls(["claim", "a", claimed], ["settle", "a", settled], ["claim", "c", settled])
    ],
    "a settlement of another amount": [
      "unpaid-settlement",
      chainWith({ transfers: [transferOf(1, { value: 99n }), transferOf(2)] })
    ],
    "a settlement to another payee": [
      "unpaid-settlement",
      chainWith({ transfers: [transferOf(1, { to: stranger }), transferOf(2)] })
    ],
    "a settlement that another transaction paid": [
      "unpaid-settlement",
      chainWith({ transfers: [transferOf(1, { transaction: "0xt9" }), transferOf(2)] })
    ],
    "an accepted payment that its caller wants settled": [
      "unfinished",
      {
        ...booksWith(recordOf(1, { status: "accepted" }), recordOf(2)),
        chain: { ...good.chain, transfers: [transferOf(2)] }
      }
    ],
    "a payment that is told to be used and is not": [
      "false-refusal",
      { ...journalWith(["a", refused("already_used")]), chain: { ...good.chain, transfers: [transferOf(2)] } }
    ],
    "a payment that is only included": ["unfinished", booksWith(recordOf(1, { status: "included" }), recordOf(2))],
    "a revert in a batch that carries the payment": [
      "reverted",
      chainWith({
        transactions: [
          transactionOf(3, { reverted: true, input: `0x12345678${nonceOf(2).slice(2)}00${nonceOf(1).slice(2)}` })
        ]
      })
    ]
  }
  for (const [name, [check, testimony]] of Object.entries(alsoFound)) {
    it(`finds ${name}`, () => assert.include(checksOf(testimony), check))
  }

  const allowed: Readonly<Record<string, readonly [Testimony, Rules?]>> = {
    "a used authorization is told so after it was paid": [journalWith(["a", settled], ["a", refused("already_used")])],
    "a refusal that the caller did not rest on, where it may be refused": [
      journalWith(["a", refused("INSUFFICIENT_BALANCE")], ["a", settled]),
      { refusals: ["INSUFFICIENT_BALANCE"] }
    ],
    "a copy is held while the first runs": [journalWith(["a", settled], ["c", { ...pending, execution: "held" }])],
    "a run before the money is over, its settlement is lost, and another caller is granted": [
      journalOfCalls(
        ["claim", "a", claimed],
        ["settle", "a", undefined],
        ["settle", "c", settled],
        ["settle", "a", { ...pending, execution: "held" }]
      )
    ],
    "a caller is granted what it claimed": [
      journalOfCalls(
        ["claim", "a", claimed],
        ["settle", "c", { ...pending, execution: "held" }],
        ["settle", "a", settled]
      )
    ],
    "a stranger pays a payee without us": [
      chainWith({ transfers: [...good.chain.transfers, transferOf(7, { sender: stranger, nonce: undefined })] })
    ],
    "a cheating caller is refused, or gets no response": [
      {
        ...journalWith(["a", refused("INSUFFICIENT_BALANCE")]),
        books: [recordOf(2)],
        chain: { ...good.chain, transfers: [transferOf(2)], transactions: [transactionOf(2)] }
      },
      { hostile: new Set([payerOf(1)]) }
    ],
    "a reverted transaction within the rule": [
      chainWith({ transactions: [transactionOf(1, { reverted: true })] }),
      { reverted: 1 }
    ],
    "a claim that no caller settles": [
      {
        ...good,
        books: [...good.books, recordOf(3, { status: "accepted" })],
        journal: [
          ...good.journal,
          ...journalOf(paymentOf(3), [["d", { ...settled, status: "accepted" }]], 200, "claim")
        ]
      }
    ]
  }
  for (const [name, [testimony, rules]] of Object.entries(allowed)) {
    it(`takes no offence when ${name}`, () => assert.deepStrictEqual(findings(testimony, rules), []))
  }
})
