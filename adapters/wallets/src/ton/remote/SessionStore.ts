/** The session in a page's storage. Storage may refuse (a private window, a full quota), and other tabs write there too. */
import * as NaclBox from "./NaclBox.ts"
import * as Session from "./Session.ts"

/** Keeps the session between visits. One that throws counts as none. */
export interface SessionStore {
  readonly load: () => string | null | undefined
  /** `undefined` removes it. */
  readonly save: (session: string | undefined) => void
}

/** The store of one bridge's sessions. */
export class StoredSession {
  readonly #store: SessionStore | undefined
  readonly #bridge: string
  /** The session that was loaded or saved here. */
  #own: string | undefined

  constructor(store: SessionStore | undefined, bridge: string) {
    this.#store = store
    this.#bridge = bridge
  }

  /** The session of an earlier visit; `undefined` if there is none at this bridge. */
  load(): Session.Session | undefined {
    const session = this.#load()
    this.#own = session && keyOf(session)
    return session
  }

  /** Counts the requests of other tabs in this session. Whether the session is stored. */
  catchUp(session: Session.Session): boolean {
    const stored = this.#load()
    if (stored === undefined || keyOf(stored) !== keyOf(session)) return false
    session.lastRequest = Math.max(session.lastRequest, stored.lastRequest)
    return true
  }

  /** Saves a session with a wallet. One that another tab has removed or replaced stays so. */
  save(session: Session.Session): void {
    if (session.wallet === undefined) return
    const isStored = this.catchUp(session)
    if (!isStored && this.#own === keyOf(session)) return
    this.#own = keyOf(session)
    this.#save(Session.write(session))
  }

  /** Removes this session; another one stays. */
  remove(session: Session.Session): void {
    if (this.catchUp(session)) this.#save(undefined)
  }

  #load(): Session.Session | undefined {
    try {
      return Session.read(this.#store?.load(), this.#bridge)
    } catch {
      return undefined
    }
  }

  #save(text: string | undefined): void {
    try {
      this.#store?.save(text)
    } catch {
      // The session lasts as long as the page.
    }
  }
}

const keyOf = ({ secret }: Session.Session): string => NaclBox.hexOf(secret)
