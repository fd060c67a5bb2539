/** A payment's record as a row, and back. Rows are decoded: a row that another program has changed is refused. */
import {
  Amount,
  type Authorization,
  type FacilitatorUnavailable,
  PaymentError,
  PaymentErrorCode,
  PaymentPayload,
  PaymentStore,
  PaymentRequirements,
  type Execution,
  Settlement,
  ValidationError,
  ValidationReason
} from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { unreadable } from "../database/Database.ts"
import type { Columns, Dialect, Value } from "../database/SqlDialect.ts"
import * as DeliveryRow from "./DeliveryRow.ts"
import { isActive } from "./OpenPayment.ts"

/** The columns that never change. */
export const lasting = {
  payment_id: "text",
  network: "text",
  asset: "text",
  payer: "text",
  nonce: "text",
  amount: "text",
  valid_before: "bigint",
  caller: "text",
  notify: "boolean"
} as const satisfies Columns

/** The long columns that never change, in a table of their own: the rows that change stay small. */
export const contract = {
  payment: "bigint",
  requirements: "text",
  terms: "text",
  payload: "text"
} as const satisfies Columns

/** The columns of a transfer's state. */
export const standing = {
  serial: "bigint",
  status: "text",
  transaction_id: "text",
  block_number: "text",
  block_hash: "text",
  refusal: "text"
} as const satisfies Columns

/** The same, for a change that ends the payment or takes its end back. */
export const ended = { ...standing, active: "boolean" } as const satisfies Columns

/** The same, for a change of its lane or lane transaction. */
export const placed = { ...ended, lane: "text", lane_number: "bigint", since: "text" } as const satisfies Columns

/** The columns of a payment that a lane transaction has taken from the queue. */
export const planned = {
  ...standing,
  lane_number: "bigint",
  since: "text",
  position: "bigint"
} as const satisfies Columns

/** The columns of its execution and of the owed answer. */
export const running = { serial: "bigint", execution: "text", answer_owed: "boolean" } as const satisfies Columns

/**
 * All columns that change. An update writes only the changed part: setting a column of an index costs a write to it.
 */
export const changing = { ...placed, ...running, ...DeliveryRow.delivering } as const satisfies Columns

const Int = Schema.Int
const OrNull = Schema.NullOr
const Flag = Schema.Union([Schema.Boolean, Schema.Literals([0n, 1n])])

const Terms = Schema.Struct({
  payer: Schema.String,
  payTo: Schema.String,
  asset: Schema.String,
  amount: Amount.FromText,
  nonce: Schema.String,
  validAfter: Int,
  validBefore: Int,
  binding: OrNull(PaymentPayload.RequestBinding),
  /** Of payments that go on to another network. */
  arrival: Schema.optionalKey(Schema.Struct({ amount: Amount.FromText, asked: Amount.FromText }))
})

const ExecutionJson = Schema.Struct({
  resource: OrNull(Schema.String),
  /** Rows of releases before 0.2 lack the optional fields. */
  route: Schema.optionalKey(OrNull(Schema.String)),
  holder: OrNull(
    Schema.Struct({
      claimId: Schema.String,
      until: Int,
      awaits: Schema.optionalKey(Schema.Literal("delivered"))
    })
  ),
  served: Schema.Boolean,
  refused: Schema.optionalKey(Schema.Boolean),
  count: Int,
  releasedAt: OrNull(Int)
})

const words = { detail: Schema.String, message: Schema.String }
const Refusal = Schema.fromJsonString(
  Schema.Union([
    Schema.TaggedStruct("PaymentError", { code: PaymentErrorCode, ...words }),
    Schema.TaggedStruct("ValidationError", { reason: ValidationReason, ...words })
  ])
)
const encodeRefusal = Schema.encodeSync(Refusal)

const ContractRow = Schema.Struct({
  requirements: Schema.fromJsonString(PaymentRequirements.PaymentRequirements),
  terms: Schema.fromJsonString(Terms),
  payload: Schema.fromJsonString(Schema.Json)
})

const PaymentRow = Schema.Struct({
  serial: Schema.BigInt,
  payment_id: Schema.String,
  caller: Schema.String,
  notify: Flag,
  requirements: Schema.String,
  terms: Schema.String,
  payload: Schema.String,
  status: Settlement.PaymentState,
  transaction_id: Schema.String,
  block_number: OrNull(Schema.BigIntFromString),
  block_hash: OrNull(Schema.String),
  lane: OrNull(Schema.String),
  lane_number: OrNull(Schema.BigInt),
  since: OrNull(Schema.BigIntFromString),
  refusal: OrNull(Refusal),
  execution: Schema.fromJsonString(ExecutionJson),
  answer_owed: Flag,
  delivery: OrNull(DeliveryRow.DeliveryJson),
  history: Schema.fromJsonString(
    Schema.Array(Schema.Tuple([Settlement.PaymentState, Int, OrNull(Schema.String), OrNull(Schema.String)]))
  )
})

/** The columns that decide the reserved part of a payer's balance. */
export const Reservation = Schema.Struct({
  payment_id: Schema.String,
  amount: Amount.FromText,
  status: Settlement.PaymentState,
  lane: OrNull(Schema.String),
  execution: Schema.fromJsonString(ExecutionJson)
})

const decode = Schema.decodeUnknownResult(PaymentRow)
const decodeContract = Schema.decodeUnknownResult(ContractRow)

/** The query of records, followed by a condition on the record `p`. */
export const selection = (dialect: Dialect): string => {
  const history = dialect.listOf(
    ["e.status", "e.at", "e.note", "e.lane_exit"],
    "FROM event e WHERE e.payment = p.serial",
    "e.ordinal"
  )
  const columns = Object.keys(PaymentRow.fields)
    .filter((name) => name !== "history")
    .map((name) => `${name in contract ? "c" : "p"}.${name}`)
  return `SELECT ${columns.join(", ")}, ${history} AS history FROM payment p JOIN contract c ON c.payment = p.serial`
}

type Row = typeof PaymentRow.Type
type Contract = Pick<PaymentStore.StoredPayment, "requirements" | "authorization" | "payload">

/** The texts of a contract. */
type ContractTexts = Pick<Row, "requirements" | "terms" | "payload">

/** Maximum number of contracts in memory: those of open payments, 2 kilobytes each. */
const remembered = 2000

/**
 * Makes records of rows. A record is read about six times, and its contract never changes: it is decoded once, as long
 * as its text is the same.
 */
export const reader = () => {
  const known = BoundedMap.oldestOut<bigint, { readonly texts: ContractTexts; readonly contract: Contract }>(remembered)
  const contractOf = (row: Row): Contract | undefined => {
    const before = known.get(row.serial)
    if (before !== undefined && saysTheSame(before.texts, row)) return before.contract
    const decoded = decodeContract(row)
    if (Result.isFailure(decoded)) return undefined
    const contract = toTerms(decoded.success)
    // Only what is compared: the rest of a row, its history above all, would take as much memory again.
    const { payload, requirements, terms } = row
    known.set(row.serial, { texts: { payload, requirements, terms }, contract })
    return contract
  }
  return (raw: unknown): Effect.Effect<PaymentStore.StoredPayment, FacilitatorUnavailable> => {
    const decoded = decode(raw)
    const contract = Result.isSuccess(decoded) ? contractOf(decoded.success) : undefined
    return Result.isFailure(decoded) || contract === undefined
      ? Effect.fail(unreadable("payment"))
      : Effect.succeed(toStored(decoded.success, contract))
  }
}

const saysTheSame = (a: ContractTexts, b: ContractTexts): boolean =>
  a.requirements === b.requirements && a.terms === b.terms && a.payload === b.payload

const toTerms = ({ payload, requirements, terms }: typeof ContractRow.Type): Contract => ({
  requirements,
  authorization: { ...terms, binding: terms.binding ?? undefined },
  payload
})

const toStored = (row: Row, contract: Contract): PaymentStore.StoredPayment => ({
  ...contract,
  serial: row.serial,
  paymentId: row.payment_id,
  caller: row.caller,
  notify: Boolean(row.notify),
  status: row.status,
  transaction: row.transaction_id,
  block:
    row.block_number === null || row.block_hash === null
      ? undefined
      : { number: row.block_number, hash: row.block_hash },
  lane: row.lane ?? undefined,
  laneNumber: row.lane_number ?? undefined,
  since: row.since ?? undefined,
  refusal: row.refusal === null ? undefined : toRefusal(row.refusal),
  execution: toExecution(row.execution),
  answerOwed: Boolean(row.answer_owed),
  ...(row.delivery !== null && { delivery: DeliveryRow.toDelivery(row.delivery) }),
  history: row.history.map(([status, at, note, exit]) => ({
    status,
    at,
    ...(note !== null && { note }),
    ...(isLaneExit(exit) && { exit })
  }))
})

/** Whether this release knows the exit. A payment with an exit of a later release waits for its caller's next request. */
const isLaneExit = (text: string | null): text is PaymentStore.LaneExit =>
  PaymentStore.laneExits.some((known) => known === text)

const toRefusal = (row: typeof Refusal.Type): PaymentError | ValidationError =>
  row._tag === "PaymentError" ? new PaymentError(row) : new ValidationError(row)

/** The execution as the core defines it. */
export const toExecution = ({
  holder,
  refused = false,
  releasedAt,
  resource,
  route,
  ...run
}: typeof ExecutionJson.Type): Execution.Execution => ({
  ...run,
  refused,
  resource: resource ?? undefined,
  route: route ?? undefined,
  holder: holder ?? undefined,
  releasedAt: releasedAt ?? undefined
})

/** The values of `lasting`. */
export const toLasting = (payment: PaymentStore.NewPayment): Readonly<Record<keyof typeof lasting, Value>> => {
  const { authorization, requirements } = payment
  return {
    payment_id: payment.paymentId,
    network: requirements.network,
    asset: authorization.asset,
    payer: authorization.payer,
    nonce: authorization.nonce,
    amount: `${authorization.amount}`,
    valid_before: BigInt(authorization.validBefore),
    caller: payment.caller,
    notify: payment.notify
  }
}

/** The values of `contract`. */
export const toContract = ({
  authorization,
  payload,
  requirements,
  serial
}: PaymentStore.StoredPayment): Readonly<Record<keyof typeof contract, Value>> => ({
  payment: serial,
  requirements: JSON.stringify(requirements),
  terms: JSON.stringify({
    ...authorization,
    amount: `${authorization.amount}`,
    binding: authorization.binding ?? null,
    arrival: authorization.arrival && arrivalJson(authorization.arrival)
  }),
  payload: JSON.stringify(payload)
})

const arrivalJson = ({ amount, asked }: NonNullable<Authorization["arrival"]>) => ({
  amount: `${amount}`,
  asked: `${asked}`
})

type Values<Of> = Readonly<Record<keyof Of, Value>>

/** The columns of `standing`. */
export const toStanding = (payment: PaymentStore.StoredPayment): Values<typeof standing> => ({
  serial: payment.serial,
  status: payment.status,
  transaction_id: payment.transaction,
  block_number: payment.block === undefined ? null : `${payment.block.number}`,
  block_hash: payment.block?.hash ?? null,
  refusal: payment.refusal === undefined ? null : encodeRefusal(payment.refusal)
})

/** The columns of `ended`. */
export const toEnded = (payment: PaymentStore.StoredPayment): Values<typeof ended> => ({
  ...toStanding(payment),
  active: isActive(payment)
})

/** The columns of `placed`. */
export const toPlaced = (payment: PaymentStore.StoredPayment): Values<typeof placed> => ({
  ...toEnded(payment),
  lane: payment.lane ?? null,
  ...toTransaction(payment)
})

/** The columns of `planned`. */
export const toPlanned = (payment: PaymentStore.StoredPayment, position: number): Values<typeof planned> => ({
  ...toStanding(payment),
  ...toTransaction(payment),
  position: BigInt(position)
})

/** The columns of `running`. */
export const toRunning = (payment: PaymentStore.StoredPayment): Values<typeof running> => ({
  serial: payment.serial,
  execution: JSON.stringify(executionJson(payment.execution)),
  answer_owed: payment.answerOwed
})

/** The values of `changing`. */
export const toChanging = (payment: PaymentStore.StoredPayment): Values<typeof changing> => ({
  ...toPlaced(payment),
  ...toRunning(payment),
  ...DeliveryRow.toDelivering(payment)
})

const toTransaction = ({ laneNumber, since }: PaymentStore.StoredPayment) => ({
  lane_number: laneNumber ?? null,
  since: since === undefined ? null : `${since}`
})

const executionJson = ({
  count,
  holder,
  refused,
  releasedAt,
  resource,
  route,
  served
}: PaymentStore.StoredPayment["execution"]) => ({
  resource: resource ?? null,
  route: route ?? null,
  holder: holder ?? null,
  served,
  refused,
  count,
  releasedAt: releasedAt ?? null
})
