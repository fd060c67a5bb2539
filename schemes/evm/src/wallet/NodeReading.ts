/** Single questions to a node, for payers: small, because it is part of their bundles. */
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"

/** Milliseconds until a request has failed. */
const timeout = 10_000

const ask = async (rpcUrl: string, method: string, params: ReadonlyArray<unknown>): Promise<unknown> => {
  const response = await fetch(rpcUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    redirect: "error",
    signal: AbortSignal.timeout(timeout)
  })
  const json: unknown = await response.json()
  return typeof json === "object" && json !== null && "result" in json ? json.result : undefined
}

/** The number that a call returns. */
export const word = async (rpcUrl: string, to: EvmAddress.Address, data: EvmHex.Hex): Promise<bigint> => {
  const result = await ask(rpcUrl, "eth_call", [{ to, data }, "latest"])
  if (!EvmHex.isBytes32(result)) throw new Error("the response has no number")
  return BigInt(result)
}

/** The code of an account; `0x` without code. */
export const code = async (rpcUrl: string, address: EvmAddress.Address): Promise<EvmHex.Hex> => {
  const result = await ask(rpcUrl, "eth_getCode", [address, "latest"])
  if (!EvmHex.isHex(result)) throw new Error("the response has no code")
  return result
}
