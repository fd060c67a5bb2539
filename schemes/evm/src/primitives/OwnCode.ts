/** Contracts of ours, told by their code: the same check for the facilitator, which connects to them, and for payers. */
import * as EvmAddress from "./EvmAddress.ts"
import type * as EvmHex from "./EvmHex.ts"

/** A contract of ours, and the function that deploys it; both names are for messages. */
export interface OwnContract {
  readonly name: string
  readonly deployedBy: string
  readonly artifact: { readonly bytecode: EvmHex.Hex; readonly runtime: EvmHex.Hex }
}

/** The reason why the code at an address is not a contract's, byte for byte; `undefined` where it is. */
export const objection = (
  code: EvmHex.Hex,
  { artifact, deployedBy, name }: OwnContract,
  address: EvmAddress.Address,
  network: string
): string | undefined => {
  if (code === artifact.runtime) return undefined
  return `the code at ${EvmAddress.checksum(address)} on ${network} is ${code === "0x" ? "missing" : `not that of the ${name}`}; deploy it with ${deployedBy}`
}
