/**
 * As much of IndexedDB as a journal uses: read-write transactions that run one after another, live from event to event and
 * undo themselves when they are aborted. It stands in for a browser's where there is none; it proves nothing about one.
 */

interface Line {
  readonly number: number
}

interface Range {
  readonly lower: number
  readonly upper: number
}

const soon = (run: () => void) => void setImmediate(run)

class Transaction extends EventTarget {
  error: unknown = null
  #lines: Array<Line>
  readonly #before: ReadonlyArray<Line>
  readonly #database: FakeDatabase
  #isAborted = false
  #requests: Array<() => void> = []

  constructor(database: FakeDatabase) {
    super()
    this.#database = database
    this.#lines = database.lines
    this.#before = [...database.lines]
  }

  run(done: () => void) {
    const next = this.#requests.shift()
    if (this.#isAborted) {
      this.#database.lines = [...this.#before]
      this.dispatchEvent(new Event("abort"))
      done()
    } else if (next === undefined) {
      this.#database.commits += 1
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
      if (this.#database.isFull) return this.abort()
      request.result = answer()
      request.dispatchEvent(new Event("success"))
    })
    return request
  }

  objectStore() {
    return {
      getAll: ({ lower }: Range) =>
        this.#request(() => structuredClone(this.#lines.filter(({ number }) => number > lower))),
      add: (line: object) =>
        this.#request(() => this.#lines.push(structuredClone({ ...line, number: ++this.#database.last }))),
      delete: ({ upper }: Range) =>
        this.#request(() => this.#lines.splice(0, this.#lines.filter(({ number }) => number <= upper).length))
    }
  }
}

class FakeDatabase extends EventTarget {
  lines: Array<Line> = []
  last = 0
  commits = 0
  /** Whether every transaction fails, as when the disk is full. */
  isFull = false
  #queue: Promise<void> = Promise.resolve()

  createObjectStore() {}
  close() {}

  transaction() {
    const transaction = new Transaction(this)
    this.#queue = this.#queue.then(() => new Promise((resolve) => soon(() => transaction.run(resolve))))
    return transaction
  }
}

/** A database, and a factory that gives it to everyone who opens it. */
export const make = () => {
  Object.assign(globalThis, {
    IDBKeyRange: {
      lowerBound: (lower: number): Range => ({ lower, upper: Infinity }),
      upperBound: (upper: number): Range => ({ lower: -Infinity, upper })
    }
  })
  const database = new FakeDatabase()
  const open = () => {
    const request = Object.assign(new EventTarget(), { result: database })
    soon(() => {
      request.dispatchEvent(new Event("upgradeneeded"))
      request.dispatchEvent(new Event("success"))
    })
    return request
  }
  return { database, factory: { open } as unknown as IDBFactory }
}
