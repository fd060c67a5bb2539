/**
 * The bridge to a TON wallet on another device, or in another program, by TON Connect's HTTP bridge: the wallet opens a link (or reads it
 * as a QR code), and both ends exchange encrypted messages over a server that the wallet's maker runs.
 */
import { WalletError } from "../../Wallet.ts"
import { fieldOf } from "../../WalletText.ts"
import { connectRequest, type TonBridge, type TonRequest } from "../TonBridge.ts"
import * as BridgeAddress from "./BridgeAddress.ts"
import { OpenSession } from "./OpenSession.ts"
import * as Session from "./Session.ts"
import { type SessionStore, StoredSession } from "./SessionStore.ts"

/** Options of a bridge. */
export interface RemoteBridgeOptions {
  /** The bridge's address: `https`, or `http` to this machine; a path of the page's own origin where a proxy of yours leads there. */
  readonly bridge: string
  /** The wallet's universal link, `https` or `tc`; default `tc://`, which every wallet on a device opens. */
  readonly universalLink?: string
  /** Called with the link by which the wallet connects: show it as a link, and as a QR code. */
  readonly onLink: (link: string) => void
  /** Default: the session lasts as long as the page. */
  readonly store?: SessionStore
  /** Milliseconds for which the owner may take to connect, and to answer a request; default 5 minutes. */
  readonly patience?: number
  readonly fetch?: typeof globalThis.fetch
}

/** The bridge to one wallet. */
export class RemoteBridge implements TonBridge {
  readonly #options: RemoteBridgeOptions
  readonly #bridge: string
  readonly #link: string
  readonly #stored: StoredSession
  readonly #listeners = new Set<(event: unknown) => void>()
  #open: OpenSession | undefined

  /** Throws if an address is none that a page may use. */
  constructor(options: RemoteBridgeOptions) {
    this.#options = options
    this.#bridge = BridgeAddress.bridgeOf(options.bridge)
    this.#link = BridgeAddress.linkOf(options.universalLink ?? "tc://")
    this.#stored = new StoredSession(options.store, this.#bridge)
    const session = this.#stored.load()
    if (session !== undefined) this.#begin(session)
  }

  /** The account of an earlier visit, or of a wallet that opens the link. A second call ends the first one's wait. */
  async connect(manifestUrl: string): Promise<unknown> {
    const known = this.#open?.session.account
    if (known !== undefined) return known
    this.#end(this.#open, "another connection was begun")
    const open = this.#begin(Session.make(this.#bridge))
    try {
      const connecting = open.connecting()
      this.#options.onLink(linkOf(this.#link, open.session, manifestUrl))
      const event = await connecting
      if (fieldOf(event, "event") !== "connect") this.#end(open, "the wallet did not connect")
      return event
    } catch (error) {
      this.#end(open, "the wallet did not connect")
      throw error
    }
  }

  /** Sends a request, and waits for its answer. An answer that comes later than `patience` is dropped. */
  async send(request: TonRequest): Promise<unknown> {
    const open = this.#open
    const wallet = open?.session.wallet
    if (open === undefined || wallet === undefined)
      throw new WalletError("locked", "the wallet is not connected; connect it again")
    return open.send(wallet, { ...request, id: this.#nextId(open.session) })
  }

  listen(listener: (event: unknown) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Ends the session on both ends. */
  async disconnect(): Promise<void> {
    const open = this.#open
    const wallet = open?.session.wallet
    const id = open && this.#nextId(open.session)
    this.close()
    if (open !== undefined && wallet !== undefined && id !== undefined)
      await open.tell(wallet, { method: "disconnect", params: [], id })
  }

  /** Forgets the session and closes the connection; the wallet is not told. */
  close(): void {
    this.#end(this.#open, "the session was closed")
  }

  #begin(session: Session.Session): OpenSession {
    const { fetch, patience = 300_000 } = this.#options
    const open: OpenSession = new OpenSession(session, {
      patience,
      fetch,
      changed: () => this.#stored.save(session),
      told: (event, content) => {
        if (event === "disconnect") this.#end(open, "the wallet has disconnected")
        for (const listener of this.#listeners) listener(content)
      }
    })
    this.#open = open
    return open
  }

  /** Ends one session, and no other that was begun meanwhile. */
  #end(open: OpenSession | undefined, why: string): void {
    if (open === undefined) return
    if (this.#open === open) this.#open = undefined
    this.#stored.remove(open.session)
    open.end(why)
  }

  #nextId(session: Session.Session): string {
    this.#stored.catchUp(session)
    const id = Session.nextRequest(session)
    this.#stored.save(session)
    return id
  }
}

/** The link by which a wallet connects: protocol version, client id and request (TON Connect, "Universal link"). */
const linkOf = (universalLink: string, session: Session.Session, manifestUrl: string): string => {
  const query = new URLSearchParams({
    v: "2",
    id: Session.idOf(session),
    r: JSON.stringify(connectRequest(manifestUrl)),
    ret: "none"
  })
  const join = universalLink.includes("?") ? "&" : "?"
  return `${universalLink}${join}${query.toString().replaceAll("+", "%20")}`
}
