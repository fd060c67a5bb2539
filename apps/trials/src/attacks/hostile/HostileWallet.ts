/**
 * A payer's key in hostile hands: signs whatever it likes (EIP-3009 over EIP-712) and lays it onto the wire as it likes. It
 * shares no code with the client under attack.
 */
import { createHash, randomBytes } from "node:crypto"

import { type Hex, toHex } from "viem"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"

/** An offer as x402 version 2 writes it. */
export interface Offer {
  readonly scheme: string
  readonly network: string
  readonly amount: string
  readonly asset: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly extra: Readonly<Record<string, unknown>>
}

/** A signed authorization, as both dialects carry it. */
export interface Signed {
  readonly signature: Hex
  readonly authorization: {
    readonly from: Hex
    readonly to: string
    readonly value: string
    readonly validAfter: string
    readonly validBefore: string
    readonly nonce: Hex
  }
  readonly binding?: { readonly challenge: string; readonly salt: string }
}

/** Request headers that pay. */
export type PayingHeaders = Readonly<Record<string, string>>

/** The wallet. */
export interface HostileWallet {
  readonly address: Hex
  readonly privateKey: Hex
  /** Signs for an offer; with a challenge the nonce is bound to it as an honest client binds it. */
  readonly sign: (offer: Offer, challenge?: string) => Promise<Signed>
}

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

const bytes24 = (challenge: string, salt: string): Hex => {
  const tag = createHash("sha256").update(challenge).update(Buffer.from(salt, "base64url")).digest()
  return toHex(Buffer.concat([tag.subarray(0, 24), Buffer.alloc(8)]))
}

const hexOf = (text: string): Hex => `0x${text.replace(/^0x/, "")}`

/** A wallet with this key, or with a new one. */
export const make = (privateKey: Hex = generatePrivateKey()): HostileWallet => {
  const account = privateKeyToAccount(privateKey)
  return {
    address: account.address,
    privateKey,
    sign: async (offer, challenge) => {
      const salt = randomBytes(16).toString("base64url")
      const nonce = challenge === undefined ? toHex(randomBytes(32)) : bytes24(challenge, salt)
      const validBefore = Math.floor(Date.now() / 1000) + Math.min(offer.maxTimeoutSeconds, 60)
      const signature = await account.signTypedData({
        domain: {
          name: String(offer.extra["name"]),
          version: String(offer.extra["version"]),
          chainId: Number(offer.network.split(":")[1]),
          verifyingContract: hexOf(offer.asset)
        },
        types,
        primaryType: "TransferWithAuthorization",
        message: {
          from: account.address,
          to: hexOf(offer.payTo),
          value: BigInt(offer.amount),
          validAfter: 0n,
          validBefore: BigInt(validBefore),
          nonce
        }
      })
      const authorization = {
        from: account.address,
        to: offer.payTo,
        value: offer.amount,
        validAfter: "0",
        validBefore: `${validBefore}`,
        nonce
      }
      return { signature, authorization, ...(challenge !== undefined && { binding: { challenge, salt } }) }
    }
  }
}

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64")

/**
 * The payment in x402 version 2, for an offer that may be another than the signed one, with the resource if it is given.
 */
export const inX402 = ({ authorization, signature }: Signed, accepted: Offer, resource?: unknown): PayingHeaders => ({
  "payment-signature": base64({ x402Version: 2, resource, accepted, payload: { signature, authorization } })
})

/** The envelope of our own dialect. */
export const envelope = (signed: Signed, { network, scheme }: Pick<Offer, "network" | "scheme">) => ({
  protocolVersion: 2,
  scheme,
  network,
  payload: base64(signed)
})

/** The payment in our own dialect. */
export const inOurs = (signed: Signed, offer: Pick<Offer, "network" | "scheme">): PayingHeaders => ({
  "x-payment": JSON.stringify(envelope(signed, offer))
})
