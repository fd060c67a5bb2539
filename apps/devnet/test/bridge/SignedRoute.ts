/**
 * Routes that a payer signs by viem, for tests of the routers: independent of our own client.
 */
import type { EvmTestAccounts, EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import { type Address, encodeFunctionData, type Hex, isAddress, isHex, parseAbi } from "viem"

/** A route as the router takes it. */
export interface Route {
  readonly token: Address
  readonly bridge: Address
  readonly destination: number
  readonly recipient: Hex
  readonly amount: bigint
  readonly minimum: bigint
  readonly fee: bigint
  readonly feeRecipient: Address
  readonly options: Hex
  readonly tag: Hex
}

const routeTuple =
  "(address token, address bridge, uint32 destination, bytes32 recipient, uint256 amount, uint256 minimum, uint256 fee, address feeRecipient, bytes options, bytes32 tag) route"

/** The functions and events of both routers. */
export const routerAbi = parseAbi([
  `function nonceOf(${routeTuple}) view returns (bytes32)`,
  `function pay(address from, uint256 validAfter, uint256 validBefore, bytes signature, ${routeTuple}) payable`,
  "event Bridged(address indexed from, bytes32 indexed nonce, bytes32 indexed message, uint256 arriving)"
])

const types = {
  ReceiveWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" }
  ]
} as const

/** The address in a text that is one. */
export const addressed = (text: string): Address => {
  if (!isAddress(text)) throw new Error(`${text} is not an address`)
  return text
}

/** The Unix second until which every route of these tests may be submitted. */
const validBefore = 2n ** 40n

/** A signed route. */
export interface SignedRoute {
  readonly route: Route
  readonly signature: Hex
  readonly nonce: Hex
}

/** Signs and submits routes through a router on a chain; the payer is the chain's first. */
export const make = (chain: EvmTestChain.Shape, router: Address) => {
  const [payer] = chain.accounts.payers
  const [facilitator] = chain.accounts.signers
  const nonceOf = (route: Route) =>
    Effect.promise(() =>
      chain.client.readContract({ address: router, abi: routerAbi, functionName: "nonceOf", args: [route] })
    )
  const signed = Effect.fnUntraced(function* (
    route: Route,
    signer: EvmTestAccounts.TestAccount = payer
  ): Effect.fn.Return<SignedRoute> {
    const nonce = yield* nonceOf(route)
    const { address: verifyingContract, name, version } = chain.token
    const domain = { name, version, chainId: chain.chainId, verifyingContract }
    const value = route.amount + route.fee
    const message = { from: payer.address, to: router, value, validAfter: 0n, validBefore, nonce }
    const signature = yield* Effect.promise(() =>
      signer.signTypedData({ domain, types, primaryType: "ReceiveWithAuthorization", message })
    )
    return { route, signature, nonce }
  })
  const pay = ({ route, signature }: SignedRoute, value: bigint, from: Address = facilitator.address) => {
    const args = [payer.address, 0n, validBefore, signature, route] as const
    return chain.send({
      from,
      to: router,
      value,
      data: encodeFunctionData({ abi: routerAbi, functionName: "pay", args })
    })
  }
  return { signed, pay }
}

/** The signature that is not by the signer: one bit of its first word is another. */
export const forged = (signature: Hex): Hex => {
  const other: string = `${signature.slice(0, 20)}${signature[20] === "0" ? "1" : "0"}${signature.slice(21)}`
  if (!isHex(other)) throw new Error("a signature is hexadecimal")
  return other
}
