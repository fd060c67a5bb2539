/** A session with a wallet elsewhere: its keys and counters, as text that a page may store, and the messages that belong to it. */
import { fieldOf, isRecord } from "../../WalletText.ts"
import * as NaclBox from "./NaclBox.ts"

/** A session. */
export interface Session {
  readonly secret: Uint8Array
  /** The address of the bridge over which this session goes; no other bridge sees it. */
  readonly bridge: string
  /** The wallet's client id; `undefined` until it has answered. */
  wallet: string | undefined
  /** The event `connect`, as the wallet has sent it. */
  account: unknown
  /** The last event of the bridge that was read. */
  lastEvent: string | undefined
  /** Number of the last request: wallets refuse one that is not greater, and an answer to an earlier one answers nothing. */
  lastRequest: number
  /** Number of the wallet's last event. */
  lastWalletEvent: number
}

/** A new session at a bridge. */
export const make = (bridge: string): Session => ({
  secret: NaclBox.newSecret(),
  bridge,
  wallet: undefined,
  account: undefined,
  lastEvent: undefined,
  lastRequest: 0,
  lastWalletEvent: -1
})

/** The session's client id. */
export const idOf = ({ secret }: Session): string => NaclBox.clientId(secret)

/**
 * The number of the next request. The protocol wants each greater than the session's last one. Tabs share a session, and an answer reaches
 * them all: the step is random, so that tabs which do not see one another never ask by the same number. The numbers last for 2 million steps.
 */
export const nextRequest = (session: Session): string => {
  const [step = 0] = crypto.getRandomValues(new Uint32Array(1))
  session.lastRequest += 1 + step
  return `${session.lastRequest}`
}

/** A session as text. It contains the secret key: keep it where only this origin reads. */
export const write = ({ secret, ...rest }: Session): string =>
  JSON.stringify({ ...rest, secret: NaclBox.hexOf(secret) })

const hexKey = /^[0-9a-f]{64}$/

/** The session in a text; `undefined` if it holds none with a wallet, or one at another bridge. */
export const read = (text: string | null | undefined, bridge: string): Session | undefined => {
  try {
    const value: unknown = JSON.parse(text ?? "")
    if (!isRecord(value) || value["bridge"] !== bridge) return undefined
    const { account, lastEvent, lastRequest, lastWalletEvent, secret, wallet } = value
    if (typeof secret !== "string" || !hexKey.test(secret)) return undefined
    if (typeof wallet !== "string" || !hexKey.test(wallet) || !isRecord(account)) return undefined
    if (!Number.isSafeInteger(lastRequest) || !Number.isSafeInteger(lastWalletEvent)) return undefined
    return {
      secret: NaclBox.bytesOf(secret),
      bridge,
      wallet,
      account,
      lastEvent: typeof lastEvent === "string" ? lastEvent : undefined,
      lastRequest: Number(lastRequest),
      lastWalletEvent: Number(lastWalletEvent)
    }
  } catch {
    return undefined
  }
}

/** A message of the session's wallet. */
export interface WalletMessage {
  readonly from: string
  readonly content: unknown
}

/**
 * The message in the data of a bridge's event; `undefined` for a heartbeat, a message of another client, and one that the named client has
 * not encrypted for this session: the bridge is trusted with nothing.
 */
export const messageIn = ({ secret, wallet }: Session, data: string): WalletMessage | undefined => {
  try {
    const value: unknown = JSON.parse(data)
    const from = fieldOf(value, "from")
    const message = fieldOf(value, "message")
    if (typeof from !== "string" || !hexKey.test(from) || typeof message !== "string") return undefined
    if (wallet !== undefined && from !== wallet) return undefined
    const text = NaclBox.open(
      Uint8Array.from(atob(message), (one) => one.charCodeAt(0)),
      secret,
      from
    )
    return text === undefined ? undefined : { from, content: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** A message for the session's wallet, as the bridge takes it. */
export const sealed = ({ secret }: Session, wallet: string, content: object): string =>
  btoa(String.fromCharCode(...NaclBox.seal(JSON.stringify(content), secret, wallet)))
