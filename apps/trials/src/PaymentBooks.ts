/**
 * The facilitator's side of the books, as it shows them to anybody it trusts with them: the records behind
 * `GET /payments?after=&limit=`, read to the end.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Entry = Schema.Struct({
  serial: Schema.String,
  paymentId: Schema.String,
  status: Schema.String,
  payer: Schema.String,
  nonce: Schema.String,
  payTo: Schema.String,
  amount: Schema.BigIntFromString,
  transaction: Schema.String,
  block: Schema.optionalKey(Schema.Struct({ number: Schema.String, hash: Schema.String })),
  history: Schema.Array(
    Schema.Struct({ status: Schema.String, at: Schema.Int, note: Schema.optionalKey(Schema.String) })
  )
})

/**
 * A record as the export shows it; what the auditor does not need is left out.
 *
 * @category models
 */
export type BookEntry = typeof Entry.Type

const Page = Schema.Struct({ payments: Schema.Array(Entry) })
const decodePage = Schema.decodeUnknownSync(Page)

const pageSize = 100

/**
 * Reads all records, oldest first.
 *
 * @category constructors
 */
export const read = Effect.fnUntraced(function* (facilitator: string) {
  const entries: Array<BookEntry> = []
  for (;;) {
    const after = entries.at(-1)?.serial ?? "0"
    const { payments } = yield* Effect.promise(() => readPage(facilitator, after))
    if (payments.length === 0) return entries
    entries.push(...payments)
  }
})

const readPage = async (facilitator: string, after: string) => {
  const response = await fetch(`${facilitator}/payments?after=${after}&limit=${pageSize}`)
  if (!response.ok) throw new Error(`the books could not be read: HTTP ${response.status}`)
  return decodePage(await response.json())
}
