/** Payments by routes over CCTP between two chains whose connections can be cut, and offers by the facilitator's own quotes. */
import { CutLine } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"

import * as CctpChains from "../../src/bridge/CctpChains.ts"
import * as LocalAttester from "../../src/bridge/LocalAttester.ts"
import * as RoutedSchemes from "../../src/bridge/RoutedSchemes.ts"
import * as RoutedPayments from "./RoutedPayments.ts"

/** Starts both chains and the attester, which attests nothing by itself. */
export const make = Effect.gen(function* () {
  const chains = yield* CctpChains.make
  const { attester: issuer, first, second } = chains
  const attester = yield* LocalAttester.make(first, issuer)
  attester.terms.attests = false
  const near = yield* CutLine.make(first.rpcUrl)
  const far = yield* CutLine.make(second.rpcUrl)
  const schemes = RoutedSchemes.between(chains, {
    bridges: CctpChains.bridgesOf(chains),
    attesterUrl: attester.url,
    urls: { near: near.url, far: far.url },
    finalityDepth: RoutedPayments.finalityDepth,
    pushAfterSeconds: 0
  })
  const facilitator = yield* schemes.facilitator
  const option = { asset: first.token.address, payTo: first.accounts.payee.address }
  return {
    ...chains,
    ...schemes,
    attester,
    near,
    far,
    facilitator,
    /** The facilitator as it starts now, which keeps nothing from before. */
    restarted: schemes.facilitator,
    deliveries: yield* schemes.deliveries,
    offer: RoutedPayments.offerOf(schemes.server, facilitator, option, second.network),
    received: second.balanceOf(first.accounts.payee.address, second.token.address)
  }
})

export type CctpPayments = Effect.Success<typeof make>
