import type * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
/**
 * Proof that an authorization moved the money: the token logs `AuthorizationUsed(payer, nonce)` and, right behind it, the
 * `Transfer` of the amount to the recipient (EIP-3009). A receipt's status proves nothing, and neither does the state of
 * the nonce: the payer can burn it with another transfer or cancel it.
 */
import * as Eip3009 from "../transfer/Eip3009.ts"

/** The transfer to be proven. */
export interface Expected {
  readonly token: EvmAddress.Address
  readonly authorization: Eip3009.TransferWithAuthorization
}

/**
 * A log filter for the two events that end an authorization, its use and its cancellation, of any of several. It lets
 * through more than it asks for: hold each log against {@link isEnding}.
 */
export const endings = (sought: ReadonlyArray<Expected>) => ({
  address: distinct(sought.map(({ token }) => token)),
  topics: [
    [Eip3009.authorizationUsedTopic, Eip3009.authorizationCanceledTopic],
    distinct(sought.map(({ authorization }) => Eip3009.addressTopic(authorization.from))),
    distinct(sought.map(({ authorization }) => authorization.nonce))
  ] as const
})

const distinct = <A>(values: ReadonlyArray<A>): ReadonlyArray<A> => [...new Set(values)]

/** Whether a log ends this authorization. */
export const isEnding = (expected: Expected, log: EvmRpc.Log): boolean =>
  isOf(expected, log) && (log.topics[0] === Eip3009.authorizationUsedTopic || isCancellation(log.topics))

/** Whether topics are those of a cancellation. */
export const isCancellation = ([event]: EvmRpc.Event["topics"]): boolean => event === Eip3009.authorizationCanceledTopic

/**
 * What the logs of one transaction show, by the nonce: its uses, by whatever payer and in whatever token, each with the log
 * right behind it.
 */
export type Evidence = ReadonlyMap<EvmHex.Hex, ReadonlyArray<Use>>

interface Use {
  readonly use: EvmRpc.Event
  readonly next: EvmRpc.Event | undefined
}

/** Looks through the logs of one transaction, once for all that are to be judged by them. */
export const evidence = (logs: ReadonlyArray<EvmRpc.Event>): Evidence => {
  const uses = new Map<EvmHex.Hex, Array<Use>>()
  for (const [place, use] of logs.entries()) {
    const [event, , nonce] = use.topics
    if (event !== Eip3009.authorizationUsedTopic || nonce === undefined) continue
    const others = uses.get(nonce) ?? []
    others.push({ use, next: logs[place + 1] })
    uses.set(nonce, others)
  }
  return uses
}

/**
 * What the logs of one transaction say of an authorization: `paid` exactly as expected, `burnt` on something else, or
 * nothing at all.
 */
export const judge = (expected: Expected, shown: Evidence): "paid" | "burnt" | "absent" => {
  const found = shown.get(expected.authorization.nonce)?.find(({ use }) => isOf(expected, use))
  if (found === undefined) return "absent"
  return found.next !== undefined && isTransfer(expected, found.next) ? "paid" : "burnt"
}

const isOf = ({ authorization, token }: Expected, { address, topics }: EvmRpc.Event): boolean =>
  address === token && topics[1] === Eip3009.addressTopic(authorization.from) && topics[2] === authorization.nonce

const isTransfer = ({ authorization, token }: Expected, { address, data, topics }: EvmRpc.Event): boolean =>
  address === token &&
  topics[0] === Eip3009.transferTopic &&
  topics[1] === Eip3009.addressTopic(authorization.from) &&
  topics[2] === Eip3009.addressTopic(authorization.to) &&
  EvmHex.isBytes32(data) &&
  BigInt(data) === authorization.value
