/**
 * Evidence that a token moved the money: its own event, once, from the payer to the recipient, with the amount. The call's return
 * value is ignored: USDT's `transfer` returns false on success.
 */
import type { Log } from "../node/TronRpc.ts"
import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronHex from "../primitives/TronHex.ts"
import type { TokenTransfer } from "../transfer/TronTransaction.ts"

/** keccak256("Transfer(address,address,uint256)") */
const transferTopic = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"

/** Whether the events show exactly this transfer and no other of the token: a token that takes a fee logs two, or a lower amount. */
export const isProven = (transfer: TokenTransfer, logs: ReadonlyArray<Log>): boolean => {
  const own = logs.filter(({ address, topics }) => address === transfer.token && topics[0] === transferTopic)
  const [log] = own
  return own.length === 1 && log !== undefined && isTransfer(transfer, log)
}

const isTransfer = ({ amount, owner, to }: TokenTransfer, { data, topics }: Log): boolean =>
  topics.length === 3 &&
  topics[1] === TronAddress.toWord(owner) &&
  topics[2] === TronAddress.toWord(to) &&
  data === TronHex.toWord(amount)
