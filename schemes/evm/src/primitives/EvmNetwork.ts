/**
 * EVM networks by CAIP-2: `eip155:<chain id>`, the chain id in decimal without leading zeros.
 */
import * as Network from "@pontage/core/Network"

const grammar = /^eip155:([1-9][0-9]{0,15})$/

/** The network that a text names; `undefined` when the text does not name an EVM network. */
export const fromText = (text: string): Network.Network | undefined => {
  const match = grammar.exec(text)
  return match !== null && Number.isSafeInteger(Number(match[1])) ? Network.make(text) : undefined
}

/** The network with this chain id (EIP-155). */
export const fromChainId = (chainId: number): Network.Network => Network.make(`eip155:${chainId}`)

/** The chain id (EIP-155) of an EVM network. */
export const chainId = (network: Network.Network): number => Number(Network.reference(network))
