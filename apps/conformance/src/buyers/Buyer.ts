/**
 * What the buyers have in common: each makes a paying `fetch` of a plain one.
 */
import type { EvmCrypto } from "@pontage/evm"
import type { Hex } from "viem"

/** What a buyer is made of. */
export interface Purse {
  readonly key: Hex
  /** A node, for wallets that want one. */
  readonly rpcUrl: string
  /** The `fetch` that is wrapped; what goes through it is what goes over the wire. */
  readonly send: typeof fetch
  /** What our buyer signs with; default JavaScript. The peers' sign by viem. */
  readonly crypto?: EvmCrypto.Shape | undefined
}

/** Asks for something and pays for it. */
export type Buy = (url: string, init?: RequestInit) => Promise<Response>

/** Reads the transaction off a paid answer's receipt, with the buyer's own package; `undefined` where there is none. */
export type ReadReceipt = (response: Response) => string | undefined

/** Makes a paying `fetch`. */
export type Buyer = (purse: Purse) => Buy
