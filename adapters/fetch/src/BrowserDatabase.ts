/**
 * A browser database with one store. It is opened at its first use and again whenever that connection is lost: under an
 * open tab, site data may be cleared, and a browser may close connections.
 */

/** The database. */
export interface BrowserDatabase {
  /**
   * Runs one transaction of the store. A lost connection is replaced before `run` is called; `run` is called once, and
   * places its first request before it returns. `transaction.db` identifies the connection: data read through an
   * earlier one may not be in the database any more.
   */
  readonly transact: <A>(run: (transaction: IDBTransaction, entries: IDBObjectStore) => Promise<A>) => Promise<A>
}

const store = "entries"

/** The database of this name; a missing store is made with `options`. */
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
      // A closed or closing connection throws before anything has happened.
      const { answer, database } = await opening.then(begin(run)).catch(() => {
        forget(opening)
        return opened().then(begin(run))
      })
      try {
        return await answer
      } catch (error) {
        // Not every browser reports a lost connection, so a failed one is not used again.
        forget(opening)
        database.close()
        throw error
      }
    }
  }
}

/** Places the first request synchronously, because a transaction without requests ends. */
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
