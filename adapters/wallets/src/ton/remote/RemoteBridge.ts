/**
 * The bridge to a TON wallet on another device, or in another program, by TON Connect's HTTP bridge: the wallet opens a link (or reads it
 * as a QR code), and both ends exchange encrypted messages over a server that the wallet's maker runs.
 */
import { WalletError } from "../../Wallet.ts"
import { fieldOf } from "../../WalletText.ts"
import { connectRequest, type TonBridge, type TonRequest } from "../TonBridge.ts"
import * as EventStream from "./EventStream.ts"
import * as NaclBox from "./NaclBox.ts"
import * as Session from "./Session.ts"

/** Keeps the session between visits. */
export interface SessionStore {
  readonly load: () => string | null | undefined
  /** `undefined` removes it. */
  readonly save: (session: string | undefined) => void
}

/** Options of a bridge. */
export interface RemoteBridgeOptions {
  /** The bridge's address, without a slash at its end; a path of the page's own origin where a proxy of yours leads there. */
  readonly bridge: string
  /** The wallet's universal link; default `tc://`, which every wallet on a device opens. */
  readonly universalLink?: string
  /** Called with the link by which the wallet connects: show it as a link, and as a QR code. */
  readonly onLink: (link: string) => void
  /** Default: the session lasts as long as the page. */
  readonly store?: SessionStore
  /** Milliseconds for which the owner may take to connect, and to answer a request; default 5 minutes. */
  readonly patience?: number
  readonly fetch?: typeof globalThis.fetch
}

/** Seconds for which the bridge keeps an unread message. Every bridge allows 300. */
const ttl = 300

/** Milliseconds before a lost connection is made again: doubling from the first to the last. */
const firstPause = 250
const longestPause = 8_000

/** The bridge to one wallet. */
export class RemoteBridge implements TonBridge {
  readonly #options: RemoteBridgeOptions
  readonly #waiting = new Map<string, (response: unknown) => void>()
  readonly #listeners = new Set<(event: unknown) => void>()
  #session: Session.Session | undefined
  #connected: ((event: unknown) => void) | undefined
  #reading: AbortController | undefined

  constructor(options: RemoteBridgeOptions) {
    this.#options = options
    this.#session = Session.read(options.store?.load())
    if (this.#session !== undefined) this.#read(this.#session)
  }

  /** The account of an earlier visit, or of a wallet that opens the link. */
  async connect(manifestUrl: string): Promise<unknown> {
    if (this.#session?.account !== undefined) return this.#session.account
    this.close()
    const session = Session.make()
    this.#session = session
    const connected = this.#within("open the link", (resolve) => (this.#connected = resolve))
    this.#read(session)
    this.#options.onLink(linkOf(this.#options.universalLink ?? "tc://", session, manifestUrl))
    try {
      const event = await connected
      if (fieldOf(event, "event") !== "connect") this.close()
      return event
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Sends a request, and waits for its answer. An answer that comes later than `patience` is dropped. */
  async send(request: TonRequest): Promise<unknown> {
    const session = this.#session
    if (session?.wallet === undefined) throw new WalletError("locked", "the wallet is not connected; connect it again")
    session.lastRequest += 1
    this.#save()
    const id = `${session.lastRequest}`
    const answer = this.#within("answer", (resolve) => this.#waiting.set(id, resolve))
    // The patience may end while the bridge still takes the request.
    answer.catch(() => undefined)
    try {
      await this.#post(session, session.wallet, { ...request, id })
      return await answer
    } finally {
      this.#waiting.delete(id)
    }
  }

  listen(listener: (event: unknown) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Ends the session on both ends. */
  async disconnect(): Promise<void> {
    const session = this.#session
    this.close()
    if (session?.wallet === undefined) return
    const request: TonRequest = { method: "disconnect", params: [], id: `${session.lastRequest + 1}` }
    await this.#post(session, session.wallet, request)
  }

  /** Forgets the session and closes the connection; the wallet is not told. */
  close(): void {
    this.#reading?.abort()
    this.#session = undefined
    this.#connected = undefined
    this.#options.store?.save(undefined)
  }

  #save(): void {
    if (this.#session?.wallet !== undefined) this.#options.store?.save(Session.write(this.#session))
  }

  /** Waits for the wallet, for as long as its owner may take. */
  #within(what: string, begin: (resolve: (value: unknown) => void) => void): Promise<unknown> {
    const { patience = 300_000 } = this.#options
    return new Promise((resolve, reject) => {
      const message = `the wallet did not ${what} within ${patience / 1000} s; nothing was signed that could be used`
      const timer = setTimeout(() => reject(new WalletError("failed", message)), patience)
      begin((value) => {
        clearTimeout(timer)
        resolve(value)
      })
    })
  }

  async #post(session: Session.Session, to: string, request: TonRequest): Promise<void> {
    const { bridge, fetch = globalThis.fetch } = this.#options
    const query = new URLSearchParams({
      client_id: NaclBox.clientId(session.secret),
      to,
      ttl: `${ttl}`,
      topic: request.method
    })
    const body = Session.sealed(session, to, request)
    const response = await fetch(`${bridge}/message?${query}`, { method: "POST", body }).catch((cause: unknown) => {
      throw new WalletError("failed", "the wallet's bridge could not be reached; try again", { cause })
    })
    if (!response.ok)
      throw new WalletError(
        "failed",
        `the wallet's bridge took no message (status ${response.status}); try again later`
      )
  }

  /** Reads the session's events until it is closed, over as many connections as that takes. */
  #read(session: Session.Session): void {
    const reading = new AbortController()
    this.#reading = reading
    const { signal } = reading
    const again = async (pause: number): Promise<void> => {
      if (signal.aborted) return
      let hasRead = false
      try {
        await this.#readOnce(session, signal, () => (hasRead = true))
      } catch {
        // A bridge that cannot be reached is asked again.
      }
      const next = hasRead ? firstPause : Math.min(pause * 2, longestPause)
      await new Promise((resolve) => setTimeout(resolve, hasRead ? firstPause : pause))
      return again(next)
    }
    void again(firstPause)
  }

  async #readOnce(session: Session.Session, signal: AbortSignal, hasRead: () => void): Promise<void> {
    const { bridge, fetch = globalThis.fetch } = this.#options
    const query = new URLSearchParams({ client_id: NaclBox.clientId(session.secret) })
    if (session.lastEvent !== undefined) query.set("last_event_id", session.lastEvent)
    const response = await fetch(`${bridge}/events?${query}`, { headers: { Accept: "text/event-stream" }, signal })
    if (!response.ok || response.body === null) throw new Error(`status ${response.status}`)
    await EventStream.read(response.body, ({ data, id }) => {
      if (signal.aborted) return
      hasRead()
      if (id !== undefined) session.lastEvent = id
      this.#take(session, data)
      this.#save()
    })
  }

  #take(session: Session.Session, data: string): void {
    const message = Session.messageIn(session, data)
    if (message === undefined) return
    const { content, from } = message
    const id = fieldOf(content, "id")
    const event = fieldOf(content, "event")
    if (event === undefined) {
      if (session.wallet !== undefined) this.#waiting.get(String(id))?.(content)
      return
    }
    // An event that the bridge repeats has a number that was seen.
    if (typeof id === "number" && id <= session.lastWalletEvent) return
    if (typeof id === "number") session.lastWalletEvent = id
    if (event === "connect" || event === "connect_error") this.#opened(session, from, content)
    else if (session.wallet !== undefined) this.#tell(event, content)
  }

  /** The wallet's answer to the link. Only the first one counts. */
  #opened(session: Session.Session, from: string, content: unknown): void {
    if (session.wallet !== undefined || this.#connected === undefined) return
    if (fieldOf(content, "event") === "connect") {
      session.wallet = from
      session.account = content
    }
    this.#connected(content)
    this.#connected = undefined
  }

  #tell(event: unknown, content: unknown): void {
    if (event === "disconnect") this.close()
    for (const listener of this.#listeners) listener(content)
  }
}

/** The link by which a wallet connects: protocol version, client id and request (TON Connect, "Universal link"). */
const linkOf = (universalLink: string, { secret }: Session.Session, manifestUrl: string): string => {
  const query = new URLSearchParams({
    v: "2",
    id: NaclBox.clientId(secret),
    r: JSON.stringify(connectRequest(manifestUrl)),
    ret: "none"
  })
  const join = universalLink.includes("?") ? "&" : "?"
  return `${universalLink}${join}${query.toString().replaceAll("+", "%20")}`
}
