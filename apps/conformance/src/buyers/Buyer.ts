/**
 * The interface of all buyers: each makes a paying `fetch` of a plain one.
 */
import type { EvmCrypto } from "@pontage/evm"
import type { Hex } from "viem"

/** The parts of a buyer. */
export interface Purse {
  readonly key: Hex
  /** A node, for wallets that want one. */
  readonly rpcUrl: string
  /** The `fetch` that is wrapped; what goes through it is what goes over the wire. */
  readonly send: typeof fetch
  /** The cryptography of our buyer; default JavaScript. The peers' buyers sign by viem. */
  readonly crypto?: EvmCrypto.Shape | undefined
}

/** Asks for something and pays for it. */
export type Buy = (url: string, init?: RequestInit) => Promise<Response>

/** Reads the transaction off a paid response's receipt, with the buyer's own package; `undefined` where there is none. */
export type ReadReceipt = (response: Response) => string | undefined

/** Makes a paying `fetch`. */
export type Buyer = (purse: Purse) => Buy
