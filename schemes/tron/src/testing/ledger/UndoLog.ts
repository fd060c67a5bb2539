/**
 * State that can be rolled back: every change of a {@link JournaledMap} records its reversal on the common log. One log serves the
 * frames of a contract call, a rejected transaction, the pending state that a block replaces, and a block that the chain drops.
 */

/** The log of a state. A mark is a place to roll back to; it is void once the state was rolled back behind it. */
export class UndoLog {
  private readonly undos: Array<() => void> = []
  private forgotten = 0

  /** The mark of the present state. */
  mark(): number {
    return this.forgotten + this.undos.length
  }

  /** Records the reversal of a change. */
  note(undo: () => void): void {
    this.undos.push(undo)
  }

  /** Rolls back to a mark. */
  rollback(mark: number): void {
    while (this.mark() > mark && this.undos.length > 0) this.undos.pop()?.()
  }

  /** Makes everything before a mark final. */
  forget(mark: number): void {
    const count = Math.max(0, Math.min(mark - this.forgotten, this.undos.length))
    this.undos.splice(0, count)
    this.forgotten += count
  }
}

/** A map whose changes are on the log. Its values are never changed in place. */
export class JournaledMap<Key, Value> {
  private readonly entries = new Map<Key, Value>()
  private readonly log: UndoLog

  constructor(log: UndoLog) {
    this.log = log
  }

  get(key: Key): Value | undefined {
    return this.entries.get(key)
  }

  set(key: Key, value: Value): void {
    const before = this.entries.get(key)
    this.log.note(before === undefined ? () => this.entries.delete(key) : () => this.entries.set(key, before))
    this.entries.set(key, value)
  }

  delete(key: Key): void {
    const before = this.entries.get(key)
    if (before === undefined) return
    this.log.note(() => this.entries.set(key, before))
    this.entries.delete(key)
  }

  keys(): IterableIterator<Key> {
    return this.entries.keys()
  }
}
