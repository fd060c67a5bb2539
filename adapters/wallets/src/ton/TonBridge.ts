/**
 * The bridge between a page and a wallet of TON Connect (protocol 2 and 3). A wallet in the page has it as an object, a wallet
 * elsewhere behind a server (`RemoteBridge`).
 */

/** A bridge. Its values come from another program and are read before use. */
export interface TonBridge {
  /** Asks the owner for an account: the event `connect`, or `connect_error`. */
  readonly connect: (manifestUrl: string) => Promise<unknown>
  /** Sends one request: `{ result, id }`, or `{ error, id }`. */
  readonly send: (request: TonRequest) => Promise<unknown>
  /** Calls the listener at each event of the wallet, until the returned function is called. */
  readonly listen: (listener: (event: unknown) => void) => () => void
}

/** A request. Its parameters are texts of JSON. */
export interface TonRequest {
  readonly method: "signMessage" | "disconnect"
  readonly params: ReadonlyArray<string>
  readonly id: string
}

/** The request for an account that opens a connection. */
export const connectRequest = (manifestUrl: string) => ({ manifestUrl, items: [{ name: "ton_addr" }] })
