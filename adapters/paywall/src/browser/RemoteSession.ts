/** Connects a TON wallet on another device: shows its link, and keeps the session for later visits where the browser stores. */
import type { ConnectOptions, Connection, TonWalletSigner } from "@pontage/wallets"
import { remoteTonWallet, type RemoteTonWallet, type SessionStore } from "@pontage/wallets/remote"

import type { PageTonWallet } from "../PageFacts.ts"
import { filled, texts } from "./PageContext.ts"
import { el, extend } from "./PageDom.ts"

/** The session of a wallet, in the origin's storage; some browsers have none in private windows. */
const storeOf = (id: string): SessionStore => {
  const key = `pontage.ton.${id}`
  return {
    load: () => {
      try {
        return localStorage.getItem(key)
      } catch {
        return undefined
      }
    },
    save: (session) => {
      try {
        if (session === undefined) localStorage.removeItem(key)
        else localStorage.setItem(key, session)
      } catch {
        // The session lasts as long as the page.
      }
    }
  }
}

const wallets = new Map<string, RemoteTonWallet>()

/**
 * The way into the wallet, below the steps. The link stays there for the signature. The code for a camera is loaded beside it; a page that
 * cannot load it has the link.
 */
const showLink = (wallet: string, href: string): void => {
  const scan = el("div", { class: "scan" })
  extend(
    scan,
    el("p", { class: "note" }, texts.openWhy),
    el("a", { class: "button", href, target: "_blank", rel: "noopener noreferrer" }, filled(texts.open, { wallet }))
  )
  void import("./QrCode.ts").then(
    (QrCode) =>
      scan.append(
        QrCode.of(href, filled(texts.code, { wallet })),
        el("p", { class: "note" }, filled(texts.scanWhy, { wallet }))
      ),
    () => undefined
  )
}

/** Connects. A page has one connection to a wallet's bridge. */
export const connect = (
  { bridge, id, link, name }: PageTonWallet,
  network: string,
  options: ConnectOptions
): Promise<Connection<TonWalletSigner>> => {
  const known =
    wallets.get(id) ??
    remoteTonWallet({
      id,
      name,
      bridge: `${location.origin}${bridge}`,
      universalLink: link,
      store: storeOf(id),
      onLink: (href) => showLink(name, href)
    })
  wallets.set(id, known)
  return known.connect(network, options)
}
