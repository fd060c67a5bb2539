/**
 * The networks of the families that this service settles on, by any of their names: what an operator writes in one spelling
 * has to hold for the same network in another.
 */
import type { Network } from "@pontage/core"
import { EvmNetwork } from "@pontage/evm"
import { TonNetwork } from "@pontage/ton"
import { TronNetwork } from "@pontage/tron"

/** The network in its canonical form; `undefined` when it is of none of the families. */
export const fromText = (text: string): Network.Network | undefined =>
  EvmNetwork.fromText(text) ?? TonNetwork.fromText(text) ?? TronNetwork.fromText(text)
