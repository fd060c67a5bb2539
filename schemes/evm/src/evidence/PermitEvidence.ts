/**
 * Evidence of transfers by Permit2. Permit2 logs nothing when it uses a nonce up, so the token's `Transfer` proves a payment only
 * together with what names the nonce: a transaction that calls x402's proxy itself, or the event of our `PermitSettler`. A transfer that a stranger submits by another
 * contract proves nothing, because the same payer may have signed several transfers of the same amount to the same recipient.
 *
 * The events of the proxy and of the settler name no token, and the settler is open to all: the payer may submit a permit for a token of
 * his own, whose code makes another payment of his inside. One transfer must not count twice. The proxy's and the settler's events are
 * the two right behind it, so it has one permit at most, and a user operation that contains it contains them too
 * (`UserOperationEvidence`); the transfer of an authorization (EIP-3009) has that authorization's event right before it.
 */
import type * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"
import * as Permit2 from "../transfer/Permit2.ts"
import * as PermitCall from "../transfer/PermitCall.ts"

/** Whether an event is the token's transfer of exactly the amount from the payer to the recipient. */
export const isTransfer = (
  { from, permitted, witness }: Permit2.PermitTransfer,
  { address, data, topics }: EvmRpc.Event
): boolean =>
  address === permitted.token &&
  topics[0] === Eip3009.transferTopic &&
  topics[1] === Eip3009.addressTopic(from) &&
  topics[2] === Eip3009.addressTopic(witness.to) &&
  EvmHex.isBytes32(data) &&
  BigInt(data) === permitted.amount

/** Whether an event shows that the payer has used the nonce up without a transfer. */
export const isInvalidation = (transfer: Permit2.PermitTransfer, { address, data, topics }: EvmRpc.Event): boolean => {
  if (address !== Permit2.address || topics[0] !== Permit2.invalidationTopic) return false
  if (topics[1] !== Eip3009.addressTopic(transfer.from) || data.length !== 2 + 2 * 64) return false
  const { mask, word } = Permit2.bitOf(transfer)
  return BigInt(data.slice(0, 66)) === word && (BigInt(`0x${data.slice(66)}`) & mask) !== 0n
}

/** Whether an event of our settler names the transfer as one that it has submitted. */
export const isSubmission = ({ from, nonce }: Permit2.PermitTransfer, { address, topics }: EvmRpc.Event): boolean =>
  address === PermitCall.settler &&
  topics[0] === PermitCall.submittedTopic &&
  topics[1] === Eip3009.addressTopic(from) &&
  topics[2] === `0x${EvmHex.toWord(nonce)}`

/**
 * Whether the events of a transaction show the transfer: the token's event, behind it the proxy's, and behind that the settler's,
 * unless the transaction calls the proxy with this very transfer (`isDirect`). Between the first two there may be events of the token
 * that move nothing, such as what is left of the approval. A transfer of less than the amount, as by a token that keeps a fee, is none,
 * nor is the transfer of an authorization.
 */
export const isPaid = (
  transfer: Permit2.PermitTransfer,
  logs: ReadonlyArray<EvmRpc.Event>,
  isDirect: boolean
): boolean =>
  logs.some((log, place) => {
    if (!isTransfer(transfer, log) || isAuthorized(logs[place - 1], log)) return false
    const next = behind(logs, place)
    const named = logs[next + 1]
    return isSettled(logs[next]) && (isDirect || (named !== undefined && isSubmission(transfer, named)))
  })

/** Whether the event before a transfer is the use of its payer's authorization in the same token. */
const isAuthorized = (before: EvmRpc.Event | undefined, { address, topics }: EvmRpc.Event): boolean =>
  before?.address === address && before.topics[0] === Eip3009.authorizationUsedTopic && before.topics[1] === topics[1]

/** The place of the first event behind a transfer that is another's than the token's, or a transfer too. */
const behind = (logs: ReadonlyArray<EvmRpc.Event>, transfer: number): number => {
  const token = logs[transfer]?.address
  let place = transfer + 1
  while (logs[place]?.address === token && logs[place]?.topics[0] !== Eip3009.transferTopic) place++
  return place
}

const isSettled = (log: EvmRpc.Event | undefined): boolean =>
  log?.address === Permit2.proxy && Permit2.settledTopics.has(log.topics[0] ?? "")
