/**
 * The ledger as the interpreter's state: 20-byte addresses, an Ethereum account per address, and checkpoints. A TRON account is
 * created when it gets TRX or code, never by a call.
 */
import type { AccountFields, StateManagerInterface } from "@ethereumjs/common"
import { Account, type Address, bytesToUnprefixedHex } from "@ethereumjs/util"

import * as TronAccount from "../ledger/TronAccount.ts"
import type { TronLedger } from "../ledger/TronLedger.ts"

const keyOf = (address: Address) => `41${address.toString().slice(2)}`
const none = new Uint8Array()

/** The interpreter's state. `now`, in Unix milliseconds, is the creation time of accounts that calls create. */
export class TvmState implements StateManagerInterface {
  private readonly ledger: TronLedger
  private readonly marks: Array<number> = []
  private readonly originals = new Map<string, Uint8Array>()
  now = 0

  constructor(ledger: TronLedger) {
    this.ledger = ledger
  }

  originalStorageCache = {
    get: async (address: Address, key: Uint8Array): Promise<Uint8Array> => {
      const place = `${keyOf(address)} ${bytesToUnprefixedHex(key)}`
      const known = this.originals.get(place)
      if (known !== undefined) return known
      const value = await this.getStorage(address, key)
      this.originals.set(place, value)
      return value
    },
    clear: (): void => this.originals.clear()
  }

  async getAccount(address: Address): Promise<Account | undefined> {
    const key = keyOf(address)
    const account = this.ledger.accounts.get(key)
    const nonce = this.ledger.nonces.get(key)
    if (account === undefined && nonce === undefined) return undefined
    const code = this.ledger.codes.get(key)
    return new Account(nonce ?? 0n, account?.balance ?? 0n, undefined, code?.hash)
  }

  async putAccount(address: Address, account?: Account): Promise<void> {
    const key = keyOf(address)
    if (account === undefined) return this.deleteAccount(address)
    if (account.nonce !== (this.ledger.nonces.get(key) ?? 0n)) this.ledger.nonces.set(key, account.nonce)
    const known = this.ledger.accounts.get(key)
    if (account.balance === (known?.balance ?? 0n)) return
    this.ledger.accounts.set(key, {
      ...(known ?? TronAccount.make(key, this.now, false)),
      balance: account.balance
    })
  }

  async deleteAccount(address: Address): Promise<void> {
    const key = keyOf(address)
    this.ledger.accounts.delete(key)
    this.ledger.contracts.delete(key)
    this.ledger.codes.delete(key)
  }

  async modifyAccountFields(address: Address, { balance, nonce }: AccountFields): Promise<void> {
    const account = (await this.getAccount(address)) ?? new Account()
    if (balance !== undefined) account.balance = balance
    if (nonce !== undefined) account.nonce = nonce
    await this.putAccount(address, account)
  }

  async putCode(address: Address, value: Uint8Array): Promise<void> {
    const key = keyOf(address)
    if (this.ledger.accounts.get(key)?.isContract !== true) {
      this.ledger.accounts.set(key, { ...this.ledger.accountAt(key, this.now), isContract: true })
    }
    this.ledger.putCode(key, value)
  }

  async getCode(address: Address): Promise<Uint8Array> {
    return this.ledger.codes.get(keyOf(address))?.bytes ?? none
  }

  async getCodeSize(address: Address): Promise<number> {
    return (await this.getCode(address)).length
  }

  async getStorage(address: Address, key: Uint8Array): Promise<Uint8Array> {
    return this.ledger.storageOf(keyOf(address)).get(bytesToUnprefixedHex(key)) ?? none
  }

  async putStorage(address: Address, key: Uint8Array, value: Uint8Array): Promise<void> {
    this.ledger.storageOf(keyOf(address)).set(bytesToUnprefixedHex(key), value)
  }

  async clearStorage(address: Address): Promise<void> {
    const storage = this.ledger.storageOf(keyOf(address))
    for (const key of storage.keys()) storage.delete(key)
  }

  async checkpoint(): Promise<void> {
    this.marks.push(this.ledger.log.mark())
  }

  async commit(): Promise<void> {
    this.marks.pop()
  }

  async revert(): Promise<void> {
    const mark = this.marks.pop()
    if (mark !== undefined) this.ledger.log.rollback(mark)
  }

  /** This state has no hash tree, so its root is empty. */
  async getStateRoot(): Promise<Uint8Array> {
    return none
  }

  async setStateRoot(): Promise<void> {}

  async hasStateRoot(): Promise<boolean> {
    return false
  }

  clearCaches(): void {
    this.originals.clear()
  }

  shallowCopy(): StateManagerInterface {
    return new TvmState(this.ledger)
  }
}
