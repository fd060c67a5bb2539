/**
 * The accounts of a test chain: the same keys in every run, derived from the phrase of every local EVM node. The first ten
 * accounts hold the chain's coin from the start; payers come after them, so they own tokens and nothing to pay gas with.
 * Never use these keys on a chain that matters: they are public.
 */
import { pbkdf2Sync } from "node:crypto"

import { bytesToHex, type Hex } from "viem"
import { HDKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts"

/** The well-known phrase. */
export const mnemonic = "test test test test test test test test test test test junk"

/** A signer that fits viem, with its key for programs configured with a key. */
export type TestAccount = PrivateKeyAccount & { readonly privateKey: Hex }

/** The accounts. */
export interface TestAccounts {
  /** Owns the token and may mint; has coin. */
  readonly deployer: TestAccount
  /** Facilitators' signers; have coin. */
  readonly signers: readonly [TestAccount, TestAccount, TestAccount, TestAccount]
  /** Has coin and no part in a payment. */
  readonly stranger: TestAccount
  /** Sells; has nothing. */
  readonly payee: TestAccount
  /** Buy; have tokens and no coin. At least one. */
  readonly payers: readonly [TestAccount, ...Array<TestAccount>]
}

const firstPayer = 100

const derive = (parent: HDKey, index: number): TestAccount => {
  const { privateKey } = parent.deriveChild(index)
  if (privateKey === null) throw new Error(`No private key at index ${index}`)
  const hex = bytesToHex(privateKey)
  return { ...privateKeyToAccount(hex), privateKey: hex }
}

/** Derives the accounts; pure, the same in every run. `payers` is the number of payers. */
export const make = (payers: number): TestAccounts => {
  const seed = pbkdf2Sync(mnemonic, "mnemonic", 2048, 64, "sha512")
  const parent = HDKey.fromMasterSeed(seed).derive("m/44'/60'/0'/0")
  const account = (index: number) => derive(parent, index)
  return {
    deployer: account(0),
    signers: [account(1), account(2), account(3), account(4)],
    stranger: account(5),
    payee: account(50),
    payers: [account(firstPayer), ...Array.from({ length: payers - 1 }, (_, i) => account(firstPayer + 1 + i))]
  }
}
