/**
 * Evidence of user operations: whether one has paid, by the events of a transaction or of its simulation. The EntryPoint logs
 * `UserOperationEvent` with the operation's hash behind the events of its calls. Neither a transaction's status nor `success`
 * shows a transfer: an account's code may do something else than its call data says.
 */
import type * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"
import * as PermitCall from "../transfer/PermitCall.ts"
import * as UserOperation from "../transfer/UserOperation.ts"

/** The operation to prove: where it is submitted, its hash, and its nonce. */
export interface ExpectedOperation {
  readonly entryPoint: EvmAddress.Address
  readonly hash: EvmHex.Hex
  readonly sender: EvmAddress.Address
  readonly nonce: bigint
}

/** The transfer that it is to make. */
export interface OperationTransfer {
  readonly token: EvmAddress.Address
  readonly to: EvmAddress.Address
  readonly value: bigint
}

/**
 * `paid` by exactly the transfer; `failed` where the operation was executed without it; `burnt` where another operation of the
 * sender has used the nonce; `absent` where the events show none of it.
 */
export type OperationVerdict = "paid" | "failed" | "burnt" | "absent"

/** Judges an operation by the events of one transaction. */
export const judge = (
  expected: ExpectedOperation,
  transfer: OperationTransfer,
  logs: ReadonlyArray<EvmRpc.Event>
): OperationVerdict => {
  const end = logs.findIndex((log) => isEnding(expected, log))
  const event = logs[end]
  if (event === undefined) return "absent"
  if (event.topics[1] !== expected.hash) return "burnt"
  if (BigInt(`0x${event.data.slice(66, 130)}`) !== 1n) return "failed"
  const own = logs.slice(beginOf(expected, logs, end), end)
  if (own.some((log) => isOfAnotherPayment(expected, log))) return "failed"
  const sent = own.filter(
    ({ address, topics }) =>
      address === transfer.token &&
      topics[0] === Eip3009.transferTopic &&
      topics[1] === Eip3009.addressTopic(expected.sender)
  )
  const [only] = sent
  if (only === undefined || sent.length > 1 || !EvmHex.isBytes32(only.data)) return "failed"
  return only.topics[2] === Eip3009.addressTopic(transfer.to) && BigInt(only.data) === transfer.value
    ? "paid"
    : "failed"
}

/**
 * Whether an event among the operation's own is the evidence of another payment of the sender. An account's code may make its transfer
 * by an authorization of its own, by a permit of its own, or by an operation of another EntryPoint: one transfer would pay twice.
 */
const isOfAnotherPayment = ({ sender }: ExpectedOperation, { topics: [event, first, second] }: EvmRpc.Event): boolean =>
  (event === Eip3009.authorizationUsedTopic && first === Eip3009.addressTopic(sender)) ||
  (event === PermitCall.submittedTopic && first === Eip3009.addressTopic(sender)) ||
  (event === UserOperation.operationTopic && second === Eip3009.addressTopic(sender))

/** The first event of the operation that ends at a place: behind the end of the one before it, or behind all validations. */
const beginOf = ({ entryPoint }: ExpectedOperation, logs: ReadonlyArray<EvmRpc.Event>, end: number): number => {
  let begin = end
  while (begin > 0 && !isBoundary(entryPoint, logs[begin - 1])) begin--
  return begin
}

const isBoundary = (entryPoint: EvmAddress.Address, log: EvmRpc.Event | undefined): boolean =>
  log?.address === entryPoint &&
  (log.topics[0] === UserOperation.operationTopic || log.topics[0] === UserOperation.executionTopic)

/** The bytes of a `UserOperationEvent`'s data: four words. */
const eventDigits = 2 + 4 * 64

/** Whether an event shows that the nonce was used: by this operation, or by another of the sender. */
export const isEnding = (
  { entryPoint, nonce, sender }: ExpectedOperation,
  { address, data, topics }: EvmRpc.Event
): boolean =>
  address === entryPoint &&
  topics[0] === UserOperation.operationTopic &&
  topics[2] === Eip3009.addressTopic(sender) &&
  data.length === eventDigits &&
  BigInt(data.slice(0, 66)) === nonce

/** The data by which the account's call reverted, where the events have it. */
export const revertIn = (
  { entryPoint, hash }: ExpectedOperation,
  logs: ReadonlyArray<EvmRpc.Event>
): EvmHex.Hex | undefined => {
  const found = logs.find(
    ({ address, topics }) => address === entryPoint && topics[0] === UserOperation.revertTopic && topics[1] === hash
  )
  if (found === undefined) return undefined
  const length = Number.parseInt(found.data.slice(2 + 2 * 64, 2 + 3 * 64), 16)
  return `0x${found.data.slice(2 + 3 * 64, 2 + 3 * 64 + 2 * length)}`
}
