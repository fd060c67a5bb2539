/**
 * Scheme servers that need no chain: two families with aliases and two spellings of an address.
 */
import { type Asset, Network, type Scheme, type SchemeServer } from "@pontage/core"
import * as Effect from "effect/Effect"

const evmScheme: Scheme = {
  name: "exact",
  family: "eip155",
  network: (text) => {
    const match = /^(?:eip155|evm):([1-9]\d{0,9})$/.exec(text)
    return match === null ? undefined : Network.make(`eip155:${match[1]}`)
  },
  address: (text) => (/^0x[0-9a-f]{40}$/i.test(text) ? text.toLowerCase() : undefined),
  recipientFault: (text) => (text === "nobody" ? "is nobody's" : undefined)
}

/** Takes the shop's EVM addresses for its own, as a family with hexadecimal addresses would. */
const tonScheme: Scheme = {
  name: "exact",
  family: "ton",
  network: (text) =>
    text === "ton:mainnet" || text === "tvm:-239" || text === "ton:-239" ? Network.make("ton:mainnet") : undefined,
  address: (text) => (/^(?:UQ[a-z]+|0x[0-9a-f]{40})$/i.test(text) ? `0:${text}` : undefined)
}

export const alice = `0x${"a1".repeat(20)}`
export const usdc = `0x${"c0".repeat(20)}`
export const dai = `0x${"da".repeat(20)}`
export const weth = `0x${"e0".repeat(20)}`

const table = (network: Network.Network): ReadonlyArray<Asset> => [
  { network, address: usdc, symbol: "USDC", decimals: 6, dollar: true, extra: { name: "USD Coin", version: "2" } },
  { network, address: dai, symbol: "DAI", decimals: 18, dollar: true, extra: { name: "Dai", version: "1" } },
  { network, address: weth, symbol: "WETH", decimals: 18, dollar: false, extra: { name: "Ether", version: "1" } }
]

const serverOf = (scheme: Scheme, network: string | undefined, prove: SchemeServer["prove"]): SchemeServer => ({
  scheme,
  network: network === undefined ? undefined : Network.make(network),
  asset: (place, text = "USDC") =>
    table(place).find(({ address, symbol }) => symbol === text || address === text.toLowerCase()),
  assetNames: (place) => table(place).map(({ symbol }) => symbol),
  prove
})

export const evm = (network: string | undefined = "eip155:8453", prove: SchemeServer["prove"] = () => Effect.void) =>
  serverOf(evmScheme, network, prove)

export const ton = (prove: SchemeServer["prove"] = () => Effect.void) => serverOf(tonScheme, "ton:mainnet", prove)

/** A scheme server without a dollar stablecoin. */
export const coinless = (): SchemeServer => ({ ...evm("eip155:1"), asset: () => undefined })
