/**
 * As much of IndexedDB as a journal uses: read-write transactions that run one after another, live from event to event and
 * undo themselves when they are aborted, and connections that a browser may close. It stands in for a browser's where there
 * is none; it proves nothing about one.
 */

type Row = Readonly<Record<string, unknown>>
type Key = string | number

interface Range {
  readonly lower: number
  readonly upper: number
}

const soon = (run: () => void) => void setImmediate(run)

class Transaction extends EventTarget {
  error: unknown = null
  readonly db: Connection
  readonly #before: ReadonlyMap<Key, Row>
  #isAborted = false
  #requests: Array<() => void> = []

  constructor(db: Connection) {
    super()
    this.db = db
    this.#before = new Map(db.database.rows)
  }

  run(done: () => void) {
    const { database } = this.db
    const next = this.#requests.shift()
    if (this.#isAborted || this.db.isLost) {
      if (!this.db.isLost) database.rows = new Map(this.#before)
      this.error = new Error("AbortError")
      this.dispatchEvent(new Event("abort"))
      done()
    } else if (next === undefined) {
      database.commits += 1
      this.dispatchEvent(new Event("complete"))
      done()
    } else {
      next()
      soon(() => this.run(done))
    }
  }

  abort() {
    this.#isAborted = true
  }

  #request<A>(answer: () => A) {
    const request = Object.assign(new EventTarget(), { result: undefined as A | undefined })
    this.#requests.push(() => {
      if (this.db.database.isFull) return this.abort()
      request.result = answer()
      request.dispatchEvent(new Event("success"))
    })
    return request
  }

  objectStore() {
    const { database } = this.db
    const { rows } = database
    const put = (row: Row) => void rows.set(database.keyOf(row), structuredClone(database.keyed(row)))
    return {
      getAll: ({ lower }: Range) =>
        this.#request(() => structuredClone([...rows].filter(([key]) => Number(key) > lower).map(([, row]) => row))),
      get: (key: Key) => this.#request(() => structuredClone(rows.get(key))),
      add: (row: Row) => this.#request(() => put(row)),
      put: (row: Row) => this.#request(() => put(row)),
      delete: (keys: Range | Key) =>
        this.#request(() => {
          if (typeof keys !== "object") rows.delete(keys)
          else for (const key of rows.keys()) if (Number(key) <= keys.upper) rows.delete(key)
        })
    }
  }
}

class Connection extends EventTarget {
  readonly database: FakeDatabase
  /** Closed by its tab. */
  isClosed = false
  /** Closed by the browser, with everything that was under way. */
  isLost = false

  constructor(database: FakeDatabase) {
    super()
    this.database = database
  }

  createObjectStore(_: string, { keyPath }: { readonly keyPath: string }) {
    this.database.keyPath = keyPath
  }

  close() {
    this.isClosed = true
    this.database.connections.delete(this)
  }

  transaction() {
    if (this.isClosed || this.isLost) throw new Error("InvalidStateError")
    const transaction = new Transaction(this)
    this.database.enqueue((done) => transaction.run(done))
    return transaction
  }
}

class FakeDatabase {
  rows = new Map<Key, Row>()
  last = 0
  commits = 0
  opened = 0
  keyPath = ""
  /** Whether every transaction fails, as when the disk is full. */
  isFull = false
  readonly connections = new Set<Connection>()
  #queue: Promise<void> = Promise.resolve()

  get lines(): ReadonlyArray<Row> {
    return [...this.rows.values()]
  }

  keyOf(row: Row): Key {
    return (row[this.keyPath] ?? ++this.last) as Key
  }

  keyed(row: Row): Row {
    return this.keyPath in row ? row : { ...row, [this.keyPath]: this.last }
  }

  enqueue(run: (done: () => void) => void) {
    this.#queue = this.#queue.then(() => new Promise((resolve) => soon(() => run(resolve))))
  }

  /**
   * Clears the site's data: the browser closes every connection, and what is opened next is empty and counts from one. An
   * older browser does not say so.
   */
  clear({ isTold = true } = {}) {
    this.rows = new Map()
    this.last = 0
    for (const connection of this.connections) {
      connection.isLost = true
      if (isTold) soon(() => connection.dispatchEvent(new Event("close")))
    }
    this.connections.clear()
  }

  /** Deletes the database as a script of the site does: every connection is asked to close first. */
  delete() {
    for (const connection of this.connections) connection.dispatchEvent(new Event("versionchange"))
    this.rows = new Map()
    this.last = 0
  }
}

/** A factory that gives the databases of one browser to everyone who opens them; `database` is the journal's, `test`. */
export const make = () => {
  Object.assign(globalThis, {
    IDBKeyRange: {
      lowerBound: (lower: number): Range => ({ lower, upper: Infinity }),
      upperBound: (upper: number): Range => ({ lower: -Infinity, upper })
    }
  })
  const databases = new Map<string, FakeDatabase>()
  const named = (name: string) => {
    const database = databases.get(name) ?? new FakeDatabase()
    databases.set(name, database)
    return database
  }
  const open = (name: string) => {
    const database = named(name)
    const connection = new Connection(database)
    const request = Object.assign(new EventTarget(), { result: connection })
    soon(() => {
      database.opened += 1
      database.connections.add(connection)
      request.dispatchEvent(new Event("upgradeneeded"))
      request.dispatchEvent(new Event("success"))
    })
    return request
  }
  return { database: named("test"), factory: { open } as unknown as IDBFactory }
}
