/**
 * Two numbers of a token, read from a node for a payer: how much Permit2 may move, and the count of its approvals by signature.
 * It is small, because it is part of payers' bundles.
 */
import { SigningFailed } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as Permit2 from "../transfer/Permit2.ts"

/** Reads a token's numbers for one owner. */
export interface AllowanceReader {
  /** The amount that Permit2 may move of the owner's tokens. */
  readonly allowance: (token: EvmAddress.Address, owner: EvmAddress.Address) => Effect.Effect<bigint, SigningFailed>
  /** The nonce of the owner's next approval by signature (EIP-2612). */
  readonly approvals: (token: EvmAddress.Address, owner: EvmAddress.Address) => Effect.Effect<bigint, SigningFailed>
}

/** Milliseconds until a request has failed. */
const timeout = 10_000

/** Makes a reader that asks the node at a URL. */
export const make = (rpcUrl: string): AllowanceReader => {
  const read = (to: EvmAddress.Address, data: EvmHex.Hex, what: string) =>
    Effect.tryPromise({
      try: () => wordOf(rpcUrl, to, data),
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

const wordOf = async (rpcUrl: string, to: EvmAddress.Address, data: EvmHex.Hex): Promise<bigint> => {
  const response = await fetch(rpcUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_call", params: [{ to, data }, "latest"] }),
    redirect: "error",
    signal: AbortSignal.timeout(timeout)
  })
  const json: unknown = await response.json()
  const result = typeof json === "object" && json !== null && "result" in json ? json.result : undefined
  if (!EvmHex.isBytes32(result)) throw new Error("the response has no number")
  return BigInt(result)
}
