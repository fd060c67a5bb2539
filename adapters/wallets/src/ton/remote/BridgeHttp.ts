/** HTTP of a bridge: messages to it, and the stream of events from it. */
import { WalletError } from "../../Wallet.ts"
import type { TonRequest } from "../TonBridge.ts"
import * as EventStream from "./EventStream.ts"
import * as Session from "./Session.ts"

/** The way requests take; default: the page's own `fetch`. */
export type Fetch = typeof globalThis.fetch

/** Seconds for which the bridge keeps an unread message. Every bridge allows 300. */
const ttl = 300

/** Milliseconds before a lost connection is made again: doubling from the first to the last. */
const firstPause = 250
const longestPause = 8_000

/** Sends a request to the session's wallet. Rejects if the bridge does not take it, or leads elsewhere. */
export const post = async (
  session: Session.Session,
  to: string,
  request: TonRequest,
  signal: AbortSignal,
  fetch: Fetch = globalThis.fetch
): Promise<void> => {
  const query = new URLSearchParams({ client_id: Session.idOf(session), to, ttl: `${ttl}`, topic: request.method })
  const init = { method: "POST", body: Session.sealed(session, to, request), redirect: "error", signal } as const
  const response = await fetch(`${session.bridge}/message?${query}`, init).catch((cause: unknown) => {
    throw new WalletError("failed", "the wallet's bridge could not be reached; try again", { cause })
  })
  if (response.ok) return
  throw new WalletError("failed", `the wallet's bridge took no message (status ${response.status}); try again later`)
}

/** Reads the session's events until the signal, over as many connections as that takes. */
export const read = async (
  session: Session.Session,
  signal: AbortSignal,
  take: (event: EventStream.ServerEvent) => void,
  fetch?: Fetch
): Promise<void> => {
  let pause = firstPause
  let wait = pause
  const taken = (event: EventStream.ServerEvent) => {
    if (signal.aborted) return
    pause = firstPause
    wait = pause
    take(event)
  }
  while (!signal.aborted) {
    pause = wait
    wait = Math.min(pause * 2, longestPause)
    // oxlint-disable-next-line no-await-in-loop -- one connection after another; a bridge that cannot be reached is asked again
    await readOnce(session, signal, taken, fetch).catch(() => undefined)
    // oxlint-disable-next-line no-await-in-loop -- the pause between them
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}

const readOnce = async (
  session: Session.Session,
  signal: AbortSignal,
  take: (event: EventStream.ServerEvent) => void,
  fetch: Fetch = globalThis.fetch
): Promise<void> => {
  const query = new URLSearchParams({ client_id: Session.idOf(session) })
  if (session.lastEvent !== undefined) query.set("last_event_id", session.lastEvent)
  const init = { headers: { Accept: "text/event-stream" }, redirect: "error", signal } as const
  const response = await fetch(`${session.bridge}/events?${query}`, init)
  if (!response.ok || response.body === null) throw new Error(`status ${response.status}`)
  await EventStream.read(response.body, take)
}
