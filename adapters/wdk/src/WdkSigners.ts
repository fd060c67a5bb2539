/**
 * Accounts of the WDK as the signers of the schemes. None of them copies a key: after `dispose()` nothing signs.
 */
import { Misconfigured, SigningFailed } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import { type EvmSigner, SafeAccount, safeAccount, smartAccount } from "@pontage/evm/client"
import { Ed25519 } from "@pontage/ton"
import type { TonSigner } from "@pontage/ton/client"
import type { TronSigner } from "@pontage/tron/client"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"

import {
  type EvmAccount,
  hasOwnersKey,
  isEvmAccount,
  isTonAccount,
  isTronAccount,
  type SafeWalletAccount,
  type TonAccount,
  type TronAccount
} from "./WdkAccount.ts"

const evmCheck = OptionCheck.given<EvmAccount>(
  "an account of @tetherto/wdk-wallet-evm, with getAddress and signTypedData",
  isEvmAccount
)

const tonCheck = OptionCheck.given<TonAccount>(
  "an account of @tetherto/wdk-wallet-ton, with getAddress and keyPair",
  isTonAccount
)

const tronCheck = OptionCheck.given<TronAccount>(
  "an account of @tetherto/wdk-wallet-tron, with getAddress and signTransaction",
  isTronAccount
)

/**
 * The signer of an EVM account, for `exactEvm.client`. The WDK's policies for `signTypedData` decide on each payment. Rejects with
 * `Misconfigured` for another object, and for an account of ERC-4337, which {@link safeSigner} takes.
 */
export const evmSigner = async (account: EvmAccount): Promise<EvmSigner.EvmSigner> => {
  Result.getOrThrow(OptionCheck.read(evmCheck, account, "evmSigner"))
  const address = await account.getAddress()
  if (await isSafe(account)) {
    const message = `evmSigner: the account ${address} is not that of its key; take safeSigner(account, { rpcUrl }) for an account of wdk-wallet-evm-erc-4337`
    throw new Misconfigured({ message })
  }
  return {
    address,
    // Without the primary type: the WDK finds it from the types.
    signTypedData: ({ domain, message, types }) => account.signTypedData({ domain, message, types })
  }
}

/** Whether an account is at another address than that of its key: it belongs to the key. */
export const isSafe = async (account: EvmAccount): Promise<boolean> => {
  const owner = hasOwnersKey(account) ? ownerOf(account) : undefined
  return owner !== undefined && owner !== (await account.getAddress()).toLowerCase()
}

const ownerOf = ({ keyPair }: SafeWalletAccount) => SafeAccount.addressOfKey(keyPair.publicKey)

/** The salt of every Safe of `wdk-wallet-evm-erc-4337`. */
const saltNonce = 0x69b348339eea4ed93f9d11931c3b894c8f9d8c7663a053024b11cb7eb4e5a1f6n

/** Options of {@link safeSigner}. */
export interface SafeSignerOptions {
  /** A node of the network, which is asked whether the Safe is deployed, until it is. */
  readonly rpcUrl: string
}

const safeCheck = OptionCheck.given<EvmAccount>(
  "an account of @tetherto/wdk-wallet-evm-erc-4337, with getAddress, signTypedData and keyPair",
  (value) => isEvmAccount(value) && hasOwnersKey(value)
)

/**
 * The signer of an account of `wdk-wallet-evm-erc-4337` for `exactEvm.client`: a Safe of the WDK's own, deployed or not, which needs no
 * bundler and no paymaster here. The WDK's policies for `signTypedData` decide on each payment. Rejects with `Misconfigured` for another
 * object, and for an account at another address than its key's Safe.
 */
export const safeSigner = async (account: EvmAccount, { rpcUrl }: SafeSignerOptions): Promise<EvmSigner.EvmSigner> => {
  Result.getOrThrow(OptionCheck.read(safeCheck, account, "safeSigner"))
  const address = await account.getAddress()
  const owner = {
    address: (hasOwnersKey(account) && ownerOf(account)) || "",
    signTypedData: ({ domain, message, types }: SafeAccount.OwnersData) =>
      account.signTypedData({ domain, message, types })
  }
  const safe = safeAccount({ owner, rpcUrl, saltNonce })
  if (safe.address.toLowerCase() !== address.toLowerCase()) {
    const message = `safeSigner: expected the Safe 1.4.1 ${safe.address} of the account's key, with the modules 0.3.0, got ${address}`
    throw new Misconfigured({ message })
  }
  return smartAccount(safe)
}

/**
 * The signer of a TRON account, for `exactTron.client`. The transaction is made here, so the WDK asks no node for one. The WDK's
 * policies for `signTransaction` decide on each payment. Rejects with `Misconfigured` for another object.
 */
export const tronSigner = async (account: TronAccount): Promise<TronSigner.TronSigner> => {
  Result.getOrThrow(OptionCheck.read(tronCheck, account, "tronSigner"))
  return {
    address: await account.getAddress(),
    // A copy, because the WDK writes the signature into its argument.
    signTransaction: async (transaction) => signed(await account.signTransaction(structuredClone(transaction)))
  }
}

const signed = (result: unknown): TronSigner.Signed => {
  if (
    Predicate.hasProperty(result, "raw_data_hex") &&
    Predicate.hasProperty(result, "signature") &&
    typeof result.raw_data_hex === "string" &&
    Array.isArray(result.signature)
  ) {
    return { raw_data_hex: result.raw_data_hex, signature: result.signature }
  }
  throw new SigningFailed({ message: "the WDK account returned no signed transaction with raw_data_hex and signature" })
}

/**
 * The signer of a TON account, for `exactTon.client`. A WDK account signs nothing that it does not send itself, so its key signs, which
 * the WDK's policies do not see: `wdkBuyer` and `underPolicies` ask them. Throws `Misconfigured` for another object.
 */
export const tonSigner = (account: TonAccount): TonSigner.TonHashSigner => {
  Result.getOrThrow(OptionCheck.read(tonCheck, account, "tonSigner"))
  const { publicKey } = account.keyPair
  if (!(publicKey instanceof Uint8Array) || publicKey.length !== 32) {
    throw new Misconfigured({ message: "tonSigner: expected a public key of 32 bytes in the account's keyPair" })
  }
  return { publicKey: Uint8Array.from(publicKey), sign: (hash) => Effect.runPromise(signHash(account, hash)) }
}

/** Reads the key anew for each signature, and erases its copy. */
const signHash = Effect.fnUntraced(function* (account: TonAccount, hash: Uint8Array) {
  const { privateKey } = account.keyPair
  if (!(privateKey instanceof Uint8Array) || privateKey.length !== 64) {
    return yield* new SigningFailed({ message: "the WDK account has no key any more: it was disposed of" })
  }
  const { sign } = yield* Ed25519.Ed25519
  const seed = Uint8Array.from(privateKey.subarray(0, 32))
  return yield* Effect.ensuring(
    Effect.sync(() => sign(seed, hash)),
    Effect.sync(() => seed.fill(0))
  )
})
