/**
 * A payer's scheme client without a chain, and what a shop offers for it. It counts its signatures.
 */
import * as Effect from "effect/Effect"

import type { Asset } from "../../src/protocol/Asset.ts"
import * as Network from "../../src/protocol/Network.ts"
import type { PaymentRequirements } from "../../src/protocol/PaymentRequirements.ts"
import type { SchemeClient, SigningFailed, SigningRequest } from "../../src/scheme/SchemeClient.ts"

export const network = Network.make("eip155:8453")
export const payTo = "0x1111111111111111111111111111111111111111"

export const dollars: Asset = {
  network,
  address: "0x2222222222222222222222222222222222222222",
  symbol: "USDC",
  decimals: 6,
  dollar: true,
  extra: { name: "USD Coin", version: "2" }
}

export const gold: Asset = {
  network,
  address: "0x3333333333333333333333333333333333333333",
  symbol: "GOLD",
  decimals: 18,
  dollar: false,
  extra: {}
}

export interface Wallet {
  readonly schemeClient: SchemeClient
  /** The signing requests, in order. */
  readonly signed: Array<SigningRequest>
}

export interface WalletOptions {
  readonly assets?: ReadonlyArray<Asset>
  readonly network?: Network.Network
  readonly family?: string
  /** The person's action before the wallet signs. */
  readonly before?: Effect.Effect<void, SigningFailed>
}

const addressOf = (text: string) => (/^0x[0-9a-f]{40}$/i.test(text) ? text.toLowerCase() : undefined)

export const make = (options: WalletOptions = {}): Wallet => {
  const signed: Array<SigningRequest> = []
  const { assets = [dollars, gold], before = Effect.void, family = "eip155" } = options
  const on = options.network ?? network
  return {
    signed,
    schemeClient: {
      scheme: {
        name: "exact",
        family,
        network: (text) => {
          if (text === "base") return Network.make("eip155:8453")
          return Network.isNetwork(text) && Network.namespace(text) === family ? Network.make(text) : undefined
        },
        address: addressOf
      },
      network: on,
      asset: ({ asset = dollars.address }) => assets.find(({ address }) => address === addressOf(asset)),
      sign: (request) =>
        Effect.gen(function* () {
          signed.push(request)
          yield* before
          const nonce = `0x${signed.length.toString(16).padStart(64, "0")}`
          const { asset, binding, requirements, validBefore } = request
          return {
            payer: "0x4444444444444444444444444444444444444444",
            nonce,
            payload: {
              nonce,
              validBefore,
              value: requirements.maxAmountRequired,
              asset: asset.address,
              ...(binding === undefined ? {} : { binding: { ...binding } })
            }
          }
        })
    }
  }
}

/** An option of an offer: one cent, where nothing else is said. */
export const offer = (changes: Partial<PaymentRequirements> = {}): PaymentRequirements => ({
  scheme: "exact",
  network,
  maxAmountRequired: "10000",
  resource: "https://shop.example/report",
  payTo,
  asset: dollars.address,
  ...changes
})
