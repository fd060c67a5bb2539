/** The state of the local chain: accounts, contracts with code and storage, delegations. One undo log covers all of it. */
import { keccak_256 } from "@noble/hashes/sha3.js"

import type { Resource } from "../messages/TronContract.ts"
import type { Message } from "../messages/TronMessage.ts"
import type * as ChainParameters from "./ChainParameters.ts"
import * as TronAccount from "./TronAccount.ts"
import { JournaledMap, UndoLog } from "./UndoLog.ts"

/** A deployed contract. */
export interface DeployedContract {
  readonly address: string
  readonly origin: string
  readonly name: string
  readonly abi: Message
  readonly bytecode: string
  /** The penalty of a popular contract, in ten thousandths of the energy it takes. */
  readonly energyFactor: bigint
}

/** Code and its hash. */
export interface Code {
  readonly bytes: Uint8Array
  readonly hash: Uint8Array
}

/** The state. */
export class TronLedger {
  readonly log = new UndoLog()
  readonly accounts = new JournaledMap<string, TronAccount.TronAccount>(this.log)
  readonly contracts = new JournaledMap<string, DeployedContract>(this.log)
  readonly codes = new JournaledMap<string, Code>(this.log)
  readonly nonces = new JournaledMap<string, bigint>(this.log)
  /** Storage by contract, then by slot. */
  readonly storage = new Map<string, JournaledMap<string, Uint8Array>>()
  /** Sun delegated, by owner, receiver and resource. */
  readonly delegations = new JournaledMap<string, bigint>(this.log)
  readonly parameters: ChainParameters.ChainParameters

  constructor(parameters: ChainParameters.ChainParameters) {
    this.parameters = parameters
  }

  /** The storage of a contract. */
  storageOf(address: string): JournaledMap<string, Uint8Array> {
    const known = this.storage.get(address)
    if (known !== undefined) return known
    const made = new JournaledMap<string, Uint8Array>(this.log)
    this.storage.set(address, made)
    return made
  }

  /** An account, a new one if there is none. */
  accountAt(address: string, now: number): TronAccount.TronAccount {
    return this.accounts.get(address) ?? TronAccount.make(address, now, false)
  }

  /** Adds sun to an account, or subtracts it; creates the account if there is none. */
  add(address: string, sun: bigint, now: number): void {
    const account = this.accountAt(address, now)
    this.accounts.set(address, { ...account, balance: account.balance + sun })
  }

  /** Replaces an account that exists. */
  update(address: string, change: (account: TronAccount.TronAccount) => TronAccount.TronAccount): void {
    const account = this.accounts.get(address)
    if (account !== undefined) this.accounts.set(address, change(account))
  }

  /** Stores a contract's code. */
  putCode(address: string, bytes: Uint8Array): void {
    this.codes.set(address, { bytes, hash: keccak_256(bytes) })
  }
}

/** The key of a delegation. */
export const delegationKey = (owner: string, receiver: string, resource: Resource): string =>
  `${owner} ${receiver} ${resource}`
