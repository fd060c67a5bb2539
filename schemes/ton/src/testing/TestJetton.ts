/**
 * The jettons of a local chain, compiled from our own source: a plain one (TEP-74), and a governed one, whose issuer can
 * lock wallets as issuers of stablecoins do: their addresses and states, and the messages of their owner.
 */
import { Address, beginCell, Cell, contractAddress, type StateInit } from "@ton/core"

import { GovernedMinter } from "./artifacts/GovernedMinter.ts"
import { GovernedWallet } from "./artifacts/GovernedWallet.ts"
import { JettonMinter } from "./artifacts/JettonMinter.ts"
import { JettonWallet } from "./artifacts/JettonWallet.ts"

/** A jetton. */
export interface TestJetton {
  readonly kind: "plain" | "governed"
  readonly symbol: string
  readonly decimals: number
  /** The master: the asset of an offer. */
  readonly address: Address
  /** The master's address on the wire: `0:<64 hex>`. */
  readonly raw: string
  /** The jetton wallet of an owner. */
  readonly walletOf: (owner: Address) => Address
}

/** A jetton and the initial states of its contracts. */
export interface JettonDeployment {
  readonly jetton: TestJetton
  readonly minter: (supply: bigint) => Required<Pick<StateInit, "code" | "data">>
  readonly wallet: (owner: Address, balance: bigint) => Required<Pick<StateInit, "code" | "data">>
}

/**
 * Lock of a wallet: none (0), for sending (1), for receiving (2), for both (3).
 */
export type LockStatus = 0 | 1 | 2 | 3

/** A transfer that has arrived in a jetton wallet. */
export interface Credit {
  readonly queryId: bigint
  /** In atomic units. */
  readonly amount: bigint
  /** The sender, raw; `undefined` for a minted amount. */
  readonly from: string | undefined
  /** The hash of the jetton wallet's transaction, in hexadecimal. */
  readonly transaction: string
  readonly lt: bigint
  readonly block: number
}

const codes = {
  plain: { minter: JettonMinter, wallet: JettonWallet },
  governed: { minter: GovernedMinter, wallet: GovernedWallet }
} as const

const names = {
  plain: { symbol: "TUSD", decimals: 6 },
  governed: { symbol: "GUSD", decimals: 6 }
} as const

const operations = { internalTransfer: 0x178d4519, mint: 0x642b7d07, govern: 0x59a1c3b2 } as const

/** TON for the storage of the recipient's new wallet, in nanotons. */
const mintedNanoton = 30_000_000n

/** A jetton whose master this account owns. */
export const make = (kind: TestJetton["kind"], owner: Address): JettonDeployment => {
  const minterCode = Cell.fromBase64(codes[kind].minter.code)
  const walletCode = Cell.fromBase64(codes[kind].wallet.code)
  const minter = (supply: bigint) => {
    const data = beginCell().storeCoins(supply).storeAddress(owner).storeRef(walletCode).storeRef(Cell.EMPTY)
    return { code: minterCode, data: data.endCell() }
  }
  const address = contractAddress(0, minter(0n))
  const wallet = (holder: Address, balance: bigint) => {
    const data = beginCell()
    if (kind === "governed") data.storeUint(0, 4)
    data.storeCoins(balance).storeAddress(holder).storeAddress(address)
    return { code: walletCode, data: data.endCell() }
  }
  const walletOf = (holder: Address) => contractAddress(0, wallet(holder, 0n))
  return { jetton: { kind, ...names[kind], address, raw: address.toRawString(), walletOf }, minter, wallet }
}

/** The body by which the owner mints jettons. */
export const mintBody = (to: Address, amount: bigint): Cell =>
  beginCell()
    .storeUint(operations.mint, 32)
    .storeUint(0, 64)
    .storeAddress(to)
    .storeCoins(mintedNanoton)
    .storeCoins(amount)
    .endCell()

/** The body by which the owner locks and unlocks a wallet of the governed jetton. */
export const lockBody = (owner: Address, status: LockStatus): Cell =>
  beginCell().storeUint(operations.govern, 32).storeUint(0, 64).storeAddress(owner).storeUint(status, 4).endCell()

/** The credit in a message to a jetton wallet; `undefined` for every other message. */
export const arrived = (body: Cell): Pick<Credit, "amount" | "from" | "queryId"> | undefined => {
  const slice = body.beginParse()
  if (slice.remainingBits < 32 + 64 || slice.loadUint(32) !== operations.internalTransfer) return undefined
  const queryId = slice.loadUintBig(64)
  const amount = slice.loadCoins()
  const from = slice.loadMaybeAddress()
  return { queryId, amount, from: from instanceof Address ? from.toRawString() : undefined }
}
