/**
 * Addresses as a node handles them: inside and in its JSON in hexadecimal beginning with `41`, for people in base58check.
 * Callers may send either. Unlike the scheme, a node also holds texts that are no addresses, because it was sent them.
 */
import * as TronAddress from "../../primitives/TronAddress.ts"

/** An address in base58check. Given what is no address, it gives that back. */
export const toBase58 = (text: string): string => {
  const address = TronAddress.fromText(text)
  return address === undefined ? text : TronAddress.toBase58(address)
}

/** An address in hexadecimal, from either form; `undefined` where it is none. */
export const toHex = (text: string): string | undefined => TronAddress.fromText(text)

/** Whether text is an address in hexadecimal. */
export const is = (text: string): boolean => TronAddress.fromText(text) === text

/** An address as a caller asked to see it. */
export const shown = (hex: string, visible: boolean): string => (visible ? toBase58(hex) : hex)
