/**
 * The token's call that settles a payment; anybody who has seen the payment can send it.
 */
import { DollarToken } from "@pontage/evm/testing"
import { encodeFunctionData, type Hex, parseSignature } from "viem"

import type { Signed } from "./HostileWallet.ts"

export const of = ({ authorization, signature }: Signed): Hex => {
  const { from, nonce, to, validAfter, validBefore, value } = authorization
  const { r, s, yParity } = parseSignature(signature)
  const numbers = [BigInt(value), BigInt(validAfter), BigInt(validBefore)] as const
  return encodeFunctionData({
    abi: DollarToken.abi,
    functionName: "transferWithAuthorization",
    args: [from, `0x${to.slice(2)}`, ...numbers, nonce, 27 + yParity, r, s]
  })
}
