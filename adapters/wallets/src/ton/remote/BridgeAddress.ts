/** Addresses that a bridge's options name: checked once, before anything is sent to them or shown. */
import { WalletError } from "../../Wallet.ts"

/** The bridge's address, without a slash at its end. A path is one of the page's own origin. Throws if requests to it would not be private. */
export const bridgeOf = (text: string): string => {
  const url = urlOf(text, baseOf(globalThis.location?.href))
  if (url === undefined || !isPrivate(url) || url.search !== "")
    throw refused("bridge", "an address such as https://bridge.tonapi.io/bridge, without a query", text)
  return url.href.replace(/\/+$/, "")
}

/** The universal link. Throws for schemes that a page must not open, such as `javascript:`. */
export const linkOf = (text: string): string => {
  const url = urlOf(text)
  if (url === undefined || !(url.protocol === "tc:" || isPrivate(url)))
    throw refused("universalLink", "a link such as https://app.tonkeeper.com/ton-connect, or tc://", text)
  return url.href
}

/** A base that resolves paths; a page without an address, such as `about:blank`, has none. */
const baseOf = (href: string | undefined): string | undefined => (href?.startsWith("http") ? href : undefined)

const urlOf = (text: string, base?: string): URL | undefined => {
  try {
    const url = new URL(text, base)
    return url.hash === "" && url.username === "" && url.password === "" ? url : undefined
  } catch {
    return undefined
  }
}

/**
 * Whether requests to this address are private: by HTTPS, or by plain HTTP that does not leave this machine (core's `isLoopback`,
 * which a package without dependencies on core cannot import).
 */
const isPrivate = ({ hostname, protocol }: URL): boolean =>
  protocol === "https:" ||
  (protocol === "http:" && /^(?:localhost|.*\.localhost|\[::1\]|127(?:\.\d{1,3}){3})$/.test(hostname))

const refused = (option: string, expected: string, got: string) => {
  const message = `remoteTonWallet: ${option}: expected ${expected} (plain http only to this machine); got ${got}`
  return new WalletError("failed", message.slice(0, 400))
}
