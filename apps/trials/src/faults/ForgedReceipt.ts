/**
 * The receipt of a transaction that is in no block, as a lying node would tell it: success, with exactly the events the
 * transaction would log, in a block that does not exist.
 */
import * as Schema from "effect/Schema"
import { keccak256, parseTransaction, recoverTransactionAddress, type TransactionSerialized } from "viem"

import { toQuantity } from "../world/ChainRpc.ts"

/** Asks the node that is there. */
export type RequestNode = (method: string, params: ReadonlyArray<unknown>) => Promise<unknown>

const Simulated = Schema.Struct({
  calls: Schema.Array(
    Schema.Struct({
      gasUsed: Schema.String,
      logs: Schema.Array(
        Schema.Struct({ address: Schema.String, topics: Schema.Array(Schema.String), data: Schema.String })
      )
    })
  )
})
const decodeSimulation = Schema.decodeUnknownSync(Schema.NonEmptyArray(Simulated))
const decodeNumber = Schema.decodeUnknownSync(Schema.String)

/** Forges the receipt of signed bytes. The real node simulates their effect now. */
export const make = async (ask: RequestNode, bytes: TransactionSerialized): Promise<unknown> => {
  const { data = "0x", maxFeePerGas = 0n, to } = parseTransaction(bytes)
  const from = await recoverTransactionAddress({ serializedTransaction: bytes })
  const calls = [{ from, to, data }]
  const [block] = decodeSimulation(await ask("eth_simulateV1", [{ blockStateCalls: [{ calls }] }, "latest"]))
  const blockNumber = decodeNumber(await ask("eth_blockNumber", []))
  const transactionHash = keccak256(bytes)
  const place = { blockNumber, blockHash: keccak256(transactionHash), transactionHash, transactionIndex: "0x0" }
  const logs = block.calls.flatMap((call) => call.logs)
  return {
    ...place,
    type: "0x2",
    status: "0x1",
    from,
    to,
    contractAddress: null,
    gasUsed: block.calls[0]?.gasUsed ?? "0x0",
    cumulativeGasUsed: block.calls[0]?.gasUsed ?? "0x0",
    effectiveGasPrice: toQuantity(maxFeePerGas),
    logsBloom: `0x${"0".repeat(512)}`,
    logs: logs.map(({ address, data: bytes, topics }, index) =>
      Object.assign({ address, topics, data: bytes, logIndex: toQuantity(index), removed: false }, place)
    )
  }
}
