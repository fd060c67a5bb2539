/** The laws about lane writes: how a worker records what the chain shows. */
import * as Effect from "effect/Effect"

import { refuse } from "../../protocol/PaymentError.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import { holds, same } from "../Law.ts"
import {
  change,
  firstNumber,
  flown,
  inclusionOf,
  law,
  loses,
  planOf,
  signed,
  staffed,
  statusIs,
  type StoreLaw,
  waiting,
  queuedIn
} from "./PaymentStoreTrial.ts"

const changesCompareAndSet = law(
  "a state changes only from a state that is named, and of many changes at once one applies",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lease } = yield* flown(store, subject, 2)
    const [first = "", second = ""] = ids
    const before = yield* store.find(first)
    const [refused, applied] = yield* store.record(lease, {
      changes: [change(first, "sent", "final"), change(second, "planned", "sent", { note: "off" })]
    })
    yield* same("a change from another state", refused, undefined)
    yield* same("the record after it", yield* store.find(first), before)
    yield* same("the change beside it", applied, yield* store.find(second))
    yield* same("its state", applied?.status, "sent")
    const write = { changes: [change(first, "planned", "sent")] }
    const race = yield* Effect.forEach(Array.from({ length: 20 }), () => store.record(lease, write), {
      concurrency: "unbounded"
    })
    yield* same("how many applied", race.flat().filter((one) => one !== undefined).length, 1)
    const nobody = change("pay_0000000000000000000000", "accepted", "sent")
    yield* same("an unknown payment", yield* store.record(lease, { changes: [nobody] }), [undefined])
  })
)

const anyOfStates = law(
  "a change may name several states, and the changes of one write follow each other",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lease } = yield* flown(store, subject, 1)
    const [paymentId = ""] = ids
    const changed = yield* store.record(lease, {
      changes: [
        { paymentId, from: ["accepted", "planned"], to: "sent" },
        { paymentId, from: ["accepted", "planned"], to: "failed" },
        { paymentId, from: ["planned", "sent"], to: "included" }
      ]
    })
    yield* same(
      "the states",
      changed.map((one) => one?.status),
      ["sent", undefined, "included"]
    )
  })
)

const refusalIsKept = law(
  "a refusal is kept, with code or reason, detail and message, while the payment counts as dead",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lease } = yield* flown(store, subject, 2)
    const [first = "", second = ""] = ids
    const poor = refuse("INSUFFICIENT_BALANCE", "balance_below_amount", "the payer holds 7")
    const used = invalid("already_used", "transaction 9", "used in transaction 9")
    yield* store.record(lease, {
      changes: [
        change(first, "planned", "failed", { refusal: poor }),
        change(second, "planned", "failed", { refusal: used })
      ]
    })
    const found = (yield* store.find(first))?.refusal
    yield* same("its type", found?._tag, "PaymentError")
    yield* same("its code", found?._tag === "PaymentError" && found.code, poor.code)
    yield* same("its detail", found?.detail, poor.detail)
    yield* same("its words", found?.message, poor.message)
    const other = (yield* store.find(second))?.refusal
    yield* same("its reason", other?._tag === "ValidationError" && other.reason, used.reason)
    yield* same("its words", other?.message, used.message)
    yield* store.record(lease, { changes: [change(first, "failed", "included", { transaction: "a stranger's" })] })
    const after = yield* store.find(first)
    yield* same("the refusal of what moved after all", after?.refusal, undefined)
    yield* same("its transaction", after?.transaction, "a stranger's")
  })
)

const blockIsKept = law(
  "the block is kept while the money counts as moved, and forgotten when it was taken back",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lease, prepared } = yield* flown(store, subject, 1)
    const [paymentId = ""] = ids
    const { block, transaction } = inclusionOf(prepared)
    yield* store.record(lease, { changes: [change(paymentId, "planned", "included", { block, transaction })] })
    yield* same("the block", (yield* store.find(paymentId))?.block, block)
    yield* store.record(lease, { changes: [change(paymentId, "included", "sent", { note: "taken back" })] })
    yield* same("after a reorganisation", (yield* store.find(paymentId))?.block, undefined)
    const again = { number: block.number + 1n, hash: "another" }
    yield* store.record(lease, { changes: [change(paymentId, "sent", "included", { block: again })] })
    yield* store.record(lease, { changes: [change(paymentId, "included", "final")] })
    const found = yield* store.find(paymentId)
    yield* same("the block it is final in", found?.block, again)
    yield* same("the transaction", found?.transaction, transaction)
  })
)

const landingIsKept = law(
  "a transaction's inclusion is kept until the block is taken back",
  Effect.fnUntraced(function* (store, subject) {
    const { lane, lease, prepared } = yield* flown(store, subject, 1)
    const inclusion = inclusionOf(prepared)
    const inclusionNow = Effect.map(store.openTransactions(lane), ([transaction]) => transaction?.inclusion)
    yield* store.record(lease, { changes: [], transaction: { number: firstNumber, inclusion } })
    yield* same("included", yield* inclusionNow, inclusion)
    yield* store.record(lease, { changes: [], transaction: { number: firstNumber } })
    yield* same("after a write that says nothing of it", yield* inclusionNow, inclusion)
    yield* store.record(lease, { changes: [], transaction: { number: firstNumber, inclusion: null } })
    yield* same("taken back", yield* inclusionNow, undefined)
    const other = { ...inclusion, block: { number: 0n, hash: "" } }
    yield* store.record(lease, { changes: [], transaction: { number: firstNumber, inclusion: other } })
    yield* same("included again", yield* inclusionNow, other)
  })
)

const entriesAreWhole = law(
  "a write about a transaction that is not open changes no payment either",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lease, prepared } = yield* flown(store, subject, 1)
    const changes = [change(ids[0] ?? "", "planned", "sent")]
    const transaction = { number: firstNumber + 1n, inclusion: inclusionOf(prepared) }
    yield* loses("the write", store.record(lease, { changes, transaction }))
    yield* statusIs(store, ids[0] ?? "", "planned")
  })
)

const backInTheQueue = law(
  "a payment whose slot was taken by a foreign transaction waits again at its place by age, out of its transaction, and keeps its first head",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lane, lease, prepared } = yield* flown(store, subject, 3)
    const [first = "", second = "", third = ""] = ids
    const [young = ""] = yield* waiting(store, lane, 1)
    yield* store.record(lease, { changes: [change(second, "planned", "accepted", { note: "slot lost" })] })
    yield* same(
      "the queue",
      (yield* store.queued(lane, 10)).map(({ paymentId }) => paymentId),
      [second, young]
    )
    yield* same(
      "the transaction",
      (yield* store.openTransactions(lane))[0]?.payments.map(({ paymentId }) => paymentId),
      [first, third]
    )
    const back = yield* store.find(second)
    yield* same("its transaction", back?.laneNumber, undefined)
    yield* same("its lane", back?.lane, lane)
    yield* same("its head", back?.since, prepared.head)
    const plan = { ...(yield* planOf(firstNumber + 1n, [second])), prepared: { ...(yield* signed(8n)), head: 1n } }
    yield* store.plan(lease, [plan])
    const again = yield* store.find(second)
    yield* same("its head in another transaction", again?.since, prepared.head)
    yield* same("its transaction now", again?.laneNumber, firstNumber + 1n)
    yield* same("its transaction now", again?.transaction, plan.prepared.transaction)
  })
)

const leavingTheLane = law(
  "a payment that leaves waits in no lane, and may be queued in another, whose worker alone changes it then",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lane, lease } = yield* staffed(store, subject, 3)
    const [first = "", second = "", third = ""] = ids
    yield* store.plan(lease, [yield* planOf(firstNumber, [first])])
    yield* store.record(lease, {
      changes: [
        change(first, "planned", "accepted", { leave: true, note: "no gas money", exit: "signer_refused" }),
        change(second, "accepted", "accepted", { leave: true }),
        change(third, "accepted", "accepted", { leave: true, note: "too poor", exit: "payment_refused" })
      ]
    })
    yield* same("the queue", yield* store.queued(lane, 10), [])
    yield* same("the load", (yield* store.loads([lane])).get(lane), 0)
    yield* same("its lane", (yield* store.find(first))?.lane, undefined)
    const { exit, note } = (yield* store.find(first))?.history.at(-1) ?? {}
    yield* same("its note", note, "no gas money")
    yield* same("its reason", exit, "signer_refused")
    yield* same("the other's reason", (yield* store.find(second))?.history.at(-1)?.exit, undefined)
    const refused = yield* store.find(third)
    yield* same("the reason of one that was refused", refused?.history.at(-1)?.exit, "payment_refused")
    yield* same("its refusal", refused?.refusal, undefined)
    const { lane: other, lease: theirs } = yield* staffed(store, subject, 0)
    yield* same("its new lane", (yield* queuedIn(store, first, other))?.lane, other)
    const end = { changes: [change(first, "accepted", "rejected")] }
    yield* same("what the lane that it has left makes of it", yield* store.record(lease, end), [undefined])
    yield* statusIs(store, first, "accepted")
    yield* same("what its own makes of it", (yield* store.record(theirs, end))[0]?.status, "rejected")
  })
)

const carriedTwice = law(
  "a payment that leaves a transaction in a block goes into another one of any lane, and each transaction's cost is booked once",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lane, lease, network, prepared } = yield* flown(store, subject, 2)
    const [made = "", unmade = ""] = ids
    yield* store.record(lease, { changes: ids.map((id) => change(id, "planned", "sent")) })
    const inclusion = inclusionOf(prepared, 11n)
    const { block, transaction } = inclusion
    yield* store.record(lease, {
      changes: [change(made, "sent", "included", { block, transaction })],
      transaction: { number: firstNumber, inclusion }
    })
    yield* store.record(lease, { changes: [change(unmade, "sent", "accepted", { leave: true, note: "not made" })] })
    const left = yield* store.find(unmade)
    yield* same("its place", [left?.status, left?.lane, left?.laneNumber], ["accepted", undefined, undefined])
    yield* same("its head", left?.since, prepared.head)
    yield* same("the load", (yield* store.loads([lane])).get(lane), 0)
    const [open] = yield* store.openTransactions(lane)
    yield* same(
      "the payments of its transaction",
      open?.payments.map(({ paymentId }) => paymentId),
      [made]
    )
    yield* queuedIn(store, unmade, lane)
    const plan = yield* planOf(firstNumber + 1n, [unmade])
    yield* store.plan(lease, [plan])
    const again = inclusionOf(plan.prepared, 13n)
    yield* store.record(lease, {
      changes: [change(unmade, "planned", "included", { block: again.block, transaction: again.transaction })],
      transaction: { number: firstNumber + 1n, inclusion: again, closed: true }
    })
    yield* store.record(lease, { changes: [], transaction: { number: firstNumber, inclusion, closed: true } })
    yield* same("the cost of both", yield* store.spent(network, 0), 24n)
    yield* same("its transaction", (yield* store.find(unmade))?.transaction, again.transaction)
    yield* same("the transactions", yield* store.openTransactions(lane), [])
  })
)

const historyGrows = law(
  "the history only grows, with the time of each change and its note",
  Effect.fnUntraced(function* (store, subject) {
    const { ids, lease } = yield* flown(store, subject, 1)
    const [paymentId = ""] = ids
    const before = (yield* store.find(paymentId))?.history ?? []
    yield* subject.elapse(1_500)
    yield* store.record(lease, { changes: [change(paymentId, "planned", "sent", { note: "sent again" })] })
    yield* store.record(lease, { changes: [change(paymentId, "sent", "sent", { note: "sent again" })] })
    const history = (yield* store.find(paymentId))?.history ?? []
    yield* same(
      "the states",
      history.map(({ status }) => status),
      ["accepted", "planned", "sent", "sent"]
    )
    yield* same("the beginning", history.slice(0, 2), before)
    yield* same("the note", history.at(-1)?.note, "sent again")
    yield* holds("the times go up", (history[2]?.at ?? 0) >= (before[1]?.at ?? 0) + 1_500)
  })
)

/** The laws about lane writes. */
export const laws: ReadonlyArray<StoreLaw> = [
  changesCompareAndSet,
  anyOfStates,
  refusalIsKept,
  blockIsKept,
  landingIsKept,
  entriesAreWhole,
  backInTheQueue,
  leavingTheLane,
  carriedTwice,
  historyGrows
]
