/** Sizes of the payment page: its HTML, its first script, and all scripts of a purchase by a wallet of each family. */
import { gzipSync } from "node:zlib"

import { Network, type Paywall } from "@pontage/core"
import { paywall } from "@pontage/paywall"

import type { Row } from "../Row.ts"

const networks = ["eip155:8453", "ton:mainnet", "tron:mainnet"]

const offer: Paywall.PaywallOffer = {
  origin: "https://shop.example",
  target: "/report",
  description: "The report",
  mimeType: undefined,
  languages: "",
  options: networks.map((network) => ({
    scheme: "exact",
    network,
    payTo: "",
    asset: { network: Network.make(network), address: "", symbol: "USDC", decimals: 6, dollar: true, extra: {} },
    amount: 10_000n
  }))
}

const shop = paywall({ nodes: { "ton:mainnet": "/nodes/ton", "tron:mainnet": "/nodes/tron" } })

/** A script as the page of a form gets it: its imports are marks. */
const scriptOf = (name: string): string => {
  const file = shop.file(name, { method: "POST", origin: offer.origin, path: offer.target })
  if (file === undefined) throw new Error(`the page has no script ${name}`)
  return file.body
}

const namesIn = (text: string, imports: RegExp): ReadonlyArray<string> =>
  [...text.matchAll(imports)].map(([, name = ""]) => name)

/** A script and all that it imports at once. */
const reach = (name: string, seen: Set<string>): void => {
  if (seen.has(name)) return
  seen.add(name)
  for (const next of namesIn(scriptOf(name), /(?:from|import)["']@paywall\/([\w.-]+)/g)) reach(next, seen)
}

/** The page's sizes. */
export const measure = (): ReadonlyArray<Row> => {
  const { body } = shop.page(offer)
  const [entry] = namesIn(body, /\?pontage-paywall=(app-[\w-]+\.js)/g)
  if (entry === undefined) throw new Error("the page names no script")
  const later = namesIn(scriptOf(entry), /import\(["']@paywall\/([\w.-]+)/g)
  const sizeWith = (...starts: ReadonlyArray<string>): number => {
    const seen = new Set<string>()
    reach(entry, seen)
    for (const name of later) if (starts.some((start) => name.startsWith(`${start}-`))) reach(name, seen)
    return [...seen].reduce((sum, name) => sum + gzipSync(scriptOf(name)).length, 0)
  }
  const families = ["EvmFamily", "TonFamily", "TronFamily"]
  return [
    row("HTML with three networks", gzipSync(body).length, "target at most 12"),
    row("first script", sizeWith()),
    row("scripts of a purchase with EVM", sizeWith("Payment", "EvmFamily"), "target at most 45"),
    row("scripts of a purchase with TON", sizeWith("Payment", "TonFamily")),
    row("scripts of a purchase with TRON", sizeWith("Payment", "TronFamily")),
    row("scripts of purchases with all three", sizeWith("Payment", ...families), "target at most 120")
  ]
}

const row = (what: string, bytes: number, note?: string): Row => ({
  name: `payment page, ${what}, min+gzip`,
  value: bytes / 1024,
  unit: "KB",
  ...(note !== undefined && { note })
})
