/**
 * Payments that are signed for real, by the payers of a test chain.
 */
import {
  type Claim,
  Network,
  PaymentPayload,
  type PaymentRequest,
  type PaymentRequirements,
  type SchemeClient
} from "@pontage/core"
import { EvmNetwork, exactEvm } from "@pontage/evm"
import type { EvmTestChain } from "@pontage/evm/testing"
import { exactTon } from "@pontage/ton"
import type { TonTestChain } from "@pontage/ton/testing"
import { exactTron } from "@pontage/tron"
import type { TronTestChain } from "@pontage/tron/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export const amount = 10_000n

/** A payment of one cent by the payer with this number. */
export const sign = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, payer: number) {
  const signer = chain.accounts.payers[payer]
  if (signer === undefined) return yield* Effect.die(`there is no payer ${payer}`)
  return yield* signBy(exactEvm.client({ signer, network: chain.network }), {
    ...offer,
    network: EvmNetwork.fromChainId(chain.chainId),
    payTo: chain.accounts.payee.address,
    asset: chain.token.address
  })
})

/** The same on TON; `extra` is what the facilitator demands of an offer. */
export const signOnTon = Effect.fnUntraced(function* (chain: TonTestChain.Shape, payer: number, extra: object = {}) {
  const { accounts, jetton, network, rpcUrl } = chain
  const signer = accounts.payers[payer]
  if (signer === undefined) return yield* Effect.die(`there is no payer ${payer}`)
  return yield* signBy(exactTon.client({ signer, network, rpcUrl }), {
    ...offer,
    network: Network.make(network),
    payTo: accounts.payee.raw,
    asset: jetton.raw,
    extra: { ...extra }
  })
})

/** The same on TRON. */
export const signOnTron = Effect.fnUntraced(function* (chain: TronTestChain.Shape, payer: number) {
  const { accounts, network, rpcUrl, token } = chain
  const { privateKey } = accounts.payers[payer] ?? accounts.stranger
  return yield* signBy(exactTron.client({ signer: exactTron.localSigner(privateKey), network, rpcUrl }), {
    ...offer,
    network: Network.make(network),
    payTo: accounts.payee.address,
    asset: token.address
  })
})

const offer = { scheme: "exact", maxAmountRequired: `${amount}`, resource: "https://shop.example/report" }

const signBy = Effect.fnUntraced(function* (
  schemeClient: SchemeClient,
  requirements: PaymentRequirements.PaymentRequirements
) {
  const asset = schemeClient.asset(requirements)
  if (asset === undefined) return yield* Effect.die("the chain's token is not known")
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const signed = yield* schemeClient.sign({
    requirements,
    asset,
    validAfter: 0,
    validBefore: now + 60,
    binding: undefined
  })
  const paymentPayload = PaymentPayload.sealPayload("exact", requirements.network, signed.payload)
  return { paymentPayload, paymentRequirements: requirements } satisfies PaymentRequest
})

/** A claim of its own for each number. */
export const claim = (number: number): Claim => ({
  id: `claim${number}`.padEnd(22, "x"),
  resource: "resource".padEnd(43, "x")
})
