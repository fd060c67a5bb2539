/** The call data of simple functions: words of 32 bytes for numbers, booleans and addresses. */
import { keccak_256 } from "@noble/hashes/sha3.js"

import * as TronAddress from "../../primitives/TronAddress.ts"
import * as TronHex from "../../primitives/TronHex.ts"

/** A parameter: a number, a boolean, or an address in any form. */
export type Parameter = bigint | boolean | string

const word = (parameter: Parameter): string => {
  if (typeof parameter === "string") return (TronAddress.fromText(parameter) ?? "").slice(2).padStart(64, "0")
  return TronHex.toWord(BigInt(parameter))
}

/** Encodes the call of a function, such as `mint(address,uint256)`, in hexadecimal. */
export const encode = (signature: string, parameters: ReadonlyArray<Parameter>): string => {
  const selector = keccak_256(new TextEncoder().encode(signature)).subarray(0, 4)
  return `${TronHex.fromBytes(selector)}${parameters.map(word).join("")}`
}
