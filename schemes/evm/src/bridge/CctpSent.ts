/** The message that a routed payment has sent over CCTP, in the logs of its transaction. */
import type * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as BridgeRoute from "../route/BridgeRoute.ts"
import * as CctpCalls from "./CctpCalls.ts"
import type { CctpMessage } from "./CctpMessage.ts"

/** A message that a transaction has sent: of `count` messages with the same bytes it is the one at this place, from 0. */
export interface SentMessage {
  readonly message: EvmHex.Hex
  readonly read: CctpMessage
  readonly place: number
  readonly count: number
}

/**
 * The message of a payment: the last one before the router's event. Messages name no payment, and a stranger may submit several payments
 * with the same terms in one transaction, so that the same bytes were sent several times: each payment has one of them.
 */
export const find = (
  transmitter: EvmAddress.Address,
  authorization: Parameters<typeof BridgeRoute.placeIn>[0],
  { amount, destination, minimum, recipient }: BridgeRoute.BridgeRoute,
  logs: ReadonlyArray<EvmRpc.Event>
): SentMessage | undefined => {
  const place = BridgeRoute.placeIn(authorization, logs)
  const earlier = CctpCalls.sentIn(transmitter, logs.slice(0, Math.max(place, 0)))
  const own = earlier.at(-1)
  if (own === undefined) return undefined
  const { message, read } = own
  const isItsOwn =
    read.destinationDomain === destination &&
    read.recipient === recipient &&
    read.amount === amount &&
    read.maxFee === amount - minimum
  const countIn = (list: typeof earlier) => list.filter((one) => one.message === message).length
  return isItsOwn
    ? { message, read, place: countIn(earlier) - 1, count: countIn(CctpCalls.sentIn(transmitter, logs)) }
    : undefined
}
