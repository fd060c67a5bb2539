/**
 * The people of a test chain: the same keys in every run, from a sentence everybody can read here. Never use them on a
 * chain that matters.
 */
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

/** Who takes part. */
export interface TestAccounts {
  /** Owns the token and may mint; has coin. */
  readonly deployer: TestAccount
  /** Facilitators, who may lend energy; have much coin. */
  readonly signers: readonly [TestAccount, TestAccount, TestAccount, TestAccount]
  /** Somebody who has coin and no part in a payment. */
  readonly stranger: TestAccount
  /** Sells; has nothing and is not activated. */
  readonly payee: TestAccount
  /** Buy; have tokens, and coin for fees. At least one. */
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

/** Derives the accounts; pure, the same for everybody. `payers` of them buy. */
export const make = (payers: number): TestAccounts => ({
  deployer: named("deployer"),
  signers: [named("signer 0"), named("signer 1"), named("signer 2"), named("signer 3")],
  stranger: named("stranger"),
  payee: named("payee"),
  payers: [named("payer 0"), ...Array.from({ length: payers - 1 }, (_, index) => named(`payer ${index + 1}`))]
})
