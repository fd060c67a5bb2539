/**
 * The accounts of a local chain: the same keys in every run, each from the hash of its name. Never use these keys on a real
 * chain: they are public.
 */
import { createHash } from "node:crypto"

import { ed25519 } from "@noble/curves/ed25519.js"
import type { Address } from "@ton/core"
import { WalletContractV4, WalletContractV5R1 } from "@ton/ton"

import * as TonNetwork from "../primitives/TonNetwork.ts"

/** An account with its key and its wallet contract, which may not be deployed yet. */
export interface TestAccount<Wallet = WalletContractV5R1> {
  readonly wallet: Wallet
  readonly address: Address
  /** The address on the wire: `0:<64 hex>`. */
  readonly raw: string
  readonly publicKey: Buffer
  /** The seed, 32 bytes: a program's setting. */
  readonly seed: Buffer
  /** The seed and the public key: the form of `@ton/ton`. */
  readonly secretKey: Buffer
}

/** The accounts. */
export interface TestAccounts {
  /** Owns the jettons' masters, may mint and lock; has TON. */
  readonly deployer: TestAccount
  /** Facilitators' wallets; have TON. */
  readonly relayers: readonly [TestAccount, TestAccount, TestAccount, TestAccount]
  /** Has TON, no jettons and no part in a payment. */
  readonly stranger: TestAccount
  /** Sells; has nothing, and its wallet is not deployed. */
  readonly payee: TestAccount
  /** Buy; have jettons, no TON, and a deployed W5. */
  readonly payers: readonly [TestAccount, ...Array<TestAccount>]
  /** Buy; have jettons, no TON, and a W5 that is not deployed yet. */
  readonly newcomers: readonly [TestAccount, ...Array<TestAccount>]
  /** Buy; have jettons, TON, and a deployed wallet of version 4 (R2). */
  readonly veterans: readonly [TestAccount<WalletContractV4>, ...Array<TestAccount<WalletContractV4>>]
}

/** Number of accounts of each kind. */
export interface AccountCounts {
  readonly payers: number
  readonly newcomers: number
  readonly veterans: number
}

const named = <Wallet extends { readonly address: Address }>(
  name: string,
  toWallet: (publicKey: Buffer) => Wallet
): TestAccount<Wallet> => {
  const seed = createHash("sha256").update(`pontage local chain: ${name}`).digest()
  const publicKey = Buffer.from(ed25519.getPublicKey(seed))
  const wallet = toWallet(publicKey)
  const { address } = wallet
  return { wallet, address, raw: address.toRawString(), publicKey, seed, secretKey: Buffer.concat([seed, publicKey]) }
}

/** The account of a name with a W5 wallet of the local chain. */
export const ofName = (name: string): TestAccount =>
  named(name, (publicKey) =>
    WalletContractV5R1.create({
      publicKey,
      walletId: {
        networkGlobalId: TonNetwork.globalId(TonNetwork.local),
        context: { walletVersion: "v5r1", workchain: 0, subwalletNumber: 0 }
      }
    })
  )

/** The account of a name with a wallet of version 4 (R2). */
export const veteranOfName = (name: string): TestAccount<WalletContractV4> =>
  named(name, (publicKey) => WalletContractV4.create({ workchain: 0, publicKey }))

const several = <A>(count: number, make: (index: number) => A): [A, ...Array<A>] => [
  make(0),
  ...Array.from({ length: Math.max(0, count - 1) }, (_, index) => make(index + 1))
]

/** Derives the accounts; pure, the same in every process. */
export const make = ({ newcomers, payers, veterans }: AccountCounts): TestAccounts => ({
  deployer: ofName("deployer"),
  relayers: [ofName("relayer 0"), ofName("relayer 1"), ofName("relayer 2"), ofName("relayer 3")],
  stranger: ofName("stranger"),
  payee: ofName("payee"),
  payers: several(payers, (index) => ofName(`payer ${index}`)),
  newcomers: several(newcomers, (index) => ofName(`newcomer ${index}`)),
  veterans: several(veterans, (index) => veteranOfName(`veteran ${index}`))
})
