/** Single questions to a node, for payers: small, because it is part of their bundles. */
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"

/** Milliseconds until a request has failed. */
const timeout = 10_000

/** A question to a node, as the clients of viem take it too. */
export type NodeCall =
  | { readonly method: "eth_chainId" }
  | { readonly method: "eth_getCode"; readonly params: [address: EvmHex.Hex, block: "latest"] }
  | { readonly method: "eth_getTransactionCount"; readonly params: [address: EvmHex.Hex, block: "latest"] }

/** Asks a node. */
export type NodeRequest = (call: NodeCall) => Promise<unknown>

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

/** The node at a URL. */
export const at =
  (rpcUrl: string): NodeRequest =>
  (call) =>
    ask(rpcUrl, call.method, "params" in call ? call.params : [])

/** The number that a call returns. */
export const word = async (rpcUrl: string, to: EvmAddress.Address, data: EvmHex.Hex): Promise<bigint> => {
  const result = await ask(rpcUrl, "eth_call", [{ to, data }, "latest"])
  if (!EvmHex.isBytes32(result)) throw new Error("the response has no number")
  return BigInt(result)
}

/** The code of an account; `0x` without code. */
export const code = async (request: NodeRequest, address: EvmAddress.Address): Promise<EvmHex.Hex> => {
  const result = await request({ method: "eth_getCode", params: [address, "latest"] })
  if (!EvmHex.isHex(result)) throw new Error("the response has no code")
  return EvmHex.toLowerCase(result)
}

/** The number of a node's chain. */
export const chainId = async (request: NodeRequest): Promise<number> => count(await request({ method: "eth_chainId" }))

/** The count of an account's transactions. */
export const transactionCount = async (request: NodeRequest, address: EvmHex.Hex): Promise<number> =>
  count(await request({ method: "eth_getTransactionCount", params: [address, "latest"] }))

/** A small number of a response. */
const count = (result: unknown): number => {
  if (typeof result !== "string" || !/^0x[0-9a-f]{1,13}$/i.test(result)) throw new Error("the response has no number")
  return Number(result)
}
