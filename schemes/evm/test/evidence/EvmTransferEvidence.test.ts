import { assert, describe, it } from "@effect/vitest"
import { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmTransferEvidence from "../../src/evidence/EvmTransferEvidence.ts"
import * as UserOperationEvidence from "../../src/evidence/UserOperationEvidence.ts"
import type * as EvmRpc from "../../src/node/EvmRpc.ts"
import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"
import * as Eip3009 from "../../src/transfer/Eip3009.ts"
import * as Permit2 from "../../src/transfer/Permit2.ts"
import * as PermitCall from "../../src/transfer/PermitCall.ts"
import * as UserOperation from "../../src/transfer/UserOperation.ts"

const address = (digit: string) => EvmAddress.fromText(`0x${digit.repeat(40)}`) ?? EvmAddress.zero
const [payer, payee, token, other] = [address("1"), address("2"), address("3"), address("4")]
const hash = (digit: string): EvmHex.Hex => `0x${digit.repeat(64)}`
const nonce = hash("5")

const expected: EvmTransferEvidence.ExpectedTransfer = {
  token,
  authorization: { from: payer, to: payee, value: 10_000n, validAfter: 0n, validBefore: 9n, nonce }
}

const log = (topics: ReadonlyArray<EvmHex.Hex>, fields: Partial<EvmRpc.Log> = {}): EvmRpc.Log => ({
  address: token,
  topics,
  data: "0x",
  blockNumber: 1n,
  blockHash: nonce,
  transactionHash: nonce,
  logIndex: 0,
  ...fields
})

const used = (from = payer, of: EvmHex.Hex = nonce) =>
  log([Eip3009.authorizationUsedTopic, Eip3009.addressTopic(from), of])
const amount = (value: bigint): EvmHex.Hex => `0x${EvmHex.toWord(value)}`
const transfer = (from = payer, to = payee, value = 10_000n) =>
  log([Eip3009.transferTopic, ...[from, to].map(Eip3009.addressTopic)], { data: amount(value) })
const canceled = log([Eip3009.authorizationCanceledTopic, Eip3009.addressTopic(payer), nonce])
const elsewhere = (event: EvmRpc.Log): EvmRpc.Log => ({ ...event, address: other })
const otherNonce = amount(1n)

const rows: ReadonlyArray<readonly [string, ReadonlyArray<EvmRpc.Log>, ReturnType<typeof EvmTransferEvidence.judge>]> =
  [
    ["the use and the transfer", [used(), transfer()], "paid"],
    ["the same among others", [used(payer, otherNonce), transfer(), used(), transfer(), transfer(other)], "paid"],
    ["the same nonce of another payer before it", [used(other), transfer(other), used(), transfer()], "paid"],
    ["no events", [], "absent"],
    ["a transfer alone", [transfer()], "absent"],
    ["a cancellation", [canceled, transfer()], "absent"],
    ["the use of another nonce", [used(payer, otherNonce), transfer()], "absent"],
    ["the use of another payer's authorization", [used(other), transfer()], "absent"],
    ["the use in another token", [elsewhere(used()), transfer()], "absent"],
    ["the use alone", [used()], "burnt"],
    ["the transfer before the use", [transfer(), used()], "burnt"],
    ["something between them", [used(), transfer(other), transfer()], "burnt"],
    ["a transfer in another token", [used(), elsewhere(transfer())], "burnt"],
    ["a transfer to another account", [used(), transfer(payer, other)], "burnt"],
    ["a transfer from another account", [used(), transfer(other)], "burnt"],
    ["less", [used(), transfer(payer, payee, 9_999n)], "burnt"],
    ["more", [used(), transfer(payer, payee, 10_001n)], "burnt"],
    ["no amount", [used(), { ...transfer(), data: "0x" }], "burnt"],
    ["an amount and more", [used(), { ...transfer(), data: `${amount(10_000n)}00` }], "burnt"]
  ]

const [entryPoint, otherEntryPoint] = [address("6"), address("7")]
const operation: UserOperationEvidence.ExpectedOperation = { entryPoint, hash: amount(8n), sender: payer, nonce: 9n }

const executed = (at = entryPoint, of: EvmHex.Hex = operation.hash, sender = payer, isDone = 1n, number = 9n) =>
  log([UserOperation.operationTopic, of, Eip3009.addressTopic(sender), amount(0n)], {
    address: at,
    data: `0x${[number, isDone, 0n, 0n].map(EvmHex.toWord).join("")}`
  })
const validated = log([UserOperation.executionTopic], { address: entryPoint })

const permit: Permit2.PermitTransfer = {
  from: payer,
  permitted: { token, amount: 10_000n },
  spender: Permit2.proxy,
  nonce: 7n,
  deadline: 9n,
  witness: { to: payee, validAfter: 0n }
}
const [settledTopic = hash("0")] = Permit2.settledTopics
const proxied = log([EvmHex.fromTrusted(settledTopic)], { address: Permit2.proxy })
const submitted = (of: EvmHex.Hex = amount(permit.nonce), from = payer) =>
  log([PermitCall.submittedTopic, Eip3009.addressTopic(from), of], { address: PermitCall.settler })
const approved = log([amount(1n)])
const use = used(payer, otherNonce)

/** The events, and the verdict on the permit by them. */
const permitRows: ReadonlyArray<readonly [string, ReadonlyArray<EvmRpc.Log>, UserOperationEvidence.OperationVerdict]> =
  [
    ["its transfer", [transfer(), proxied, submitted()], "paid"],
    ["its transfer, and what is left of the approval", [transfer(), approved, proxied, submitted()], "paid"],
    ["its transfer behind that of an authorization", [use, transfer(), transfer(), proxied, submitted()], "paid"],
    ["its transfer behind another payer's use", [used(other), transfer(), proxied, submitted()], "paid"],
    ["its transfer behind a use in another token", [elsewhere(use), transfer(), proxied, submitted()], "paid"],
    ["the transfer of an authorization", [use, transfer(), proxied, submitted()], "burnt"],
    ["the same, and what is left of the approval", [use, transfer(), approved, proxied, submitted()], "burnt"],
    ["the transfer of a permit inside it", [transfer(), proxied, submitted(otherNonce), proxied, submitted()], "burnt"],
    ["a transfer by another contract through the proxy", [transfer(), proxied, proxied, submitted()], "burnt"],
    ["the transfer of a user operation inside it", [validated, transfer(), executed(), proxied, submitted()], "burnt"],
    ["less", [transfer(payer, payee, 9_999n), proxied, submitted()], "burnt"],
    ["no event of the settler", [transfer(), proxied], "absent"],
    ["the event of another contract", [transfer(), proxied, elsewhere(submitted())], "absent"]
  ]

const operationRows: ReadonlyArray<
  readonly [string, ReadonlyArray<EvmRpc.Log>, UserOperationEvidence.OperationVerdict]
> = [
  ["its transfer", [validated, transfer(), executed()], "paid"],
  [
    "its transfer behind another's",
    [validated, transfer(), executed(entryPoint, amount(1n), payer, 1n, 1n), transfer(), executed()],
    "paid"
  ],
  ["a transfer before the validations", [transfer(), validated, executed()], "failed"],
  ["a transfer behind its end", [validated, executed(), transfer()], "failed"],
  ["two transfers", [validated, transfer(), transfer(), executed()], "failed"],
  ["less", [validated, transfer(payer, payee, 9_999n), executed()], "failed"],
  ["a transfer to another account", [validated, transfer(payer, other), executed()], "failed"],
  ["a transfer in another token", [validated, elsewhere(transfer()), executed()], "failed"],
  ["an execution that failed", [validated, transfer(), executed(entryPoint, operation.hash, payer, 0n)], "failed"],
  ["a transfer by an authorization", [validated, used(payer, otherNonce), transfer(), executed()], "failed"],
  ["a transfer by a permit", [validated, transfer(), proxied, submitted(), executed()], "failed"],
  [
    "a permit of another payer's beside it",
    [validated, transfer(other), proxied, submitted(amount(7n), other), transfer(), executed()],
    "paid"
  ],
  ["a permit behind its end", [validated, transfer(), executed(), proxied, submitted()], "paid"],
  [
    "a transfer of another payer's by an authorization beside it",
    [validated, used(other), transfer(other), transfer(), executed()],
    "paid"
  ],
  [
    "a transfer by an operation of another EntryPoint",
    [validated, transfer(), executed(otherEntryPoint, amount(2n)), executed()],
    "failed"
  ],
  ["another operation under its nonce", [validated, transfer(), executed(entryPoint, amount(1n))], "burnt"],
  ["the end of another sender's", [validated, transfer(), executed(entryPoint, operation.hash, other)], "absent"],
  ["its end in another contract", [validated, transfer(), executed(otherEntryPoint)], "absent"]
]

const transfers = (logs: ReadonlyArray<EvmRpc.Log>) =>
  logs.filter(({ topics: [event] }) => event === Eip3009.transferTopic).length

describe("EvmTransferEvidence", () => {
  for (const [what, logs, verdict] of rows) {
    it(`judges ${what}: ${verdict}`, () => {
      assert.strictEqual(EvmTransferEvidence.judge(expected, EvmTransferEvidence.usesIn(logs)), verdict)
    })
  }

  for (const [what, logs, verdict] of permitRows) {
    it(`judges a permit with ${what}: ${verdict}`, () => {
      const judged = EvmTransferEvidence.judge({ ...expected, permit }, EvmTransferEvidence.usesIn(logs))
      assert.strictEqual(judged, verdict)
    })
  }

  it("counts no transfer for two payments of the three ways", () => {
    const authorization = { ...expected, authorization: { ...expected.authorization, nonce: otherNonce } }
    const ways = [
      authorization,
      { ...expected, permit },
      { ...expected, permit: { ...permit, nonce: BigInt(otherNonce) } },
      { ...expected, operation }
    ]
    for (const [what, logs] of [...permitRows, ...operationRows]) {
      const uses = EvmTransferEvidence.usesIn(logs)
      const paid = ways.filter((one) => EvmTransferEvidence.judge(one, uses) === "paid")
      assert.isAtMost(paid.length, transfers(logs), what)
    }
  })

  for (const [what, logs, verdict] of operationRows) {
    it(`judges an operation with ${what}: ${verdict}`, () => {
      const judged = UserOperationEvidence.judge(operation, { token, to: payee, value: 10_000n }, logs)
      assert.strictEqual(judged, verdict)
    })
  }

  it("tells a cancellation from a use", () => {
    assert.isTrue(EvmTransferEvidence.isCancellation(canceled.topics))
    assert.isFalse(EvmTransferEvidence.isCancellation(used().topics))
    assert.isFalse(EvmTransferEvidence.isCancellation([]))
  })
})

const transaction = hash("1")

const receipt: EvmRpc.Receipt = {
  transactionHash: transaction,
  status: "success",
  blockNumber: 7n,
  blockHash: hash("b"),
  gasUsed: 1n,
  logs: []
}
const silent = new ChainUnavailable({ network: "eip155:1", message: "silence" })

const canonical = (
  found: EvmRpc.Receipt | undefined,
  block: Effect.Effect<Pick<EvmRpc.Block, "hash" | "timestamp"> | undefined, ChainUnavailable>
) => {
  const rpc = {
    getTransactionReceipt: () => Effect.succeed(found),
    getBlock: (number: bigint) => (number === 7n ? block : Effect.die(new Error("another block")))
  } as unknown as EvmRpc.Shape
  return EvmTransferEvidence.canonicalReceipt(rpc, transaction)
}

describe("a canonical receipt is shown", () => {
  it.effect("when its block is part of the chain", () =>
    Effect.gen(function* () {
      const seen = yield* canonical(receipt, Effect.succeed({ hash: hash("b"), timestamp: 12n }))
      assert.deepStrictEqual(seen, { ...receipt, time: 12 })
    })
  )

  it.effect("not when another block is in that place, or none is known", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* canonical(receipt, Effect.succeed({ hash: hash("c"), timestamp: 12n })))
      assert.isUndefined(yield* canonical(receipt, Effect.undefined))
    })
  )

  it.effect("not when there is none, and then no block is requested", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* canonical(undefined, Effect.die(new Error("asked"))))
    })
  )

  it.effect("by no node while the block cannot be read", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Effect.flip(canonical(receipt, Effect.fail(silent))), silent)
    })
  )
})
