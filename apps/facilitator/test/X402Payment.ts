/**
 * Payments of x402 on a local EVM chain, signed as its published clients sign them, and asked for as its servers ask.
 */
import { Network } from "@pontage/core"
import type { EvmTestChain } from "@pontage/evm/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { keccak256, toHex } from "viem"

/** A chain that version 1 has a name for. */
export const chainId = 84_532
export const network = Network.make(`eip155:${chainId}`)
export const name = "base-sepolia"
export const amount = 10_000n

const types = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" }
  ]
} as const

/** The scheme's payload. Every text gives another nonce; the peers' nonces are of 256 random bits. */
const sign = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, payer: number, unique: string) {
  const signer = chain.accounts.payers[payer]
  if (signer === undefined) return yield* Effect.die(`there is no payer ${payer}`)
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const authorization = {
    from: signer.address,
    to: chain.accounts.payee.address,
    value: `${amount}`,
    validAfter: `${now - 600}`,
    validBefore: `${now + 60}`,
    nonce: keccak256(toHex(unique))
  }
  const { name, version, address } = chain.token
  const signature = yield* Effect.promise(() =>
    signer.signTypedData({
      domain: { name, version, chainId: chain.chainId, verifyingContract: address },
      types,
      primaryType: "TransferWithAuthorization",
      message: {
        ...authorization,
        value: amount,
        validAfter: BigInt(authorization.validAfter),
        validBefore: BigInt(authorization.validBefore)
      }
    })
  )
  return { signature, authorization }
})

const termsOf = ({ accounts, token }: EvmTestChain.Shape) => ({
  payTo: accounts.payee.address,
  maxTimeoutSeconds: 60,
  asset: token.address,
  extra: { name: token.name, version: token.version }
})

/** The requests of servers of both versions for one signed payment. */
export const bodies = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, payer: number, unique: string) {
  const payload = yield* sign(chain, payer, unique)
  const resource = "https://shop.example/weather"
  const offerV1 = {
    scheme: "exact",
    network: name,
    maxAmountRequired: `${amount}`,
    resource,
    description: "",
    mimeType: "",
    ...termsOf(chain)
  }
  const offerV2 = { scheme: "exact", network, amount: `${amount}`, ...termsOf(chain) }
  return {
    1: {
      x402Version: 1,
      paymentPayload: { x402Version: 1, scheme: "exact", network: name, payload },
      paymentRequirements: offerV1
    },
    2: {
      x402Version: 2,
      paymentPayload: { x402Version: 2, payload, resource: { url: resource }, accepted: offerV2 },
      paymentRequirements: offerV2
    }
  }
})
