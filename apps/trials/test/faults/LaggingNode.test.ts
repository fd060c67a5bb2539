import { assert, describe, it } from "@effect/vitest"

import { answerAt, questionAt } from "../../src/faults/LaggingNode.ts"

const ask = (method: string, ...params: ReadonlyArray<unknown>) => ({ id: 1, method, params })

const receipt = (blockNumber: string) => ({ blockNumber, status: "0x1" })

describe("a node whose newest block is 100", () => {
  const questions: ReadonlyArray<readonly [string, ReadonlyArray<unknown>, ReadonlyArray<unknown>]> = [
    ["eth_call", [{ to: "0x1" }, "latest"], [{ to: "0x1" }, "0x64"]],
    ["eth_getTransactionCount", ["0x1", "pending"], ["0x1", "0x64"]],
    ["eth_getBalance", ["0x1", "0x3"], ["0x1", "0x3"]],
    ["eth_getBlockByNumber", ["latest", false], ["0x64", false]],
    ["eth_getBlockByNumber", ["finalized", false], ["finalized", false]],
    ["eth_getLogs", [{ fromBlock: "0x1", toBlock: "latest" }], [{ fromBlock: "0x1", toBlock: "0x64" }]],
    ["eth_getLogs", [{ fromBlock: "0x1" }], [{ fromBlock: "0x1", toBlock: "0x64" }]],
    ["eth_getLogs", [{ fromBlock: "0x1", toBlock: "0x65" }], [{ fromBlock: "0x1", toBlock: "0x64" }]],
    ["eth_getLogs", [{ fromBlock: "0x1", toBlock: "0x2" }], [{ fromBlock: "0x1", toBlock: "0x2" }]],
    ["eth_sendRawTransaction", ["0x02"], ["0x02"]],
    ["eth_chainId", [], []]
  ]
  for (const [method, params, expected] of questions) {
    it(`understands ${method} ${JSON.stringify(params)}`, () =>
      assert.deepStrictEqual(questionAt(ask(method, ...params), 100n).params, expected))
  }

  it("does not know what came after", () => {
    assert.strictEqual(answerAt(ask("eth_blockNumber"), "0x78", 100n), "0x64")
    assert.isNull(answerAt(ask("eth_getTransactionReceipt", "0x1"), receipt("0x65"), 100n))
    assert.isNull(answerAt(ask("eth_getBlockByNumber", "0x65"), { number: "0x65" }, 100n))
  })

  it("knows what came before", () => {
    assert.deepStrictEqual(answerAt(ask("eth_getTransactionReceipt", "0x1"), receipt("0x64"), 100n), receipt("0x64"))
    assert.isNull(answerAt(ask("eth_getTransactionReceipt", "0x1"), null, 100n))
    assert.deepStrictEqual(answerAt(ask("eth_getBlockByNumber", "0x64"), { number: "0x64" }, 100n), { number: "0x64" })
    assert.strictEqual(answerAt(ask("eth_chainId"), "0x1", 100n), "0x1")
  })
})
