/** A session while it is open: what its page waits for, and what its wallet sends. It ends once, and with it all that waits. */
import { WalletError } from "../../Wallet.ts"
import { fieldOf } from "../../WalletText.ts"
import type { TonRequest } from "../TonBridge.ts"
import * as BridgeHttp from "./BridgeHttp.ts"
import type { ServerEvent } from "./EventStream.ts"
import * as Session from "./Session.ts"
import * as Wait from "./Wait.ts"

/** Options of an open session. */
export interface OpenSessionOptions {
  readonly patience: number
  readonly fetch: BridgeHttp.Fetch | undefined
  /** Called once a counter of the session has changed. */
  readonly changed: () => void
  /** Called at each event of the wallet after it has connected. */
  readonly told: (event: unknown, content: unknown) => void
}

/** An open session. */
export class OpenSession {
  readonly session: Session.Session
  readonly #options: OpenSessionOptions
  readonly #ended = new AbortController()
  readonly #waiting = new Map<string, Wait.Wait>()
  #connecting: Wait.Wait | undefined

  constructor(session: Session.Session, options: OpenSessionOptions) {
    this.session = session
    this.#options = options
    void BridgeHttp.read(session, this.#ended.signal, (event) => this.#take(event), options.fetch)
  }

  /** The wallet's first event: its answer to the link. */
  connecting(): Promise<unknown> {
    this.#connecting = Wait.begin("the wallet did not open the link", this.#options.patience)
    return this.#connecting.promise
  }

  /** Sends a request to the wallet, and waits for its answer, whether or not the bridge has said that it took the request. */
  async send(wallet: string, request: TonRequest): Promise<unknown> {
    const wait = Wait.begin("the wallet did not answer", this.#options.patience)
    this.#waiting.set(request.id, wait)
    BridgeHttp.post(this.session, wallet, request, wait.signal, this.#options.fetch).catch(wait.reject)
    try {
      return await wait.promise
    } finally {
      this.#waiting.delete(request.id)
    }
  }

  /** Sends a request that no wallet answers. */
  async tell(wallet: string, request: TonRequest): Promise<void> {
    const wait = Wait.begin("the wallet's bridge took no message", this.#options.patience)
    BridgeHttp.post(this.session, wallet, request, wait.signal, this.#options.fetch).then(wait.resolve, wait.reject)
    await wait.promise
  }

  /** Ends this session on this end: nothing more is read, and all that waits is rejected (`locked`). */
  end(why: string): void {
    this.#ended.abort()
    const error = new WalletError("locked", `${why}; connect the wallet again`)
    for (const wait of [this.#connecting, ...this.#waiting.values()]) wait?.reject(error)
  }

  #take({ data, id }: ServerEvent): void {
    if (id !== undefined) this.session.lastEvent = id
    const message = Session.messageIn(this.session, data)
    if (message !== undefined) this.#read(message)
    if (!this.#ended.signal.aborted) this.#options.changed()
  }

  #read({ content, from }: Session.WalletMessage): void {
    const { session } = this
    const event = fieldOf(content, "event")
    const id = fieldOf(content, "id")
    if (session.wallet === undefined) return this.#opened(from, event, id, content)
    if (event === undefined) return this.#waiting.get(String(id))?.resolve(content)
    // An event that the bridge repeats has a number that was seen.
    if (typeof id === "number" && id <= session.lastWalletEvent) return
    if (typeof id === "number") session.lastWalletEvent = id
    if (event !== "connect" && event !== "connect_error") this.#options.told(event, content)
  }

  /** The wallet's answer to the link. Until it comes, any client that knows the link can write here: nothing else counts. */
  #opened(from: string, event: unknown, id: unknown, content: unknown): void {
    if (this.#connecting === undefined || (event !== "connect" && event !== "connect_error")) return
    if (event === "connect") {
      this.session.wallet = from
      this.session.account = content
      if (typeof id === "number") this.session.lastWalletEvent = id
    }
    this.#connecting.resolve(content)
    this.#connecting = undefined
  }
}
