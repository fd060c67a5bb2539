/**
 * EVM networks by CAIP-2: `eip155:<chain id>`, the chain id in decimal without leading zeros. On input a name such as `base` or
 * `base-sepolia` stands for one too (`EvmNetworkName`).
 */
import * as Network from "@pontage/core/Network"

import * as EvmNetworkName from "./EvmNetworkName.ts"

const grammar = /^eip155:([1-9][0-9]{0,15})$/

/** The URL of a node, for messages. */
export const nodeExample = "https://mainnet.base.org"

/** The rule for a network's text, for error messages: the end of a sentence whose subject is the text. */
export const fault = 'is not an EVM network; write its chain id as in "eip155:8453", or a name such as "base-sepolia"'

/** The network that a text names, aliases included; `undefined` when the text does not name an EVM network. */
export const fromText = (text: string): Network.Network | undefined => {
  const match = grammar.exec(text)
  if (match !== null) return Number.isSafeInteger(Number(match[1])) ? Network.make(text) : undefined
  const named = EvmNetworkName.chainId(text)
  return named === undefined ? undefined : fromChainId(named)
}

/** The network with this chain id (EIP-155). */
export const fromChainId = (chainId: number): Network.Network => Network.make(`eip155:${chainId}`)

/** The chain id (EIP-155) of an EVM network. */
export const chainId = (network: Network.Network): number => Number(Network.reference(network))
