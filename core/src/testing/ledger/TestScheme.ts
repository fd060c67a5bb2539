/**
 * `exact` on a ledger in memory (`TestLedger`): the smallest scheme that keeps all the laws, with its client, server
 * and facilitator. It is the example to read before writing a scheme, and the chain for tests that need faults no real
 * node produces on demand.
 */
import * as Effect from "effect/Effect"

import { Entropy, identifier } from "../../platform/Entropy.ts"
import type { SchemeClient, SigningRequest } from "../../scheme/SchemeClient.ts"
import type { SchemeServer } from "../../scheme/SchemeServer.ts"
import { inspect, read } from "./LedgerFacilitator.ts"
import { asked, asset, boundNonce, network, scheme, signatureOf } from "./LedgerScheme.ts"
import * as TestBridge from "./TestBridge.ts"
import type { TestLedger } from "./TestLedger.ts"

export { type FacilitatorOptions, make as facilitator } from "./LedgerFacilitator.ts"
export { asset, network, scheme } from "./LedgerScheme.ts"

/** The scheme client, for the account of this name. */
export const client = (payer: string): SchemeClient => ({
  scheme,
  network,
  asset: (requirements) =>
    requirements.asset !== undefined && scheme.address(requirements.asset) === asset.address ? asset : undefined,
  sign: (request) => sign(payer, request)
})

const sign = Effect.fnUntraced(function* (payer: string, request: SigningRequest) {
  const { binding, requirements, validAfter, validBefore } = request
  const nonce = yield* binding === undefined ? Effect.map(Entropy, identifier) : boundNonce(binding)
  const terms = {
    payer,
    payTo: scheme.address(requirements.payTo) ?? requirements.payTo,
    asset: request.asset.address,
    amount: requirements.maxAmountRequired,
    nonce,
    validAfter,
    validBefore,
    ...(binding && { binding: { ...binding } })
  }
  return { payer, nonce, payload: { ...terms, signature: yield* signatureOf(terms) } }
})

/** The scheme server. */
export const server = (ledger: TestLedger): SchemeServer => ({
  scheme,
  network,
  asset: (_, wanted) =>
    wanted === undefined || wanted === asset.symbol || scheme.address(wanted) === asset.address ? asset : undefined,
  assetNames: () => [asset.symbol],
  onward: TestBridge.offers,
  read,
  inspect,
  prove: () => asked(ledger, () => undefined)
})
