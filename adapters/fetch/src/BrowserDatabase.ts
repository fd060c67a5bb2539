/**
 * A database of a browser with one store. It is opened with its first use and again whenever that connection is gone: site
 * data may be cleared, and a browser may close what it likes, under an open tab.
 */

/** The database. */
export interface BrowserDatabase {
  /**
   * Runs one transaction of the store. A connection that is gone is replaced before `run` is called; `run` is called once,
   * and places its first question before it returns. `transaction.db` tells connections apart: what was read through an
   * earlier one may not be in the database any more.
   */
  readonly transact: <A>(run: (transaction: IDBTransaction, entries: IDBObjectStore) => Promise<A>) => Promise<A>
}

const store = "entries"

/** The database of this name; its store is made as `options` say where there is none. */
export const make = (factory: IDBFactory, name: string, options: IDBObjectStoreParameters): BrowserDatabase => {
  let current: Promise<IDBDatabase> | undefined
  const opened = () => {
    const opening: Promise<IDBDatabase> = (current ??= open(factory, name, options, () => forget(opening)))
    return opening
  }
  const forget = (gone: Promise<IDBDatabase>) => {
    if (current === gone) current = undefined
  }
  return {
    transact: async (run) => {
      const opening = opened()
      // One that is closed, or about to be, throws before anything has happened.
      const { answer, database } = await opening.then(begin(run)).catch(() => {
        forget(opening)
        return opened().then(begin(run))
      })
      try {
        return await answer
      } catch (error) {
        // Not every browser says that a connection is lost, so none that has failed is used again.
        forget(opening)
        database.close()
        throw error
      }
    }
  }
}

/** A transaction ends when nothing is asked of it, so its first question is placed in the same breath. */
const begin =
  <A>(run: (transaction: IDBTransaction, entries: IDBObjectStore) => Promise<A>) =>
  (database: IDBDatabase) => {
    const transaction = database.transaction(store, "readwrite", { durability: "strict" })
    return { database, answer: run(transaction, transaction.objectStore(store)) }
  }

const open = (
  factory: IDBFactory,
  name: string,
  options: IDBObjectStoreParameters,
  onClosed: () => void
): Promise<IDBDatabase> =>
  new Promise((resolve, reject) => {
    const request = factory.open(name, 1)
    request.addEventListener("upgradeneeded", () => request.result.createObjectStore(store, options))
    request.addEventListener("error", () => reject(request.error))
    request.addEventListener("success", () => {
      const database = request.result
      database.addEventListener("close", onClosed)
      database.addEventListener("versionchange", () => {
        database.close()
        onClosed()
      })
      resolve(database)
    })
  })
