/**
 * Addresses of a node: hexadecimal beginning with `41` in memory and in its JSON, base58check for people. Clients may send either.
 * Unlike the scheme, a node also keeps texts that are not addresses, because clients send them.
 */
import * as TronAddress from "../../primitives/TronAddress.ts"

/** An address in base58check; a text that is not an address stays as it is. */
export const toBase58 = (text: string): string => {
  const address = TronAddress.fromText(text)
  return address === undefined ? text : TronAddress.toBase58(address)
}

/** An address in hexadecimal, from either form; `undefined` if the text is not an address. */
export const toHex = (text: string): string | undefined => TronAddress.fromText(text)

/** Whether a text is an address in hexadecimal. */
export const is = (text: string): boolean => TronAddress.fromText(text) === text

/** An address in the form that a client requested. */
export const shown = (hex: string, visible: boolean): string => (visible ? toBase58(hex) : hex)
