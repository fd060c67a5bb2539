/**
 * Forms whose payment is not over, in the browser's own storage: a page that is opened again finishes the same form with the same payment.
 * A form is kept from before the signature until its outcome is known.
 */
import type { SentForm } from "./SentForm.ts"
import * as TabLock from "./TabLock.ts"

/** A form in storage, and the address that it was sent to. */
export interface KeptForm extends SentForm {
  readonly id: number
  readonly address: string
}

/** Whether a payment for the form is under way or owed. */
export type IsOpen = (form: KeptForm) => Promise<boolean>

const name = "pontage.forms"
const store = "forms"

/**
 * Limit on the forms of all addresses. A person who never signs leaves a form behind, which is dropped, the oldest first. One whose
 * payment is open is never dropped: its address would be paid for again.
 */
const mostForms = 16

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

const isKept = (value: unknown): value is KeptForm =>
  typeof value === "object" &&
  value !== null &&
  "address" in value &&
  "body" in value &&
  value.body instanceof Uint8Array

const lines = async (): Promise<ReadonlyArray<KeptForm>> => {
  try {
    const all: ReadonlyArray<unknown> = await transacted("readonly", (forms) => forms.getAll())
    return all.filter(isKept)
  } catch {
    return []
  }
}

/** There is no room for a form: all of these addresses have one whose payment is open. */
export interface Full {
  readonly addresses: ReadonlyArray<string>
}

/** Keeps a form of this address, and returns it, if there is room. Rejects if the browser cannot. */
export const keep = async (form: SentForm, isOpen: IsOpen): Promise<KeptForm | Full> => {
  const line = { address: TabLock.address(), contentType: form.contentType, body: form.body }
  const id = Number(await transacted("readwrite", (forms) => forms.add(line)))
  const all = await lines()
  let excess = all.length - mostForms
  for (const other of all) {
    if (excess <= 0) break
    // oxlint-disable-next-line no-await-in-loop -- no more are dropped than must be
    if (other.id !== id && (await dropUnpaid(other, isOpen))) excess--
  }
  if (excess <= 0) return { ...line, id }
  await drop(id)
  return { addresses: [...new Set(all.filter((other) => other.id !== id).map(({ address }) => address))] }
}

/** Drops a form that no tab is paying for, and that is not paid for; returns whether it did. This tab pays at its own address. */
const dropUnpaid = async (form: KeptForm, isOpen: IsOpen): Promise<boolean> => {
  const work = async () => {
    if (await isOpen(form)) return false
    await drop(form.id)
    return true
  }
  return (await (form.address === TabLock.address() ? work() : TabLock.alone(form.address, work))) ?? false
}

/** Forgets a form. A form that cannot be forgotten costs nothing: its payment is over. */
export const drop = (id: number): Promise<unknown> =>
  transacted("readwrite", (forms) => forms.delete(id)).catch(() => undefined)

/** The forms of this address whose payment may not be over, the oldest first. */
export const unfinished = async (): Promise<ReadonlyArray<KeptForm>> =>
  (await lines()).filter(({ address }) => address === TabLock.address())
