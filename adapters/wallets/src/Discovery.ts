/** Finds the wallets of a page, of all families at once. It asks nothing of them that their owners would see. */
import * as Announcements from "./Announcements.ts"
import * as EvmWallet from "./evm/EvmWallet.ts"
import { isProvider } from "./ProviderCall.ts"
import * as InjectedBridge from "./ton/InjectedBridge.ts"
import * as TonWallet from "./ton/TonWallet.ts"
import * as TronWallet from "./tron/TronWallet.ts"
import type { AnyWallet, Family } from "./Wallet.ts"
import { fieldOf } from "./WalletText.ts"

/** Options of `discover`. */
export interface DiscoverOptions {
  /** Called for each wallet, at once or later: extensions may load after the page. */
  readonly found: (wallet: AnyWallet) => void
  /** Default: all. */
  readonly families?: ReadonlyArray<Family>
  /** Default: the window of the page. */
  readonly page?: Window
}

/** The events by which wallets of before these standards say that they are there. */
const lateEvents = ["ethereum#initialized", "tronLink#initialized", "load"]

/** Looks for wallets until the returned function is called. Each wallet is found once. */
export const discover = ({
  families = ["evm", "ton", "tron"],
  found,
  page = window
}: DiscoverOptions): (() => void) => {
  const known = new Set<unknown>()
  let hasEvm = false
  const stops: Array<() => void> = []
  const once = (key: unknown, make: () => AnyWallet) => {
    if (known.has(key)) return
    known.add(key)
    const wallet = make()
    hasEvm ||= wallet.family === "evm"
    found(wallet)
  }
  if (families.includes("evm"))
    stops.push(Announcements.listen(page, EvmWallet.events, (one) => once(one.provider, () => EvmWallet.make(one))))
  if (families.includes("tron"))
    stops.push(Announcements.listen(page, TronWallet.events, (one) => once(one.provider, () => TronWallet.make(one))))
  const look = () => {
    if (families.includes("ton"))
      for (const { bridge, facts } of InjectedBridge.find(page)) once(facts.id, () => TonWallet.make(facts, bridge))
    if (families.includes("tron"))
      standingIn(page, "tron", "TronLink", (one) => once(one.provider, () => TronWallet.make(one)))
    // A page's `ethereum` is one of the announced wallets where there are any.
    if (families.includes("evm") && !hasEvm)
      standingIn(page, "ethereum", "Browser wallet", (one) => once(one.provider, () => EvmWallet.make(one)))
  }
  look()
  for (const event of lateEvents) page.addEventListener(event, look)
  stops.push(() => {
    for (const event of lateEvents) page.removeEventListener(event, look)
  })
  return () => {
    for (const stop of stops) stop()
  }
}

/** A wallet of before the announcements, by the field of the window in which it stands. */
const standingIn = (
  page: Window,
  field: string,
  name: string,
  found: (wallet: Announcements.Announced) => void
): void => {
  const provider = fieldOf(page, field)
  if (isProvider(provider)) found({ id: `window.${field}`, name, icon: undefined, provider })
}
