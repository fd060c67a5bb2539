/**
 * User operations in few bytes, the input of the contract `OpSettler`: 66 bytes each, their signature and deployment, and their
 * calldata or, in its place, the 89 bytes of its terms; and 21 bytes more for each EntryPoint.
 */
import * as EvmHex from "../primitives/EvmHex.ts"
import * as AccountCalls from "./AccountCalls.ts"
import * as GuardContract from "./GuardContract.ts"
import * as UserOperation from "./UserOperation.ts"

/** An operation, and the EntryPoint that it is submitted to. */
export interface BatchedOperation {
  readonly entryPoint: UserOperation.EntryPoint
  readonly operation: UserOperation.UserOperation
}

/** The most operations of one run. */
const longestRun = 255

/** Packs operations, those of one EntryPoint in their order. The caller makes sure that `UserOperation.objection` has none. */
export const pack = (operations: ReadonlyArray<BatchedOperation>): EvmHex.Hex => {
  let runs: EvmHex.Hex = "0x"
  for (const { address } of UserOperation.entryPoints) {
    const own = operations.filter(({ entryPoint }) => entryPoint.address === address)
    for (let start = 0; start < own.length; start += longestRun) {
      const run = own.slice(start, start + longestRun)
      runs += `${address.slice(2)}${digits(run.length, 1)}${run.map(({ operation }) => entryOf(operation)).join("")}`
    }
  }
  return runs
}

const digits = (value: bigint | number, bytes: number): string => value.toString(16).padStart(2 * bytes, "0")

const entryOf = (operation: UserOperation.UserOperation): string => {
  const { callData, callGasLimit, nonce, sender, signature, verificationGasLimit } = operation
  const [deployment, terms, signed] = [UserOperation.initCodeOf(operation), termsIn(callData), signature]
  const lengths = [lengthOf(deployment), terms === undefined ? lengthOf(callData) : isTerms, lengthOf(signed)]
  const head = `${sender.slice(2)}${EvmHex.toWord(nonce)}${digits(verificationGasLimit, 4)}${digits(callGasLimit, 4)}`
  return `${head}${lengths.map((length) => digits(length, 2)).join("")}${deployment.slice(2)}${terms ?? callData.slice(2)}${signed.slice(2)}`
}

const lengthOf = (hex: EvmHex.Hex): number => (hex.length - 2) / 2

/** The length that says that an entry has the terms of a guarded payment instead of its calldata. */
const isTerms = 0xffff

const amountLimit = 2n ** 96n
const timeLimit = 2n ** 40n

/** The terms of a guarded payment by `executeBatch`, from which the contract makes the calldata; `undefined` for other calldata. */
const termsIn = (callData: EvmHex.Hex): string | undefined => {
  const calls = AccountCalls.read(callData)
  if (calls?.guard === undefined || calls.guard.address !== GuardContract.address) return undefined
  const { amount, guard, payTo, token } = calls
  if (amount >= amountLimit || guard.validBefore >= timeLimit) return undefined
  if (AccountCalls.executeBatch(AccountCalls.of(calls)) !== callData) return undefined
  return `${token.slice(2)}${payTo.slice(2)}${digits(amount, 12)}${digits(guard.validBefore, 5)}${guard.tag.slice(2)}`
}

/** Bytes of an entry beside its fields. */
const entryBytes = 66
/** Bytes of the EntryPoint's own encoding of an operation beside its fields, whose lengths are words and whose bytes fill words. */
const encodedBytes = 416
/** Gas by which the contract caps an entry, beside the operation's own limits; each byte of that encoding comes in addition. */
const operationGas = 75_000n
const gasPerByte = 20n
/** Gas for the contract's work on an entry, and at most for each byte of calldata. */
const workGas = 12_000n
const calldataGas = 16n

/** The most gas that an entry uses: its cap, the 64th part that a call leaves behind, its bytes, and the work of reading it. */
export const gasOf = ({ operation }: BatchedOperation): bigint => {
  const { callData, callGasLimit, signature, verificationGasLimit } = operation
  const lengths = [UserOperation.initCodeOf(operation), callData, signature].map(lengthOf)
  const bytes = entryBytes + lengths.reduce((sum, length) => sum + length, 0)
  const encoded = encodedBytes + lengths.reduce((sum, length) => sum + 32 * Math.ceil(length / 32), 0)
  const cap = verificationGasLimit + callGasLimit + operationGas + gasPerByte * BigInt(encoded)
  return (cap * 64n) / 63n + workGas + calldataGas * BigInt(bytes)
}
