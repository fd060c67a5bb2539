/**
 * What a foreign facilitator settles, in the words of ours, and what of it cannot be sold from here.
 */
import { protocolVersion } from "../../protocol/PaymentPayload.ts"
import type { Sellable } from "../../protocol/Supported.ts"
import type { SchemeServer } from "../../scheme/SchemeServer.ts"
import type { Kinds } from "./X402FacilitatorExchange.ts"

/** The kinds, with the obstacle where the seller's half for a kind cannot read its payments. */
export const sellable = (schemes: ReadonlyArray<SchemeServer>, { kinds, signers }: Kinds): Sellable => ({
  kinds: kinds.map(({ extra, network, scheme }) => {
    const schemeServer = schemes.find((one) => serves(one, scheme, network))
    return {
      protocolVersion,
      scheme,
      network,
      ...(extra !== undefined && { extra }),
      ...(schemeServer !== undefined && schemeServer.read === undefined && { obstacle: unreadable(scheme, network) })
    }
  }),
  signers
})

const serves = (schemeServer: SchemeServer, scheme: string, network: string): boolean => {
  const canonical = schemeServer.scheme.name === scheme ? schemeServer.scheme.network(network) : undefined
  return canonical !== undefined && (schemeServer.network === undefined || schemeServer.network === canonical)
}

const unreadable = (scheme: string, network: string): string =>
  `the facilitator keeps no claims, so payments by "${scheme}" on ${network} have to be read here, and the scheme given for them cannot do that. Sell them through a facilitator of Pontage, give a scheme whose seller's half has "read", or take the network out of the routes`
