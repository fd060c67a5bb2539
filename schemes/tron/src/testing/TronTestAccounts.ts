/** The accounts of a test chain: the same keys in every run, derived from public text. Never use them on a real chain. */
import { secp256k1 } from "@noble/curves/secp256k1.js"
import { sha256 } from "@noble/hashes/sha2.js"

import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronHex from "../primitives/TronHex.ts"

/** An account with its key. */
export interface TestAccount {
  /** Base58check. */
  readonly address: string
  /** 64 hexadecimal digits. */
  readonly privateKey: string
}

/** The accounts by their roles. */
export interface TestAccounts {
  /** Owner of the token, who may mint; has TRX. */
  readonly deployer: TestAccount
  /** Facilitators' accounts, which may lend energy; have much TRX. */
  readonly signers: readonly [TestAccount, TestAccount, TestAccount, TestAccount]
  /** Account with TRX that takes no part in payments. */
  readonly stranger: TestAccount
  /** Seller's account; has nothing and is not activated. */
  readonly payee: TestAccount
  /** Buyers' accounts, at least one; have tokens, and TRX for fees. */
  readonly payers: readonly [TestAccount, ...Array<TestAccount>]
}

/** The account of a key. */
export const fromPrivateKey = (privateKey: string): TestAccount => ({
  address: TronAddress.toBase58(TronAddress.fromPublicKey(secp256k1.getPublicKey(TronHex.toBytes(privateKey), false))),
  privateKey
})

/** The account of a name. */
export const named = (name: string): TestAccount =>
  fromPrivateKey(TronHex.fromBytes(sha256(new TextEncoder().encode(`a key that everybody knows: ${name}`))))

/** Derives the accounts, always the same ones; `payers` is the number of buyers. */
export const make = (payers: number): TestAccounts => ({
  deployer: named("deployer"),
  signers: [named("signer 0"), named("signer 1"), named("signer 2"), named("signer 3")],
  stranger: named("stranger"),
  payee: named("payee"),
  payers: [named("payer 0"), ...Array.from({ length: payers - 1 }, (_, index) => named(`payer ${index + 1}`))]
})
