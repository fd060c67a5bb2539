/**
 * A scheme is data: its name, its chain family, and the written form of that family's networks and addresses. Each role adds its part
 * (`SchemeClient`, `SchemeServer`, `SchemeFacilitator`); the roles never import each other, so a payer's bundle holds no facilitator
 * code.
 */
import type { Network } from "../protocol/Network.ts"

/** The definition that the three roles of a scheme share. */
export interface Scheme {
  /** The name on the wire: `exact`. */
  readonly name: string
  /** The chain family: the CAIP-2 namespace, `eip155`. */
  readonly family: string
  /** A network of this family, aliases included, in its canonical form; `undefined` for any other text. */
  readonly network: (text: string) => Network | undefined
  /** An address of this family in its canonical wire form; `undefined` for any other text. */
  readonly address: (text: string) => string | undefined
  /**
   * The reason why no payment may go to a recipient: the end of a sentence whose subject is its text. For accounts that have no
   * owner, and for texts that are nearly an address. `undefined`, or absent, without such a reason.
   */
  readonly recipientFault?: (text: string) => string | undefined
}

/**
 * Whether two texts are the same address of the scheme's family, in any written form. Equal texts are not parsed: parsing an address
 * may need a digest.
 */
export const isSameAddress = ({ address }: Pick<Scheme, "address">, one: string, other: string): boolean => {
  if (one === other) return true
  const canonical = address(one)
  return canonical !== undefined && canonical === address(other)
}
