/**
 * Who signs for an account: a wallet that is shown the transaction and signs its bytes as they are. `fromTronWeb` and
 * `fromTip1193` wrap what wallets in a browser offer; `exactTron.localSigner` a key at hand.
 */
import { Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as TronSignature from "../crypto/TronSignature.ts"
import type * as TronTransaction from "../transfer/TronTransaction.ts"

/** A transaction as a wallet returns it. Other fields are not read. */
export interface Signed {
  readonly raw_data_hex: string
  readonly signature: ReadonlyArray<string>
}

/**
 * Signs transactions of one account. What it returns is checked: another transaction than the one it was given is none.
 */
export interface TronSigner {
  readonly address: string
  readonly signTransaction: (transaction: TronTransaction.Unsigned) => Promise<Signed>
}

/** What is used of tronweb, and of the object that TronLink puts into pages. */
export interface TronWebLike {
  readonly defaultAddress: { readonly base58: string | false }
  readonly trx: { sign(transaction: unknown): Promise<unknown> }
}

/** What is used of a wallet in a page (TIP-1193): TronLink's is `window.tron`. */
export interface Tip1193Provider {
  readonly request: (call: { readonly method: "eth_requestAccounts" }) => Promise<unknown>
  readonly tronWeb: TronWebLike | false
}

const signed = Schema.decodeUnknownPromise(
  Schema.Struct({ raw_data_hex: Schema.String, signature: Schema.Array(Schema.String) })
)

/** Why there is no signature: the wallet refused or failed, or signed something else. */
export interface NotSigned {
  readonly message: string
  readonly cause?: unknown
}

/**
 * Has a transaction signed, and checks what comes back: the same bytes, and one signature of 65 bytes. Returns it in its one
 * form.
 */
export const sign = Effect.fnUntraced(function* (
  signer: TronSigner,
  unsigned: TronTransaction.Unsigned
): Effect.fn.Return<string, NotSigned> {
  const { address } = signer
  const answer = yield* Effect.tryPromise({
    try: async () => signed(await signer.signTransaction(unsigned)),
    catch: (cause): NotSigned => ({ message: `the wallet of ${address} did not sign`, cause })
  })
  if (answer.raw_data_hex.toLowerCase() !== unsigned.raw_data_hex) {
    return yield* not(`the wallet of ${address} signed another transaction than the one it was given`)
  }
  const [first, ...others] = answer.signature
  const signature = first === undefined || others.length > 0 ? undefined : TronSignature.fromText(first)
  return signature ?? (yield* not(`the wallet of ${address} answered something that is not one signature of 65 bytes`))
})

const not = (message: string): Effect.Effect<never, NotSigned> => Effect.fail({ message })

const wrong = (what: string) => new Misconfigured({ message: `TronSigner: ${what}` })

/**
 * An account of tronweb, or of a wallet that offers its shape. It is shown the transaction in its JSON form. Throws
 * `Misconfigured` when no account is chosen in it.
 */
export const fromTronWeb = (tronWeb: TronWebLike): TronSigner => {
  const address = tronWeb.defaultAddress.base58
  if (address === false || address === "") throw wrong("the wallet shows no account; unlock it and connect")
  return {
    address,
    // A copy: wallets write the signature into what they are given.
    signTransaction: async (transaction) => signed(await tronWeb.trx.sign(structuredClone(transaction)))
  }
}

/**
 * The account of a wallet in a page, after its owner has agreed: `await TronSigner.fromTip1193(window.tron)`. Rejects with
 * what the wallet says when the owner does not.
 */
export const fromTip1193 = async (provider: Tip1193Provider): Promise<TronSigner> => {
  await provider.request({ method: "eth_requestAccounts" })
  if (provider.tronWeb === false) throw wrong("the wallet stays locked; unlock it and connect")
  return fromTronWeb(provider.tronWeb)
}
