/** Wallets that announce themselves by events of the window: EIP-6963, and TIP-6963 after its example. */
import { isProvider, type Provider } from "./ProviderCall.ts"
import { fieldOf, iconOf, nameOf } from "./WalletText.ts"

/** An announced wallet. */
export interface Announced {
  readonly id: string
  readonly name: string
  readonly icon: string | undefined
  readonly provider: Provider
}

/** The names of a standard's two events. */
export interface AnnouncementEvents {
  readonly announce: string
  readonly request: string
}

/** Reads the detail of an announcement; `undefined` if it is none. */
export const read = (detail: unknown): Announced | undefined => {
  const provider = fieldOf(detail, "provider")
  const info = fieldOf(detail, "info")
  const id = fieldOf(info, "rdns")
  if (!isProvider(provider) || typeof id !== "string" || id === "" || id.length > 200) return undefined
  return { id, provider, name: nameOf(fieldOf(info, "name"), id), icon: iconOf(fieldOf(info, "icon")) }
}

/** Calls `found` for each wallet that announces itself, until the returned function is called. The first of an id counts. */
export const listen = (
  page: Window,
  { announce, request }: AnnouncementEvents,
  found: (wallet: Announced) => void
): (() => void) => {
  const known = new Set<string>()
  const heard = (event: Event) => {
    const wallet = read(fieldOf(event, "detail"))
    if (wallet === undefined || known.has(wallet.id)) return
    known.add(wallet.id)
    found(wallet)
  }
  page.addEventListener(announce, heard)
  page.dispatchEvent(new Event(request))
  return () => page.removeEventListener(announce, heard)
}
