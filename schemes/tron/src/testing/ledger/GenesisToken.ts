/**
 * Contracts of the first block. No transaction deploys them: their address follows from their name, so it is the same in every run.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import * as Effect from "effect/Effect"

import * as TronHex from "../../primitives/TronHex.ts"
import * as TronCallData from "../machine/TronCallData.ts"
import type { Tvm, TvmCall } from "../machine/Tvm.ts"
import * as ContractCalls from "./ContractCalls.ts"
import * as TronAccount from "./TronAccount.ts"
import type { TronLedger } from "./TronLedger.ts"

/** The state before the first block. */
export interface Genesis {
  readonly ledger: TronLedger
  readonly tvm: Tvm
  /** Unix milliseconds. */
  readonly now: number
}

const plenty = 1_000_000_000n

const run = Effect.fnUntraced(function* ({ now, tvm }: Genesis, call: Omit<TvmCall, "limit" | "value">) {
  const { ending } = yield* tvm.run({ ...call, value: 0n, limit: plenty }, { number: 0, timestamp: now })
  if (ending !== "SUCCESS")
    return yield* Effect.die(new Error(`The first block's ${call.contract} ended with ${ending}`))
})

/** Installs a contract in the state; gives its address in hexadecimal. */
export const install = Effect.fnUntraced(function* (genesis: Genesis, name: string, bytecode: string, owner: string) {
  const { ledger, now } = genesis
  const address = ContractCalls.addressOf(TronHex.fromBytes(sha256(new TextEncoder().encode(name))), owner)
  ledger.contracts.set(address, { address, origin: owner, name, abi: {}, bytecode, energyFactor: 0n })
  ledger.accounts.set(address, TronAccount.make(address, now, true))
  yield* run(genesis, { owner, contract: address, data: "", code: bytecode })
  return address
})

/** Calls a contract before the first block. */
export const call = (
  genesis: Genesis,
  owner: string,
  contract: string,
  signature: string,
  parameters: ReadonlyArray<TronCallData.Parameter>
): Effect.Effect<void> => run(genesis, { owner, contract, data: TronCallData.encode(signature, parameters) })
