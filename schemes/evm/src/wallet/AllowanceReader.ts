/**
 * Two numbers of a token, read from a node for a payer: how much Permit2 may move, and the count of its approvals by signature.
 * It is small, because it is part of payers' bundles.
 */
import { SigningFailed } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as Permit2 from "../transfer/Permit2.ts"
import * as NodeReading from "./NodeReading.ts"

/** Reads a token's numbers for one owner. */
export interface AllowanceReader {
  /** The amount that Permit2 may move of the owner's tokens. */
  readonly allowance: (token: EvmAddress.Address, owner: EvmAddress.Address) => Effect.Effect<bigint, SigningFailed>
  /** The nonce of the owner's next approval by signature (EIP-2612). */
  readonly approvals: (token: EvmAddress.Address, owner: EvmAddress.Address) => Effect.Effect<bigint, SigningFailed>
}

/** Makes a reader that asks the node at a URL. */
export const make = (rpcUrl: string): AllowanceReader => {
  const read = (to: EvmAddress.Address, data: EvmHex.Hex, what: string) =>
    Effect.tryPromise({
      try: () => NodeReading.word(rpcUrl, to, data),
      catch: (cause) => new SigningFailed({ message: `the node of rpcUrl did not say ${what} of ${to}`, cause })
    })
  return {
    allowance: (token, owner) =>
      read(
        token,
        `0xdd62ed3e${AbiEncoding.address(owner)}${AbiEncoding.address(Permit2.address)}`,
        "the allowance of Permit2 in the token"
      ),
    approvals: (token, owner) =>
      read(
        token,
        `0x7ecebe00${AbiEncoding.address(owner)}`,
        "the nonce of approvals by signature (EIP-2612) in the token"
      )
  }
}
