/** The options of an offer as the page shows and pays them. */
import type { Paywall } from "@pontage/core"

import type { PageOption } from "../PageFacts.ts"
import * as NetworkFacts from "./NetworkFacts.ts"

const families: Readonly<Record<string, PageOption["family"]>> = { eip155: "evm", ton: "ton", tron: "tron" }

/** An amount in whole tokens, without zeros at its end, and with cents for a dollar. */
export const tokensOf = (amount: bigint, decimals: number, isDollar: boolean): string => {
  const digits = amount.toString().padStart(decimals + 1, "0")
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "")
  const cents = isDollar ? fraction.padEnd(2, "0") : fraction
  return cents === "" ? whole : `${whole}.${cents}`
}

/** The options that the page can pay: those of a known family, and of TON and TRON those with a path to a node. */
export const of = (
  options: ReadonlyArray<Paywall.PaywallOption>,
  nodes: Readonly<Record<string, string>>
): ReadonlyArray<PageOption> =>
  options.flatMap(({ amount, asset, network, payTo, scheme }): ReadonlyArray<PageOption> => {
    const family = families[network.slice(0, network.indexOf(":"))]
    const node = nodes[network] ?? ""
    if (family === undefined || (family !== "evm" && node === "")) return []
    const { explorer = "", name } = NetworkFacts.of(network)
    const { address, decimals, dollar, extra, symbol } = asset
    const tokens = tokensOf(amount, decimals, dollar)
    const facts = { family, scheme, network, networkName: name, payTo, asset: address, symbol, decimals, dollar, extra }
    return [{ ...facts, amount: `${amount}`, tokens, explorer, node }]
  })
