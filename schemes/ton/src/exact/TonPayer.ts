/**
 * The payer's wallet as the chain has it now, held against what was signed: is it a wallet we know, did its key sign, and is
 * it this request's turn?
 */
import { type PaymentError, refuse, invalid, type ValidationError } from "@pontage/core"
import * as Result from "effect/Result"

import type * as TonRpc from "../node/TonRpc.ts"
import type { TonAuthorization } from "../payment/TonAuthorization.ts"
import * as TonNetwork from "../primitives/TonNetwork.ts"
import * as TonWallet from "../wallet/TonWallet.ts"
import type { ExactTonChain } from "./ExactTonChain.ts"

/** Seconds by which the end of a validity has to lie ahead of the chain's clock. */
const marginSeconds = 6

/** A payer that has signed, and the turn it is at. */
export interface TonPayer {
  readonly isDeployed: boolean
  /** Negative when the request's number is used, positive when it is not its turn yet. */
  readonly ahead: number
}

type Refusal = PaymentError | ValidationError

const badSignature = (detail: string, message: string) => Result.fail(refuse("INVALID_SIGNATURE", detail, message))

/** Judges a request by the payer's account. */
export const judge = (
  { ed25519, extendedPayers, network }: Pick<ExactTonChain, "ed25519" | "extendedPayers" | "network">,
  authorization: TonAuthorization,
  account: TonRpc.Account
): Result.Result<TonPayer, Refusal> =>
  Result.gen(function* () {
    const { request } = authorization
    yield* sameNetwork(network, authorization)
    const wallet = yield* walletOf(authorization, account)
    if (wallet.version !== request.version)
      return yield* badSignature("other_wallet", `the payer's wallet is a ${wallet.version}, not a ${request.version}`)
    if (!wallet.isSignatureAllowed)
      return yield* badSignature("signature_not_allowed", "the payer's wallet takes no signatures")
    if (wallet.hasExtensions && !extendedPayers) {
      const message = "the payer's wallet has extensions, which could move the money away; such wallets are not taken"
      return yield* Result.fail(invalid("unsupported_authorization", "extensions", message))
    }
    if (wallet.walletId !== request.walletId)
      return yield* badSignature("other_wallet_id", `the payer's wallet id is ${wallet.walletId}`)
    if (!ed25519.verify(wallet.publicKey, request.signedHash, request.signature))
      return yield* badSignature("not_signed", `the signature is not by the key of ${authorization.payer}`)
    if (request.validUntil <= account.head.time + marginSeconds)
      return yield* Result.fail(refuse("EXPIRED_PAYMENT", "expired", "the request is over by the chain's clock"))
    return { isDeployed: account.state === "active", ahead: request.seqno - wallet.seqno }
  })

/** Whether a wallet has used the number of a request: then the request was carried out already, or never will be. */
export const isUsed = ({ request }: TonAuthorization, { code, data }: TonRpc.Account): boolean => {
  const wallet = code && data && TonWallet.read(code, data)
  return wallet !== undefined && wallet.seqno > request.seqno
}

/** An id that is the usual one of another network was made for it. */
const sameNetwork = (network: string, { request: { version, walletId } }: TonAuthorization) => {
  const usual = version === "w5" ? TonNetwork.ofUsualWallet(walletId) : undefined
  return usual === undefined || usual === network
    ? Result.void
    : Result.fail(refuse("NETWORK_MISMATCH", "other_wallet_network", `the request is signed for a wallet on ${usual}`))
}

/** A wallet that is not deployed yet comes with what deploys it. */
const walletOf = (
  { init, payer }: TonAuthorization,
  { code, data, state }: TonRpc.Account
): Result.Result<TonWallet.TonWallet, Refusal> => {
  if (state === "frozen") return badSignature("frozen", `the account ${payer} is frozen`)
  if (code !== undefined && data !== undefined) {
    const wallet = TonWallet.read(code, data)
    return wallet === undefined
      ? badSignature("unknown_wallet", `${payer} is no wallet that is known`)
      : Result.succeed(wallet)
  }
  const wallet = init && TonWallet.fromInit(init, payer)
  if (init === undefined || wallet === undefined)
    return badSignature("no_wallet", `${payer} is not deployed, and nothing deploys it`)
  return TonWallet.isNew(init, wallet)
    ? Result.succeed(wallet)
    : badSignature("used_wallet", "the state init is not exactly that of a new wallet of the payer's key")
}
