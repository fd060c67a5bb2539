/**
 * Test dollars of the local EVM chain (`npm start`, `pontage devnet`): its node holds the key of the token's minter. Only a node of
 * this machine that says it is this chain is asked.
 */
import { isLoopback } from "@pontage/core"

import { CommandFailed } from "../CommandFailed.ts"

/** The chain's id (EIP-155), in the form that nodes write. */
const chainId = "0x7a69"
/** The minter: the first account of every local node. */
const minter = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
/** The token, at the same address in every run. */
const token = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
/** The selector of `mint(address,uint256)`. */
const mintSelector = "0x40c10f19"

const timeoutMillis = 10_000

const word = (value: bigint): string => value.toString(16).padStart(64, "0")

const failed = (message: string) => new CommandFailed({ exit: "unreachable", message })

const request = async (node: string, method: string, params: ReadonlyArray<unknown>): Promise<string> => {
  const response = await fetch(node, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    redirect: "error",
    signal: AbortSignal.timeout(timeoutMillis)
  }).catch(() => {
    throw failed(`the local chain does not respond at ${node}: start it by "npm start" or "npm run devnet"`)
  })
  const json: unknown = await response.json().catch(() => undefined)
  const result: unknown = Object(json).result
  if (typeof result !== "string") throw failed(`the local chain at ${node} refused ${method}`)
  return result
}

/** Gives an address this many of the smallest units, and returns the transaction. */
export const mint = async (node: string, address: string, amount: bigint): Promise<string> => {
  if (!URL.canParse(node) || !isLoopback(new URL(node).hostname)) {
    throw failed(`${node} is not on this machine; test networks have faucets of their own`)
  }
  const found = await request(node, "eth_chainId", [])
  if (found !== chainId) throw failed(`the node at ${node} is no local chain (eip155:31337)`)
  const data = `${mintSelector}${word(BigInt(address))}${word(amount)}`
  return request(node, "eth_sendTransaction", [{ from: minter, to: token, data, gas: "0x186a0" }])
}
