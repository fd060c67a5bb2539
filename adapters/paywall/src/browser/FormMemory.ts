/**
 * Forms whose payment is not over, in the browser's own storage: a page that is opened again finishes the same form with the same payment.
 * A form is kept from before the signature until its outcome is known.
 */
import type { SentForm } from "./SentForm.ts"

/** A form in storage. */
export interface KeptForm extends SentForm {
  readonly id: number
}

const name = "pontage.forms"
const store = "forms"

/** Limit on the forms of all addresses; the oldest is dropped first. A person who never comes back leaves one behind. */
const mostForms = 16

const addressOf = () => location.href.replace(/#.*/, "")

const opened = (): Promise<IDBDatabase> =>
  new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1)
    request.addEventListener("upgradeneeded", () =>
      request.result.createObjectStore(store, { keyPath: "id", autoIncrement: true })
    )
    request.addEventListener("success", () => resolve(request.result))
    request.addEventListener("error", () => reject(request.error))
  })

/** One transaction: `place` makes its one request. */
const transacted = async <A>(mode: IDBTransactionMode, place: (forms: IDBObjectStore) => IDBRequest<A>): Promise<A> => {
  const database = await opened()
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction(store, mode, { durability: "strict" })
      const request = place(transaction.objectStore(store))
      transaction.addEventListener("complete", () => resolve(request.result))
      transaction.addEventListener("abort", () => reject(transaction.error))
    })
  } finally {
    database.close()
  }
}

interface Line extends KeptForm {
  readonly address: string
}

const isLine = (value: unknown): value is Line =>
  typeof value === "object" &&
  value !== null &&
  "address" in value &&
  "body" in value &&
  value.body instanceof Uint8Array

const lines = async (): Promise<ReadonlyArray<Line>> => {
  try {
    const all: ReadonlyArray<unknown> = await transacted("readonly", (forms) => forms.getAll())
    return all.filter(isLine)
  } catch {
    return []
  }
}

/** Keeps a form of this address, and returns its number. Rejects if the browser cannot. */
export const keep = async ({ body, contentType }: SentForm): Promise<number> => {
  const id = await transacted("readwrite", (forms) => forms.add({ address: addressOf(), contentType, body }))
  await Promise.all((await lines()).slice(0, -mostForms).map((line) => drop(line.id)))
  return Number(id)
}

/** Forgets a form. A form that cannot be forgotten costs nothing: its payment is over. */
export const drop = (id: number): Promise<unknown> =>
  transacted("readwrite", (forms) => forms.delete(id)).catch(() => undefined)

/** The forms of this address whose payment may not be over, the oldest first. */
export const unfinished = async (): Promise<ReadonlyArray<KeptForm>> =>
  (await lines()).filter(({ address }) => address === addressOf())
