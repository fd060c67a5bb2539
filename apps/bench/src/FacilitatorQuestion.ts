/**
 * A signed payment as a server puts it to a facilitator: in our words, and in those of x402 version 2.
 */
import * as Effect from "effect/Effect"

import * as BenchPayment from "./BenchPayment.ts"
import type * as PeerChain from "./PeerChain.ts"

/** In whose words. */
export type Words = "ours" | "x402"

/** The bodies for a number of distinct payments, of payers in turn. */
export const make = (chain: PeerChain.PeerChain, words: Words, count: number): Promise<ReadonlyArray<string>> =>
  Effect.runPromise(
    Effect.forEach(Array.from({ length: count }), (_, index) =>
      Effect.map(BenchPayment.sign(chain, index), (payment) =>
        JSON.stringify(words === "ours" ? { protocolVersion: 2, ...payment } : inPeersWords(chain, payment))
      )
    )
  )

type BenchPayment = Effect.Success<ReturnType<typeof BenchPayment.sign>>

const inPeersWords = (
  { token }: PeerChain.PeerChain,
  { paymentPayload, paymentRequirements }: BenchPayment
): Readonly<Record<string, unknown>> => {
  const { asset, maxAmountRequired, network, payTo, resource, scheme } = paymentRequirements
  const { authorization, signature } = JSON.parse(Buffer.from(paymentPayload.payload, "base64").toString())
  const accepted = {
    scheme,
    network,
    amount: maxAmountRequired,
    asset,
    payTo,
    maxTimeoutSeconds: 300,
    extra: { name: token.name, version: token.version }
  }
  return {
    x402Version: 2,
    paymentPayload: { x402Version: 2, payload: { authorization, signature }, resource: { url: resource }, accepted },
    paymentRequirements: accepted
  }
}
