/**
 * How a shop of the Machine Payments Protocol settles by itself: a viem client that sends the authorization to the token and
 * waits for its receipt. A used authorization is refused, which the package leaves to the shop.
 */
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { Errors } from "mppx"
import { type Hex, parseAbi } from "viem"

import * as ViemSettler from "../facilitators/ViemSettler.ts"
import type { FacilitatorOptions } from "../RoleOptions.ts"

const abi = parseAbi([
  "function authorizationState(address authorizer, bytes32 nonce) view returns (bool)",
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)"
])

/** The package passes texts on; this is viem's type for them. */
const hex = (text: string): Hex => `0x${text.replace(/^0x/, "")}`

/** The authorization as the package passes it on. */
export interface Authorization {
  readonly from: string
  readonly to: string
  readonly value: string
  readonly validAfter: string
  readonly validBefore: string
  readonly nonce: string
  readonly signature: string
}

/** Settles authorizations by this account. */
export const make = (options: FacilitatorOptions) => {
  const viem = ViemSettler.client(options)
  return async ({ payload }: { readonly payload: Authorization }): Promise<{ readonly reference: string }> => {
    const { from, nonce, signature, to, validAfter, validBefore, value } = payload
    const token = { address: BaseSepolia.token, abi } as const
    const args = [hex(from), hex(nonce)] as const
    if (await viem.readContract({ ...token, functionName: "authorizationState", args })) {
      throw new Errors.VerificationFailedError({ reason: "the authorization was used already" })
    }
    const hash = await viem.writeContract({
      ...token,
      functionName: "transferWithAuthorization",
      args: [hex(from), hex(to), BigInt(value), BigInt(validAfter), BigInt(validBefore), hex(nonce), hex(signature)]
    })
    const { status } = await viem.waitForTransactionReceipt({ hash })
    if (status !== "success") throw new Error(`the transaction ${hash} has failed`)
    return { reference: hash }
  }
}
