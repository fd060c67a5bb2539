/**
 * Signed payments to be verified and settled: each of a payer in turn, bound to a request.
 */
import { Binding, PaymentPayload } from "@pontage/core"
import { EvmNetwork, exactEvm } from "@pontage/evm"
import type { EvmTestChain } from "@pontage/evm/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** The payment of this number. */
export const sign = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, index: number) {
  const { accounts, network, token } = chain
  const signer = accounts.payers[index % accounts.payers.length] ?? accounts.payers[0]
  const schemeClient = exactEvm.client({ signer, network })
  const requirements = {
    scheme: "exact",
    network: EvmNetwork.fromChainId(chain.chainId),
    maxAmountRequired: "10000",
    resource: "https://shop.example/report",
    payTo: accounts.payee.address,
    asset: token.address
  }
  const asset = schemeClient.asset(requirements)
  if (asset === undefined) return yield* Effect.die(new Error("the local chain's token is not known"))
  const binding = yield* Binding.make("a-challenge-of-forty-three-characters-of-64")
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const signed = yield* schemeClient.sign({ requirements, asset, validAfter: 0, validBefore: now + 80, binding })
  return {
    paymentPayload: PaymentPayload.sealPayload("exact", network, signed.payload),
    paymentRequirements: requirements
  }
})
