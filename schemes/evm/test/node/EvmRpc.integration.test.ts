import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { keccak256, parseGwei } from "viem"

import * as EvmRpc from "../../src/node/EvmRpc.ts"
import { EvmTestChain } from "../../src/testing/index.ts"
import * as Eip3009 from "../../src/transfer/Eip3009.ts"
import * as TestAuthorization from "../TestAuthorization.ts"

const { address } = TestAuthorization
const chain = EvmTestChain.EvmTestChain
const connect = Effect.flatMap(chain, ({ network, rpcUrl }) => EvmRpc.make({ url: rpcUrl, network }))

const plain = {
  gas: 21_000n,
  maxFeePerGas: parseGwei("10"),
  maxPriorityFeePerGas: parseGwei("1"),
  type: "eip1559"
} as const

describe("EvmRpc", () => {
  layer(EvmTestChain.layer({ payers: 1 }))((it) => {
    it.effect("reads the chain's facts", () =>
      Effect.gen(function* () {
        const { accounts, chainId, client, token } = yield* chain
        const rpc = yield* connect
        assert.strictEqual(yield* rpc.chainId, chainId)
        const latest = yield* rpc.getBlock("latest")
        const expected = yield* Effect.promise(() => client.getBlock())
        assert.deepStrictEqual<unknown>(latest, {
          number: expected.number,
          hash: expected.hash,
          timestamp: expected.timestamp,
          baseFeePerGas: expected.baseFeePerGas
        })
        assert.strictEqual(yield* rpc.blockNumber, expected.number)
        assert.strictEqual((yield* rpc.getBlock(0n))?.number, 0n)
        assert.strictEqual((yield* rpc.getBlock("finalized"))?.number, 0n)
        assert.isUndefined(yield* rpc.getBlock(10n ** 9n))
        assert.strictEqual(yield* rpc.getBalance(address(accounts.payers[0].address)), 0n)
        assert.strictEqual(yield* rpc.getCode(address(accounts.payee.address)), "0x")
        assert.match(yield* rpc.getCode(address(token.address)), /^0x60/)
        assert.isAbove(Number(yield* rpc.maxPriorityFeePerGas), 0)
      })
    )

    it.effect("sends, and tells what a node has against a transaction", () =>
      Effect.gen(function* () {
        const { accounts, chainId, mine, receipt, setAutomine } = yield* chain
        const rpc = yield* connect
        const [signer] = accounts.signers
        const to = accounts.payee.address
        const from = address(signer.address)
        const send = (fields: object, account = signer) =>
          Effect.flatMap(
            Effect.promise(() => account.signTransaction({ ...plain, chainId, to, nonce: 0, ...fields })),
            rpc.sendRawTransaction
          )
        const bytes = yield* Effect.promise(() => signer.signTransaction({ ...plain, chainId, to, nonce: 0 }))
        const hash = keccak256(bytes)
        yield* setAutomine(false)
        assert.deepStrictEqual(yield* rpc.sendRawTransaction(bytes), { _tag: "Accepted", hash })
        assert.strictEqual((yield* rpc.sendRawTransaction(bytes))._tag, "AlreadyKnown")
        assert.isUndefined(yield* rpc.getTransactionReceipt(hash))
        assert.strictEqual(yield* rpc.getTransactionCount(from, "latest"), 0)
        assert.strictEqual(yield* rpc.getTransactionCount(from, "pending"), 1)
        assert.strictEqual((yield* send({ value: 1n }))._tag, "Underpriced")
        assert.strictEqual((yield* send({ nonce: 1, maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }))._tag, "Underpriced")
        assert.strictEqual((yield* send({}, accounts.payers[0]))._tag, "InsufficientFunds")
        assert.strictEqual((yield* send({ nonce: 1, chainId: 7 }))._tag, "Rejected")
        yield* mine()
        yield* receipt(hash)
        assert.strictEqual((yield* rpc.getTransactionReceipt(hash))?.status, "success")
        assert.strictEqual((yield* rpc.sendRawTransaction(bytes))._tag, "NonceTooLow")
        yield* setAutomine(true)
      })
    )

    it.effect("finds a payment by its logs, and loses it in a reorganisation", () =>
      Effect.gen(function* () {
        const { reorg, send, token } = yield* chain
        const rpc = yield* connect
        const authorization = yield* TestAuthorization.make()
        const data = Eip3009.encodeTransferByParts(authorization, yield* TestAuthorization.sign(authorization))
        const sent = yield* send({ to: token.address, data })
        const receipt = yield* rpc.getTransactionReceipt(sent.transactionHash)
        assert(receipt !== undefined)
        const filter = {
          address: address(token.address),
          topics: [Eip3009.authorizationUsedTopic, Eip3009.addressTopic(authorization.from), authorization.nonce]
        } as const
        const everywhere = { fromBlock: 0n, toBlock: receipt.blockNumber }
        const [used, ...others] = yield* rpc.getLogs(filter, everywhere)
        assert(used !== undefined)
        const { address: by, data: words, topics } = used
        assert.deepStrictEqual({ address: by, topics, data: words }, receipt.logs[0])
        assert.strictEqual(used.transactionHash, receipt.transactionHash)
        assert.lengthOf(others, 0)
        assert.strictEqual(receipt.logs[1]?.topics[0], Eip3009.transferTopic)
        assert.strictEqual(receipt.effectiveGasPrice, sent.effectiveGasPrice)
        const inItsBlock = { hash: receipt.blockHash }
        assert.deepStrictEqual(yield* rpc.getLogs(filter, inItsBlock), [used])
        const nonceState = {
          to: address(token.address),
          data: Eip3009.encodeAuthorizationState(authorization.from, authorization.nonce)
        }
        assert.deepStrictEqual(yield* rpc.call(nonceState, inItsBlock), yield* rpc.call(nonceState))
        yield* reorg(1)
        assert.isUndefined(yield* rpc.getTransactionReceipt(sent.transactionHash))
        assert.deepStrictEqual(yield* rpc.getLogs(filter, everywhere), [])
        assert.strictEqual((yield* Effect.flip(rpc.getLogs(filter, inItsBlock)))._tag, "ChainUnavailable")
        assert.strictEqual((yield* Effect.flip(rpc.call(nonceState, inItsBlock)))._tag, "ChainUnavailable")
      })
    )
  })
})
