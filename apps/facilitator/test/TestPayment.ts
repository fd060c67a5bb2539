/**
 * Payments that are signed for real, by the payers of a test chain.
 */
import { type Claim, PaymentPayload, type PaymentRequest } from "@pontage/core"
import { EvmNetwork, exactEvm } from "@pontage/evm"
import type { EvmTestChain } from "@pontage/evm/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export const amount = 10_000n

/** A payment of one cent by the payer with this number. */
export const sign = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, payer: number) {
  const signer = chain.accounts.payers[payer]
  if (signer === undefined) return yield* Effect.die(`there is no payer ${payer}`)
  const half = exactEvm.client({ signer, network: chain.network })
  const requirements = {
    scheme: "exact",
    network: EvmNetwork.fromChainId(chain.chainId),
    maxAmountRequired: `${amount}`,
    resource: "https://shop.example/report",
    payTo: chain.accounts.payee.address,
    asset: chain.token.address
  }
  const asset = half.asset(requirements)
  if (asset === undefined) return yield* Effect.die("the chain's token is not known")
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const signed = yield* half.sign({ requirements, asset, validAfter: 0, validBefore: now + 60, binding: undefined })
  const paymentPayload = PaymentPayload.sealPayload("exact", chain.network, signed.payload)
  return { paymentPayload, paymentRequirements: requirements } satisfies PaymentRequest
})

/** A claim of its own for each number. */
export const claim = (number: number): Claim => ({
  id: `claim${number}`.padEnd(22, "x"),
  resource: "resource".padEnd(43, "x")
})
