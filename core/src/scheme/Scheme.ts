/**
 * A scheme is data: its name, the chain family it serves, and how that family's networks and addresses are written. Each
 * role adds a half to it (`SchemeClient`, `SchemeServer`, `SchemeFacilitator`); the halves never import each other, so a
 * payer's bundle holds no facilitator code.
 */
import type { Network } from "../protocol/Network.ts"

/** The definition that the three halves of a scheme share. */
export interface Scheme {
  /** The word on the wire: `exact`. */
  readonly name: string
  /** The chain family: the CAIP-2 namespace, `eip155`. */
  readonly family: string
  /** A network of this family, aliases included, in its canonical form; `undefined` when it is none. */
  readonly network: (text: string) => Network | undefined
  /** An address of this family in its canonical wire form; `undefined` when it is none. */
  readonly address: (text: string) => string | undefined
}

/**
 * Whether two texts are one address of the scheme's family, however each is written. Equal texts are not looked into: to read an
 * address may take a digest.
 */
export const isSameAddress = ({ address }: Pick<Scheme, "address">, one: string, other: string): boolean => {
  if (one === other) return true
  const canonical = address(one)
  return canonical !== undefined && canonical === address(other)
}
