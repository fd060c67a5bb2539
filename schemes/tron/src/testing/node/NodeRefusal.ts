/** The node's rejections of transactions, with java-tron's `response_code`s and messages. */
import * as Schema from "effect/Schema"

/** The codes of a broadcast other than `SUCCESS`. The last five say nothing about the transaction. */
export const RefusalCode = Schema.Literals([
  "SIGERROR",
  "CONTRACT_VALIDATE_ERROR",
  "CONTRACT_EXE_ERROR",
  "BANDWITH_ERROR",
  "DUP_TRANSACTION_ERROR",
  "TAPOS_ERROR",
  "TOO_BIG_TRANSACTION_ERROR",
  "TRANSACTION_EXPIRATION_ERROR",
  "SERVER_BUSY",
  "NO_CONNECTION",
  "NOT_ENOUGH_EFFECTIVE_CONNECTION",
  "BLOCK_UNSOLIDIFIED",
  "OTHER_ERROR"
])

/** A code. */
export type RefusalCode = typeof RefusalCode.Type

/** A rejected transaction; it has no effect. */
export class NodeRefusal extends Schema.TaggedError<NodeRefusal>("@pontage/tron/testing/NodeRefusal")("NodeRefusal", {
  code: RefusalCode,
  message: Schema.String
}) {}

/** A transaction that the rules or the state do not allow. */
export const invalid = (message: string): NodeRefusal =>
  new NodeRefusal({ code: "CONTRACT_VALIDATE_ERROR", message: `Contract validate error : ${message}` })

/** Signatures that do not satisfy the owner's permission. */
export const unsigned = (message: string): NodeRefusal =>
  new NodeRefusal({ code: "SIGERROR", message: `Validate signature error: ${message}` })

/** An owner who cannot pay for the bandwidth or the fixed fees. */
export const insufficient = (): NodeRefusal =>
  new NodeRefusal({ code: "BANDWITH_ERROR", message: "Account resource insufficient error." })
