/**
 * A paying fetch with a wallet that knows no chain and counts its signatures, on a clock that does not wait.
 */
import { Network, type Asset, type SchemeClient, type SigningRequest } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import { make as makeFetch, type FetchFunction, type PayingFetch, type PayingFetchOptions } from "../src/index.ts"
import * as LeapClock from "./LeapClock.ts"
import * as PaidShop from "./PaidShop.ts"

export const dollars: Asset = {
  network: PaidShop.network,
  address: PaidShop.asset,
  symbol: "USDC",
  decimals: 6,
  dollar: true,
  extra: {}
}

const addressOf = (text: string) => (/^0x[0-9a-f]{40}$/i.test(text) ? text.toLowerCase() : undefined)

export interface TestPayer {
  readonly fetch: PayingFetch
  readonly signed: ReadonlyArray<SigningRequest>
}

export interface TestPayerOptions extends Partial<PayingFetchOptions> {
  readonly base?: FetchFunction
  /** An effect of the wallet before it signs. */
  readonly before?: () => Promise<void>
  /** Default: one that does not wait. */
  readonly clock?: Clock.Clock
}

/** A signing scheme, and the requests that it received. */
export const wallet = (before?: () => Promise<void>) => {
  const signed: Array<SigningRequest> = []
  const schemeClient: SchemeClient = {
    scheme: {
      name: "exact",
      family: "eip155",
      network: (text) => (Network.isNetwork(text) ? text : undefined),
      address: addressOf
    },
    network: PaidShop.network,
    asset: ({ asset = "" }) => (addressOf(asset) === dollars.address ? dollars : undefined),
    sign: (request) =>
      Effect.promise(async () => {
        signed.push(request)
        await before?.()
        const nonce = signed.length.toString(16).padStart(64, "0")
        return { payer: PaidShop.receipt.payer, nonce, payload: { nonce } }
      })
  }
  return { schemeClient, signed }
}

export const make = (given: TestPayerOptions = {}): TestPayer => {
  const { base = globalThis.fetch, before, clock = LeapClock.make(), ...options } = given
  const { schemeClient, signed } = wallet(before)
  const fetch = Effect.runSync(
    makeFetch(base, { schemes: [schemeClient], ...options }).pipe(Effect.provideService(Clock.Clock, clock))
  )
  return { fetch, signed }
}

/** The reason of a rejected promise. */
export const rejection = async (promise: Promise<unknown>): Promise<Error & Readonly<Record<string, unknown>>> => {
  const outcome = await promise.then(
    () => undefined,
    (error: unknown) => error
  )
  if (!(outcome instanceof Error)) throw new Error("expected a rejection with an error")
  return outcome as Error & Readonly<Record<string, unknown>>
}
