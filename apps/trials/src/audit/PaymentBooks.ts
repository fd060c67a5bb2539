/**
 * The facilitator's side of the books, as it shows them to anybody it trusts with them: the records behind
 * `GET /payments?after=&limit=`, read to the end.
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"

const BookEntry = Schema.Struct({
  serial: Schema.String,
  paymentId: Schema.String,
  status: Schema.String,
  payer: Schema.String,
  nonce: Schema.String,
  payTo: Schema.String,
  amount: Schema.BigIntFromString,
  transaction: Schema.String,
  block: Schema.optionalKey(Schema.Struct({ number: Schema.String, hash: Schema.String })),
  /** Of a payment whose money goes on to another network. */
  delivery: Schema.optionalKey(
    Schema.Struct({
      status: Schema.String,
      transaction: Schema.optionalKey(Schema.String),
      amount: Schema.optionalKey(Schema.BigIntFromString),
      detail: Schema.optionalKey(Schema.String)
    })
  ),
  history: Schema.Array(
    Schema.Struct({ status: Schema.String, at: Schema.Int, note: Schema.optionalKey(Schema.String) })
  )
})

/** A record as the export shows it, without the fields that the auditor does not need. */
export type BookEntry = typeof BookEntry.Type

const Page = Schema.Struct({ payments: Schema.Array(BookEntry), next: Schema.optionalKey(Schema.String) })
const decodePage = Schema.decodeUnknownSync(Page)

const pageSize = 500

/** Reads all records, oldest first. Retries for a while if the facilitator does not respond. */
export const read = Effect.fnUntraced(function* (facilitator: string, apiKey?: string) {
  const entries: Array<BookEntry> = []
  for (let after: string | undefined; ;) {
    const page = yield* Effect.orDie(Effect.retry(readPage(facilitator, after, apiKey), patience))
    entries.push(...page.payments)
    if (page.next === undefined) return entries
    after = page.next
  }
})

/** Until a facilitator that was killed just now listens again. */
const patience = Schedule.max([Schedule.spaced("300 millis"), Schedule.recurs(100)])

const readPage = (facilitator: string, after: string | undefined, apiKey: string | undefined) =>
  Effect.tryPromise(async () => {
    const place = after === undefined ? "" : `after=${after}&`
    const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
    const response = await fetch(`${facilitator}/payments?${place}limit=${pageSize}`, { headers })
    if (!response.ok) throw new Error(`the books could not be read: HTTP ${response.status}`)
    return decodePage(await response.json())
  })
