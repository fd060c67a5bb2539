/** Translates the kinds of an x402 facilitator into ours, with the obstacles to selling them here. */
import { protocolVersion } from "../../protocol/PaymentPayload.ts"
import type { Sellable } from "../../protocol/Supported.ts"
import type { SchemeServer } from "../../scheme/SchemeServer.ts"
import type { Kinds } from "./X402FacilitatorExchange.ts"

/** The kinds, with the obstacle if the scheme server for a kind cannot read its payments. */
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
  `the facilitator keeps no claims, so payments by "${scheme}" on ${network} must be read here, and the given scheme cannot read them. Sell them through a Pontage facilitator, give a scheme server that has "read", or remove the network from the routes`
