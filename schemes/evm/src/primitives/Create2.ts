/**
 * Addresses of contracts that the well-known deployer (0x4e59b44847b379578588920cA78FbF26c0B4956C, CREATE2) makes: the same bytes
 * have the same address on every chain.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"

import * as EvmAddress from "./EvmAddress.ts"
import * as EvmHex from "./EvmHex.ts"

/** The deployer. */
export const deployer = /* @__PURE__ */ EvmAddress.fromTail("0x4e59b44847b379578588920ca78fbf26c0b4956c")

/** The salt of all our contracts, a word. */
export const salt = /* @__PURE__ */ EvmHex.toWord(0)

/** The address of the contract that this bytecode makes. */
export const addressOf = (bytecode: EvmHex.Hex): EvmAddress.Address => {
  const hash = EvmHex.fromBytes(keccak_256(EvmHex.toBytes(bytecode)))
  const preimage: EvmHex.Hex = `0xff${deployer.slice(2)}${salt}${hash.slice(2)}`
  return EvmAddress.fromTail(EvmHex.fromBytes(keccak_256(EvmHex.toBytes(preimage))))
}
