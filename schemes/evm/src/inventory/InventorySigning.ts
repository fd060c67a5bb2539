/**
 * Signing of payments that an operator delivers from its inventory. The payer pays the operator, and trusts it to pay the shop: so only
 * accounts that the payer has named are paid.
 */
import {
  type Asset,
  type PaymentRequirements,
  SigningFailed,
  type SignedPayment,
  type SigningRequest
} from "@pontage/core"
import { Entropy } from "@pontage/core/Entropy"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as ExactEvm from "../payment/ExactEvm.ts"
import * as InventoryTerms from "../payment/InventoryTerms.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as InventoryRoute from "../route/InventoryRoute.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import { type EvmSigner, signatureOf } from "../wallet/EvmSigner.ts"

/** The operators' accounts that a payer pays. */
export type TrustedAccounts = ReadonlySet<EvmAddress.Address>

interface ReadOffer {
  readonly terms: InventoryTerms.InventoryTerms
  readonly account: EvmAddress.Address
}

/** The offer's terms and the operator's account, or the reason why this payer does not sign it. */
export const termsOf = (
  trusted: TrustedAccounts,
  { extra = {}, maxAmountRequired, payTo }: PaymentRequirements.PaymentRequirements,
  { network: from }: Asset
): Result.Result<ReadOffer, string> => {
  const terms = InventoryTerms.read(extra["inventory"])
  if (typeof terms === "string") return Result.fail(`the ${terms} of its inventory is not usable`)
  const { amount, fee, network } = terms
  const account = EvmAddress.fromText(payTo)
  if (account === undefined || !trusted.has(account)) {
    return Result.fail(
      `it is paid to ${payTo}, whose operator then pays the shop on ${network} from its own money; if you trust that operator, give the account to exactEvm.routes as one of inventories`
    )
  }
  const far = InventoryTerms.networkOf(terms)
  if (far === undefined || far === from) return Result.fail(`its network "${network}" is no other network`)
  return `${amount + fee}` === maxAmountRequired
    ? Result.succeed({ terms, account })
    : Result.fail(`its route takes ${amount} and a fee of ${fee}, and the offer asks ${maxAmountRequired}`)
}

/** Signs the authorization of the operator's account whose nonce is the route. */
export const sign = Effect.fnUntraced(function* (
  signer: EvmSigner,
  trusted: TrustedAccounts,
  from: EvmAddress.Address,
  { asset, binding, requirements, validAfter, validBefore }: SigningRequest
): Effect.fn.Return<SignedPayment, SigningFailed> {
  const { account, terms } = yield* Effect.fromResult(
    Result.mapError(termsOf(trusted, requirements, asset), (reason) => new SigningFailed({ message: reason }))
  )
  if (terms.quotedUntil * 1000 <= (yield* Clock.currentTimeMillis)) {
    const message = `the offer's quote of the inventory's fee ended at ${terms.quotedUntil}; request the resource again`
    return yield* new SigningFailed({ message })
  }
  const { bytes } = yield* Entropy
  const { amount, fee } = terms
  const route: InventoryRoute.InventoryRoute = {
    network: InventoryTerms.networkOf(terms) ?? terms.network,
    asset: terms.asset,
    recipient: terms.payTo,
    amount,
    fee,
    tag: yield* binding ? ExactEvm.boundNonce(binding) : Effect.succeed(ExactEvm.nonceFrom(bytes(24)))
  }
  const domain = EvmAsset.domain(asset)
  const { chainId, verifyingContract: token } = domain
  const nonce = InventoryRoute.nonceOf({ chainId, token, account }, route)
  const authorization: Eip3009.TransferWithAuthorization = {
    from,
    to: account,
    value: amount + fee,
    validAfter: BigInt(validAfter),
    validBefore: BigInt(validBefore),
    nonce
  }
  const signature = yield* signatureOf(signer, Eip3009.typedData(domain, authorization))
  return {
    payer: EvmAddress.checksum(from),
    nonce,
    payload: {
      signature,
      authorization: Eip3009.onWire(authorization),
      inventory: { ...route, amount: `${amount}`, fee: `${fee}` },
      ...(binding && { binding: { ...binding } })
    }
  }
})
