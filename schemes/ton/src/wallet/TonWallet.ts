import * as Hex from "effect/encoding/Hex"
import * as Result from "effect/Result"

/**
 * Wallet contracts: the known codes, the fields of their data, and the address of a key's W5 wallet. A contract with other code
 * could keep the TON that is relayed to it and do nothing.
 */
import { beginCell, type Cell, cellFrom, contractAddress, loadBytes, type StateInit, storeBytes } from "#cells"

import { walletV5R1Code } from "../artifacts/WalletV5R1Code.ts"
import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonBoc from "../primitives/TonBoc.ts"
import type { WalletVersion } from "./WalletRequest.ts"

/** A wallet's data. */
export interface TonWallet {
  readonly version: WalletVersion
  readonly seqno: number
  readonly walletId: number
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** Whether its key may sign for it. */
  readonly isSignatureAllowed: boolean
  /** Whether other contracts may act for it. */
  readonly hasExtensions: boolean
}

const versions: Readonly<Record<string, WalletVersion>> = {
  "20834b7b72b112147e1b2fb457b84e74d1a30f04f737d4f62a668e9552d2b72f": "w5",
  feb5ff6820e2ff0d9483e7e0d62c817d846789fb4ae580c878866d959dabd5c0: "v4r2",
  "84dafa449f98a6987789ba232358072bc0f76dc4524002a5d0918b9a75d2d599": "v3r2"
}

/**
 * Reads a wallet from a contract's code and data. `undefined` when the code is not that of a known wallet, and when the data
 * holds more than a wallet's own fields: a relayer to such an account would pay for everything that it stores.
 */
export const read = (code: Cell, data: Cell): TonWallet | undefined => {
  const version = versions[TonBoc.hashOf(code)]
  return version && TonBoc.attempt(() => readData(version, data))
}

const readData = (version: WalletVersion, data: Cell): TonWallet | undefined => {
  const slice = data.beginParse()
  const isSignatureAllowed = version !== "w5" || slice.loadBit()
  const seqno = slice.loadUint(32)
  const walletId = slice.loadInt(32)
  const publicKey = loadBytes(slice, 32)
  const hasExtensions = version !== "v3r2" && slice.loadMaybeRef() !== null
  if (slice.remainingBits !== 0 || slice.remainingRefs !== 0) return undefined
  return { version, isSignatureAllowed, seqno, walletId, publicKey, hasExtensions }
}

/**
 * The wallet that a state init deploys at this address; `undefined` when it deploys another contract, or at another address.
 */
export const fromInit = (init: StateInit, address: TonAddress.Address): TonWallet | undefined => {
  const { code, data } = init
  if (!code || !data || init.splitDepth || init.special || (init.libraries && init.libraries.size > 0)) return undefined
  return TonAddress.fromCore(contractAddress(0, { code, data })) === address ? read(code, data) : undefined
}

/**
 * Whether a state init is exactly that of the new wallet of this key and id: the known code (by its hash) and the data of a
 * wallet without transactions.
 */
export const isNew = ({ data }: StateInit, { publicKey, version, walletId }: TonWallet): boolean =>
  data?.equals(newData(version, publicKey, walletId)) === true

/** The data of a wallet without transactions. */
const newData = (version: WalletVersion, publicKey: Uint8Array, walletId: number): Cell => {
  const builder = beginCell()
  if (version === "w5") builder.storeBit(1)
  storeBytes(builder.storeUint(0, 32).storeInt(walletId, 32), publicKey)
  if (version !== "v3r2") builder.storeBit(0)
  return builder.endCell()
}

let w5Code: Cell | undefined

/** The state init of a key's W5 wallet. */
export const w5Init = (publicKey: Uint8Array, walletId: number): StateInit => ({
  code: (w5Code ??= cellFrom(Result.getOrThrow(Hex.decode(walletV5R1Code)))),
  data: newData("w5", publicKey, walletId)
})

/** The address of a key's W5 wallet. */
export const w5Address = (publicKey: Uint8Array, walletId: number): TonAddress.Address => {
  const { code, data } = w5Init(publicKey, walletId)
  return TonAddress.fromHash(contractAddress(0, { code: code ?? null, data: data ?? null }).hash)
}
