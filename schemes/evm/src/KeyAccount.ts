/**
 * Payers whose private key lies in this process: nobody is shown what they sign, so they are given the digest that this
 * package lays out by hand, a tenth of the work of hashing typed data for a general library. The signature is the same.
 */
import * as Eip3009 from "./Eip3009.ts"
import * as EvmHex from "./EvmHex.ts"
import type { EvmSigner } from "./EvmSigner.ts"

/** A viem account made from a private key or a mnemonic, by what it says of itself. */
interface KeyAccount extends EvmSigner {
  readonly sign: (parameters: { readonly hash: EvmHex.Hex }) => Promise<string>
}

/**
 * Local is not enough: an account of `toAccount` says so too, and may stand for a device or a service that shows its owner
 * what is signed.
 */
const isKeyAccount = (signer: EvmSigner): signer is KeyAccount =>
  "type" in signer &&
  signer.type === "local" &&
  "source" in signer &&
  (signer.source === "privateKey" || signer.source === "hd") &&
  "sign" in signer &&
  typeof signer.sign === "function"

/**
 * The signer that a payer signs with: one that signs digests where the given one is an account with its key at hand, else
 * the given one, which sees the typed data.
 *
 * @category constructors
 */
export const signerOf = (signer: EvmSigner): EvmSigner =>
  isKeyAccount(signer)
    ? {
        address: signer.address,
        signTypedData: ({ domain, message }) => signer.sign({ hash: EvmHex.fromBytes(Eip3009.digest(domain, message)) })
      }
    : signer
