/**
 * Checks a signed request against the payer's wallet as the chain has it now: a known wallet, a signature by its key, and the
 * wallet's current number.
 */
import { type PaymentError, refuse, invalid, type ValidationError } from "@pontage/core"
import * as Result from "effect/Result"

import type * as Ed25519 from "../crypto/Ed25519.ts"
import type * as TonRpc from "../node/TonRpc.ts"
import * as TonNetwork from "../primitives/TonNetwork.ts"
import * as TonWallet from "../wallet/TonWallet.ts"
import type { TonAuthorization } from "./TonAuthorization.ts"

/** Seconds by which the end of a validity must be ahead of the chain's clock. */
const marginSeconds = 6

/** The part of the facilitator's context that the check uses. */
export interface Context {
  readonly ed25519: Ed25519.Shape
  readonly network: string
  /** Whether wallets with extensions may pay. */
  readonly extendedPayers: boolean
}

/** A payer whose signature is good, and its wallet's number. */
export interface TonPayer {
  readonly isDeployed: boolean
  /** The request's number minus the wallet's: negative when the request's number is used, positive when it is in the future. */
  readonly ahead: number
}

const badSignature = (detail: string, message: string) => Result.fail(refuse("INVALID_SIGNATURE", detail, message))

/** Checks a request against the payer's account. */
export const check = (
  { ed25519, extendedPayers, network }: Context,
  authorization: TonAuthorization,
  account: TonRpc.Account
): Result.Result<TonPayer, PaymentError | ValidationError> =>
  Result.gen(function* () {
    const { request } = authorization
    yield* sameNetwork(network, authorization)
    const wallet = yield* walletOf(authorization, account)
    if (wallet.version !== request.version)
      return yield* badSignature("other_wallet", `the payer's wallet is a ${wallet.version}, not a ${request.version}`)
    if (!wallet.isSignatureAllowed)
      return yield* badSignature("signature_not_allowed", "the payer's wallet takes no signatures")
    if (wallet.hasExtensions && !extendedPayers) {
      const message = "the payer's wallet has extensions, which could move the money away; such wallets are refused"
      return yield* Result.fail(invalid("unsupported_authorization", "extensions", message))
    }
    if (wallet.walletId !== request.walletId)
      return yield* badSignature("other_wallet_id", `the payer's wallet id is ${wallet.walletId}`)
    if (!ed25519.verify(wallet.publicKey, request.signedHash, request.signature))
      return yield* badSignature("not_signed", `the signature is not by the key of ${authorization.payer}`)
    if (request.validUntil <= account.head.time + marginSeconds)
      return yield* Result.fail(refuse("EXPIRED_PAYMENT", "expired", "the request has expired by the chain's clock"))
    return { isDeployed: account.state === "active", ahead: request.seqno - wallet.seqno }
  })

/** Whether a wallet has used a request's number: then it has carried the request out, or never will. */
export const isUsed = ({ request }: TonAuthorization, { code, data }: TonRpc.Account): boolean => {
  const wallet = code && data && TonWallet.read(code, data)
  return wallet !== undefined && wallet.seqno > request.seqno
}

/** Refuses a wallet id that is the default one of another network. */
const sameNetwork = (network: string, { request: { version, walletId } }: TonAuthorization) => {
  const usual = version === "w5" ? TonNetwork.ofUsualWallet(walletId) : undefined
  return usual === undefined || usual === network
    ? Result.void
    : Result.fail(refuse("NETWORK_MISMATCH", "other_wallet_network", `the request is signed for a wallet on ${usual}`))
}

/** The payer's wallet, or the one that the request's own state init deploys. */
const walletOf = (
  { init, payer }: TonAuthorization,
  { code, data, state }: TonRpc.Account
): Result.Result<TonWallet.TonWallet, PaymentError | ValidationError> => {
  if (state === "frozen") return badSignature("frozen", `the account ${payer} is frozen`)
  if (code !== undefined && data !== undefined) {
    const wallet = TonWallet.read(code, data)
    return wallet === undefined
      ? badSignature("unknown_wallet", `${payer} is not a known wallet`)
      : Result.succeed(wallet)
  }
  const wallet = init && TonWallet.fromInit(init, payer)
  if (init === undefined || wallet === undefined)
    return badSignature("no_wallet", `${payer} is not deployed, and the request has no state init`)
  return TonWallet.isNew(init, wallet)
    ? Result.succeed(wallet)
    : badSignature("used_wallet", "the state init is not exactly that of a new wallet of the payer's key")
}
