/**
 * Runs contracts in an EVM interpreter with TRON's prices. It lacks TRON's own opcodes and precompiles and TRC-10; refunds are
 * ignored, as on TRON.
 */
import { Common, Mainnet } from "@ethereumjs/common"
import { createEVM, type EVMInterface, type ExecResult, paramsEVM } from "@ethereumjs/evm"
import { Address } from "@ethereumjs/util"
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"
import * as Effect from "effect/Effect"

import type { TronLedger } from "../ledger/TronLedger.ts"
import { TvmState } from "./TvmState.ts"

/** An event of a contract, as in a receipt: the address without its first byte, hexadecimal without a prefix. */
export interface TvmLog {
  readonly address: string
  readonly topics: ReadonlyArray<string>
  readonly data: string
}

/** The ending of a run, by java-tron's name in a receipt. */
export type TvmEnding =
  | "SUCCESS"
  | "REVERT"
  | "OUT_OF_ENERGY"
  | "BAD_JUMP_DESTINATION"
  | "STACK_TOO_SMALL"
  | "STACK_TOO_LARGE"
  | "ILLEGAL_OPERATION"
  | "TRANSFER_FAILED"
  | "UNKNOWN"

/** The result of a run. */
export interface TvmResult {
  readonly ending: TvmEnding
  /** Energy, without a contract's penalty. */
  readonly energy: bigint
  readonly output: string
  readonly logs: ReadonlyArray<TvmLog>
}

/** A call, or the creation of a contract if `code` is given, which runs as the contract's own. */
export interface TvmCall {
  readonly owner: string
  readonly contract: string
  readonly data: string
  readonly code?: string
  /** Sun. */
  readonly value: bigint
  /** Energy. */
  readonly limit: bigint
}

/** The block in which contracts run. */
export interface TvmBlock {
  readonly number: number
  /** Unix milliseconds. */
  readonly timestamp: number
}

/** The machine. */
export interface Tvm {
  /** Runs a call and keeps the changes of a successful one. */
  readonly run: (call: TvmCall, block: TvmBlock) => Effect.Effect<TvmResult>
  /** Runs a call and discards its changes. */
  readonly simulate: (call: TvmCall, block: TvmBlock) => Effect.Effect<TvmResult>
}

/** Prices of `EnergyCost.java`: no access lists, and a flat price for calls and for reading storage. */
const prices = {
  ...paramsEVM,
  1679: {
    ...paramsEVM[1679],
    sloadGas: 50,
    balanceGas: 20,
    extcodehashGas: 400,
    sstoreSentryEIP2200Gas: 0,
    sstoreNoopEIP2200Gas: 5_000,
    sstoreDirtyEIP2200Gas: 5_000
  },
  608: {
    ...paramsEVM[608],
    sloadGas: 50,
    callGas: 40,
    callcodeGas: 40,
    delegatecallGas: 40,
    balanceGas: 20,
    extcodesizeGas: 20,
    extcodecopyGas: 20
  },
  609: { ...paramsEVM[609], staticcallGas: 40 },
  607: { ...paramsEVM[607], expByteGas: 10 }
}

/** `EnergyCost.CREATE_DATA`: energy for each byte of a new contract's code. */
const energyOfCodeByte = 200n

const endings: Readonly<Record<string, TvmEnding>> = {
  revert: "REVERT",
  "out of gas": "OUT_OF_ENERGY",
  "code store out of gas": "OUT_OF_ENERGY",
  "invalid JUMP": "BAD_JUMP_DESTINATION",
  "stack underflow": "STACK_TOO_SMALL",
  "stack overflow": "STACK_TOO_LARGE",
  "invalid opcode": "ILLEGAL_OPERATION",
  "insufficient balance": "TRANSFER_FAILED"
}

const addressOf = (hex: string) => new Address(hexToBytes(hex.slice(2)))

const headerOf = ({ number, timestamp }: TvmBlock, gasLimit: bigint) => ({
  header: {
    number: BigInt(number),
    timestamp: BigInt(Math.floor(timestamp / 1000)),
    coinbase: new Address(new Uint8Array(20)),
    gasLimit,
    difficulty: 0n,
    prevRandao: new Uint8Array(32),
    getBlobGasPrice: () => undefined
  }
})

const execute = async (evm: EVMInterface, call: TvmCall, block: TvmBlock): Promise<ExecResult> => {
  const caller = addressOf(call.owner)
  const to = addressOf(call.contract)
  const common = {
    caller,
    origin: caller,
    to,
    gasLimit: call.limit,
    value: call.value,
    block: headerOf(block, call.limit)
  }
  if (call.code === undefined) {
    const data = hexToBytes(call.data)
    return (await evm.runCall({ ...common, data, skipNonceIncrement: true })).execResult
  }
  return evm.runCode({ ...common, code: hexToBytes(call.code), data: new Uint8Array() })
}

const resultOf = ({ executionGasUsed, exceptionError, logs, returnValue }: ExecResult, limit: bigint): TvmResult => {
  const ending = exceptionError === undefined ? "SUCCESS" : (endings[exceptionError.error] ?? "UNKNOWN")
  const takesAll = ending !== "SUCCESS" && ending !== "REVERT" && ending !== "TRANSFER_FAILED"
  return {
    ending,
    energy: takesAll ? limit : executionGasUsed,
    output: bytesToHex(returnValue),
    logs:
      ending === "SUCCESS"
        ? (logs ?? []).map(([address, topics, data]) => ({
            address: bytesToHex(address),
            topics: topics.map((topic) => bytesToHex(topic)),
            data: bytesToHex(data)
          }))
        : []
  }
}

/** Stores the code that a constructor returned, if the energy suffices. */
const deposit = async (state: TvmState, call: TvmCall, result: TvmResult): Promise<TvmResult> => {
  if (call.code === undefined || result.ending !== "SUCCESS") return result
  const energy = result.energy + energyOfCodeByte * BigInt(result.output.length / 2)
  if (energy > call.limit) return { ending: "OUT_OF_ENERGY", energy: call.limit, output: "", logs: [] }
  await state.putCode(addressOf(call.contract), hexToBytes(result.output))
  return { ...result, energy }
}

/** A machine over a ledger. One run at a time. */
export const make = Effect.fnUntraced(function* (ledger: TronLedger, chainId: number) {
  const common = new Common({ chain: { ...Mainnet, chainId }, hardfork: "istanbul", eips: [3855], params: prices })
  const state = new TvmState(ledger)
  const evm = yield* Effect.promise(() => createEVM({ common, stateManager: state, params: prices }))
  const attempt = async (call: TvmCall, block: TvmBlock, keeps: boolean): Promise<TvmResult> => {
    state.clearCaches()
    state.now = block.timestamp
    const mark = ledger.log.mark()
    if (call.code !== undefined && call.value > 0n) {
      ledger.add(call.owner, -call.value, block.timestamp)
      ledger.add(call.contract, call.value, block.timestamp)
    }
    const ran = resultOf(await execute(evm, call, block), call.limit)
    const result = await deposit(state, call, ran)
    if (!keeps || result.ending !== "SUCCESS") ledger.log.rollback(mark)
    evm.journal.cleanJournal()
    return result
  }
  const tvm: Tvm = {
    run: (call, block) => Effect.promise(() => attempt(call, block, true)),
    simulate: (call, block) => Effect.promise(() => attempt(call, block, false))
  }
  return tvm
})
