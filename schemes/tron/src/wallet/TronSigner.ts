/**
 * Signers of an account's transactions: a wallet receives the transaction and signs its bytes unchanged. `fromTronWeb` and
 * `fromTip1193` wrap the objects of browser wallets, `exactTron.localSigner` a private key.
 */
import { Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"

import * as TronSignature from "../crypto/TronSignature.ts"
import type * as TronTransaction from "../transfer/TronTransaction.ts"

/** A transaction as a wallet returns it; other fields are ignored. */
export interface Signed {
  readonly raw_data_hex: string
  readonly signature: ReadonlyArray<string>
}

/** Signs transactions of one account. Its result is checked: it must hold the same transaction. */
export interface TronSigner {
  readonly address: string
  readonly signTransaction: (transaction: TronTransaction.Unsigned) => Promise<Signed>
}

/** The used part of tronweb, and of the object that TronLink puts into pages. */
export interface TronWebLike {
  readonly defaultAddress: { readonly base58: string | false }
  readonly trx: { sign(transaction: unknown): Promise<unknown> }
}

/** The used part of a wallet in a page (TIP-1193), such as TronLink's `window.tron`. */
export interface Tip1193Provider {
  readonly request: (call: { readonly method: "eth_requestAccounts" }) => Promise<unknown>
  readonly tronWeb: TronWebLike | false
}

const isText = (value: unknown): value is string => typeof value === "string"

/** Reads a wallet's result, which is any value of its program. */
const signed = (value: unknown): Signed => {
  if (Predicate.hasProperty(value, "raw_data_hex") && Predicate.hasProperty(value, "signature")) {
    const { raw_data_hex, signature } = value
    if (isText(raw_data_hex) && Array.isArray(signature) && signature.every(isText)) return { raw_data_hex, signature }
  }
  throw new TypeError("expected a signed transaction, with raw_data_hex and a list of signatures, from the wallet")
}

/** A failure to sign: the wallet refused or failed, or signed something else. */
export interface SigningFailure {
  readonly message: string
  readonly cause?: unknown
}

/** Has a transaction signed and checks the result: the same bytes, and one signature of 65 bytes, returned in its canonical form. */
export const sign = Effect.fnUntraced(function* (
  signer: TronSigner,
  unsigned: TronTransaction.Unsigned
): Effect.fn.Return<string, SigningFailure> {
  const { address } = signer
  const result = yield* Effect.tryPromise({
    try: async () => signed(await signer.signTransaction(unsigned)),
    catch: (cause): SigningFailure => ({ message: `the wallet of ${address} did not sign`, cause })
  })
  if (result.raw_data_hex.toLowerCase() !== unsigned.raw_data_hex) {
    return yield* failed(`the wallet of ${address} signed another transaction than the given one`)
  }
  const [first, ...others] = result.signature
  const signature = first === undefined || others.length > 0 ? undefined : TronSignature.fromText(first)
  return signature ?? (yield* failed(`the wallet of ${address} did not return one signature of 65 bytes`))
})

const failed = (message: string): Effect.Effect<never, SigningFailure> => Effect.fail({ message })

const wrong = (reason: string) => new Misconfigured({ message: `TronSigner: ${reason}` })

/**
 * Wraps an account of tronweb, or of a wallet with its interface. The wallet receives the transaction in its JSON form. Throws
 * `Misconfigured` if no account is selected.
 */
export const fromTronWeb = (tronWeb: TronWebLike): TronSigner => {
  const address = tronWeb.defaultAddress.base58
  if (address === false || address === "") throw wrong("the wallet has no selected account; unlock it and connect")
  return {
    address,
    // A copy, because wallets write the signature into their argument.
    signTransaction: async (transaction) => signed(await tronWeb.trx.sign(structuredClone(transaction)))
  }
}

/**
 * Wraps the account of a wallet in a page, after its owner has agreed: `await TronSigner.fromTip1193(window.tron)`. Rejects with the
 * wallet's error if the owner does not agree.
 */
export const fromTip1193 = async (provider: Tip1193Provider): Promise<TronSigner> => {
  await provider.request({ method: "eth_requestAccounts" })
  if (provider.tronWeb === false) throw wrong("the wallet is locked; unlock it and connect")
  return fromTronWeb(provider.tronWeb)
}
