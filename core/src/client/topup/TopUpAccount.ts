/**
 * The account of top-ups: it has to be the one that pays. Else the balance of one account decides whether another one can pay, and the
 * money arrives where no purchase takes it from.
 */
import * as Result from "effect/Result"

import { Misconfigured } from "../../protocol/ProtocolError.ts"
import type { SchemeClient } from "../../scheme/SchemeClient.ts"
import type { TopUpSource } from "../../scheme/TopUpSource.ts"

/** The reason, for people, why top-ups of this source bring nothing to a scheme client; `undefined` without one. */
export const objection = (
  { account, networks, schemeClient: own }: TopUpSource,
  { account: payer, network, scheme }: SchemeClient
): string | undefined => {
  const isPaidSo = scheme.name === own.scheme.name && scheme.family === own.scheme.family
  const isReached = network === undefined || networks.includes(network)
  if (!isPaidSo || !isReached || payer === undefined || payer === account) return undefined
  return `it brings money to ${account}, and the scheme ${scheme.name} on ${network ?? `every network of ${scheme.family}`} pays from ${payer}; give both the same signer`
}

/** Fails if a scheme client pays from another account than the one that is topped up. */
export const check = (
  topUps: { readonly objection: (schemeClient: SchemeClient) => string | undefined } | undefined,
  schemeClients: ReadonlyArray<SchemeClient>
): Result.Result<void, Misconfigured> => {
  const [reason] = schemeClients.flatMap((schemeClient) => topUps?.objection(schemeClient) ?? [])
  return reason === undefined
    ? Result.succeed(undefined)
    : Result.fail(new Misconfigured({ message: `topUp: ${reason}` }))
}
