/**
 * The endpoints that accept transactions. Their result is a `code`; messages are plain text under `broadcasthex` and hexadecimal
 * under `broadcasttransaction`, as in java-tron.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { DevChain } from "../ledger/DevChain.ts"
import * as SignatureWeight from "../ledger/SignatureWeight.ts"
import * as NodeAddress from "./NodeAddress.ts"
import { effectful, type Endpoints } from "./NodeEndpoint.ts"
import type { NodeRefusal } from "./NodeRefusal.ts"
import * as NodeResponses from "./NodeResponses.ts"
import * as NodeTransaction from "./NodeTransaction.ts"

/** Accepts or rejects a transaction: the chain, or a fault in its place. */
export type Accept = (transaction: NodeTransaction.NodeTransaction) => Effect.Effect<void, NodeRefusal>

/** The endpoints, by name. */
export const make = (chain: DevChain, accept: Accept): Endpoints => {
  const outcome = (transaction: NodeTransaction.NodeTransaction) =>
    accept(transaction).pipe(
      Effect.as({ code: "SUCCESS", message: "" }),
      Effect.catchTag("NodeRefusal", ({ code, message }) => Effect.succeed({ code, message }))
    )
  return {
    broadcasthex: effectful(Schema.Struct({ transaction: Schema.String }), ({ transaction: hex }) =>
      Effect.gen(function* () {
        const transaction = yield* NodeTransaction.fromHex(hex)
        const { code, message } = yield* outcome(transaction)
        const echo = JSON.stringify(NodeTransaction.toJson(transaction, true), NodeResponses.numbers)
        return { result: code === "SUCCESS", code, message, transaction: echo, txid: transaction.id }
      })
    ),
    broadcasttransaction: effectful(Schema.Unknown, (body) =>
      Effect.gen(function* () {
        const transaction = yield* NodeTransaction.fromJson(body)
        const { code, message } = yield* outcome(transaction)
        const txid = transaction.id
        return code === "SUCCESS" ? { result: true, txid } : { code, txid, message: NodeResponses.hexOfText(message) }
      })
    ),
    getsignweight: effectful(Schema.Unknown, (body) =>
      Effect.flatMap(NodeTransaction.fromJson(body), (transaction) => weigh(chain, transaction))
    )
  }
}

const weigh = (chain: DevChain, transaction: NodeTransaction.NodeTransaction) => {
  const { contract, permissionId } = transaction
  const owner = contract?.owner_address ?? ""
  const account = chain.ledger.accounts.get(owner)
  const permission = account === undefined ? undefined : SignatureWeight.permissionOf(owner, account, permissionId)
  const shown = NodeTransaction.toJson(transaction, false)
  if (permission === undefined) {
    return Effect.succeed({ result: { code: "PERMISSION_ERROR", message: "permission isn't exit" } })
  }
  const { keys, threshold } = permission
  return SignatureWeight.count(transaction, permission).pipe(
    Effect.map(({ signers, weight }) => ({
      result: weight >= threshold ? {} : { code: "NOT_ENOUGH_PERMISSION" },
      approved_list: signers.map((each) => NodeAddress.shown(each, false)),
      permission: { ...NodeResponses.present({ ...permission, keys: undefined }), keys },
      ...NodeResponses.present({ current_weight: weight }),
      transaction: { result: { result: true }, txid: transaction.id, transaction: shown }
    })),
    Effect.catchTag("NodeRefusal", ({ message }) =>
      Effect.succeed({ result: { code: "SIGNATURE_FORMAT_ERROR", message } })
    )
  )
}
