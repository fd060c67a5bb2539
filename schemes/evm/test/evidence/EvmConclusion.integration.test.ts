/** The last word on an authorization whose validity is over, as blocks that are final show it. */
import { assert, describe } from "@effect/vitest"
import type { Conclusion } from "@pontage/core"
import * as Effect from "effect/Effect"

import { layerEach } from "../../../../core/test/LayerEach.ts"
import { EvmTestChain } from "../../src/testing/index.ts"
import * as Batch from "../EvmTestBatch.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as Token from "../EvmTestToken.ts"
import * as RpcProxy from "../RpcProxy.ts"

const chain = EvmTestChain.EvmTestChain
const finalityDepth = 3

const head = Effect.flatMap(chain, ({ client }) => Effect.promise(() => client.getBlock()))

/** A payment that is valid for a minute of the chain's time, and how to come to its last word. */
const start = Effect.fnUntraced(function* (place: number, options: Payment.FacilitatorOptions = {}) {
  const { accounts, mine, send, setNextBlockTimestamp } = yield* chain
  const schemeFacilitator = yield* Payment.scheme(yield* chain, { finalityDepth, ...options })
  const account = yield* Batch.payerAt(place)
  const { number: since, timestamp } = yield* head
  const validBefore = timestamp + 60n
  const signed = yield* Batch.signedBy(account, { signed: { validBefore } })
  const payment = yield* Payment.read(schemeFacilitator, signed.request)
  /** The first block whose time is this many seconds from the end of the validity, and as many blocks behind it. */
  const pass = Effect.fnUntraced(function* (seconds: bigint, blocks: number) {
    yield* setNextBlockTimestamp(validBefore + seconds)
    yield* mine()
    yield* mine(blocks)
  })
  const conclude = schemeFacilitator.conclude({ payment, since })
  const submitted = (call: Pick<EvmTestChain.TestTransaction, "to" | "data"> = signed.call) =>
    send({ from: accounts.stranger.address, ...call })
  return { account, conclude, schemeFacilitator, pass, payment, since, submitted, ...signed }
})

const isUnused = (conclusion: Conclusion) =>
  Effect.gen(function* () {
    assert.strictEqual(conclusion._tag, "Unused")
    if (conclusion._tag !== "Unused") return
    const { client } = yield* chain
    const { number, hash } = conclusion.at
    const block = yield* Effect.promise(() => client.getBlock({ blockNumber: number }))
    assert.strictEqual(hash, block.hash)
    assert.strictEqual(number, (yield* head).number - BigInt(finalityDepth))
  })

const pending = { _tag: "Pending" }

describe.concurrent("EvmConclusion", () => {
  layerEach(EvmTestChain.layer({ payers: 12 }))((it) => {
    it.effect("knows nothing until the final block is past the validity, and then that nothing was used", () =>
      Effect.gen(function* () {
        const { mine } = yield* chain
        const { conclude, pass } = yield* start(0)
        assert.deepStrictEqual(yield* conclude, pending)
        yield* pass(-1n, finalityDepth)
        assert.deepStrictEqual(yield* conclude, pending, "the final block is of the last second")
        const another = yield* start(0)
        yield* another.pass(0n, finalityDepth - 1)
        assert.deepStrictEqual(yield* another.conclude, pending, "one block is missing")
        yield* mine()
        yield* isUnused(yield* another.conclude)
      })
    )

    it.effect("finds the transfer, whoever sent it", () =>
      Effect.gen(function* () {
        const { conclude, pass, submitted } = yield* start(1)
        const { blockHash, blockNumber, transactionHash } = yield* submitted()
        const block = { number: blockNumber, hash: blockHash }
        const settled = { _tag: "Settled", transaction: transactionHash, block, external: true } as const
        assert.deepStrictEqual(yield* conclude, settled)
        yield* pass(0n, finalityDepth)
        assert.deepStrictEqual(yield* conclude, settled)
      })
    )

    it.effect("counts what was taken back as unused", () =>
      Effect.gen(function* () {
        const { account, authorization, conclude, pass, submitted } = yield* start(2)
        yield* submitted(yield* Token.cancellation(authorization, account))
        assert.deepStrictEqual(yield* conclude, pending)
        yield* pass(0n, finalityDepth)
        yield* isUnused(yield* conclude)
      })
    )

    it.effect("counts what was burnt on another recipient, or on less, as unused", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        for (const change of [{ to: Payment.parsed(accounts.deployer.address) }, { value: 1n }]) {
          const { account, authorization, call, conclude, pass, submitted } = yield* start(3)
          const other = { ...authorization, ...change }
          yield* submitted(Token.transfer(call.to, other, yield* Payment.sign(other, { signer: account })))
          assert.deepStrictEqual(yield* conclude, pending)
          yield* pass(0n, finalityDepth)
          yield* isUnused(yield* conclude)
        }
      })
    )

    it.effect("finds the transfer of what nothing was prepared for, any number of blocks later, bound or not", () =>
      Effect.gen(function* () {
        const { mine } = yield* chain
        const { schemeFacilitator, pass, payment, submitted } = yield* start(6)
        const { blockNumber, transactionHash } = yield* submitted()
        const at = Number((yield* head).timestamp)
        yield* pass(0n, finalityDepth)
        yield* mine(2_500)
        const { number: since } = yield* head
        const asked = (earliest: number) => schemeFacilitator.conclude({ payment, since, earliest, unprepared: true })
        for (const earliest of [at - 30, at]) {
          const seen = yield* asked(earliest)
          assert.deepInclude(seen, { _tag: "Settled", transaction: transactionHash, external: true })
          assert.strictEqual(seen._tag === "Settled" && seen.block.number, blockNumber)
        }
        yield* isUnused(yield* asked(at + 1))
        assert.deepStrictEqual(
          yield* schemeFacilitator.conclude({ payment, since }),
          pending,
          "without `earliest` no block is known to search from"
        )
      })
    )

    it.effect("knows its own signer's transfer since the record was made, above and below the first preparation", () =>
      Effect.gen(function* () {
        const { accounts, mine, send } = yield* chain
        const { call, payment, schemeFacilitator, since } = yield* start(10)
        const { blockNumber } = yield* send({ from: accounts.signers[0].address, ...call })
        const at = Number((yield* head).timestamp)
        yield* mine()
        const seen = (since: bigint, earliest?: number) =>
          schemeFacilitator.conclude({ payment, since, ...(earliest !== undefined && { earliest }) })
        for (const prepared of [since, blockNumber, blockNumber + 1n]) {
          assert.deepInclude(yield* seen(prepared, at), { _tag: "Settled", external: false })
        }
        assert.deepInclude(yield* seen(since, at + 1), { _tag: "Settled", external: true }, "older than the record")
        assert.deepStrictEqual(yield* seen(blockNumber, at + 1), pending)
      })
    )

    it.effect("says why a payment's transfer will not be made as soon as the other use of it is final", () =>
      Effect.gen(function* () {
        const { mine } = yield* chain
        const { account, authorization, conclude, payment, schemeFacilitator, submitted } = yield* start(11)
        const cancelled = yield* submitted(yield* Token.cancellation(authorization, account))
        yield* mine(finalityDepth - 1)
        assert.deepStrictEqual(yield* conclude, pending)
        yield* mine()
        const seen = yield* conclude
        yield* isUnused(seen)
        assert.strictEqual(seen._tag === "Unused" && seen.reason?.detail, "nonce_canceled")
        const used = yield* start(11)
        const { blockNumber, transactionHash } = yield* used.submitted()
        yield* mine(finalityDepth)
        const before = yield* schemeFacilitator.conclude({ payment: used.payment, since: blockNumber })
        yield* isUnused(before)
        assert.strictEqual(before._tag === "Unused" && before.reason?.detail, transactionHash)
        assert.strictEqual(cancelled.status, "success")
        assert.notStrictEqual(payment, used.payment)
      })
    )

    it.effect("counts what was used before it was claimed as unused", () =>
      Effect.gen(function* () {
        const { schemeFacilitator, pass, payment, submitted } = yield* start(4)
        const { blockNumber } = yield* submitted()
        yield* pass(0n, finalityDepth)
        yield* isUnused(yield* schemeFacilitator.conclude({ payment, since: blockNumber }))
        assert.strictEqual((yield* schemeFacilitator.conclude({ payment, since: blockNumber - 1n }))._tag, "Settled")
      })
    )

    it.effect("finds the transfer though a node behind tells the head, and knows nothing while no event shows it", () =>
      Effect.gen(function* () {
        const proxy = yield* RpcProxy.make
        const { conclude, submitted } = yield* start(9, { rpcUrl: proxy.url })
        const { request } = yield* chain
        const behind = yield* request("eth_getBlockByNumber", ["latest", false])
        yield* submitted()
        const headBehind: RpcProxy.Fault = async (response, asked, pass) => {
          if (asked.params[0] === "latest") return RpcProxy.result(behind)(response, asked, pass)
          response.end(await pass())
        }
        proxy.spoil("eth_getBlockByNumber", headBehind)
        assert.strictEqual((yield* conclude)._tag, "Settled")
        for (const [method, answer] of [
          ["eth_getLogs", []],
          ["eth_getTransactionReceipt", null]
        ] as const) {
          proxy.mend()
          proxy.spoil(method, RpcProxy.result(answer))
          assert.strictEqual((yield* Effect.flip(conclude))._tag, "ChainUnavailable")
        }
      })
    )

    it.effect("believes no node whose events lag behind its state, and is asked again", () =>
      Effect.gen(function* () {
        const proxy = yield* RpcProxy.make
        const { conclude, pass, submitted } = yield* start(5, { rpcUrl: proxy.url })
        yield* submitted()
        yield* pass(0n, finalityDepth)
        proxy.spoil("eth_getLogs", RpcProxy.result([]))
        assert.deepStrictEqual(yield* conclude, pending)
        proxy.mend()
        proxy.spoil("eth_getTransactionReceipt", RpcProxy.result(null))
        assert.deepStrictEqual(yield* conclude, pending)
        proxy.mend()
        assert.strictEqual((yield* conclude)._tag, "Settled")
      })
    )

    it.effect(
      "needs no events for what the state has as unused: a node that has none cannot keep a payment from its end",
      () =>
        Effect.gen(function* () {
          const proxy = yield* RpcProxy.make
          const { conclude, pass } = yield* start(7, { rpcUrl: proxy.url })
          proxy.spoil("eth_getLogs", RpcProxy.refusal(-32_601, "the method eth_getLogs does not exist"))
          assert.deepStrictEqual(yield* conclude, pending)
          yield* pass(0n, finalityDepth)
          yield* isUnused(yield* conclude)
          const used = yield* start(8, { rpcUrl: proxy.url })
          yield* used.submitted()
          assert.strictEqual((yield* Effect.flip(used.conclude))._tag, "ChainUnavailable")
          proxy.mend()
          assert.strictEqual((yield* used.conclude)._tag, "Settled")
        })
    )

    it.effect("concludes nothing from a node that cannot respond, or does not know the state any more", () =>
      Effect.gen(function* () {
        const proxy = yield* RpcProxy.make
        const { conclude, pass } = yield* start(6, { rpcUrl: proxy.url })
        yield* pass(0n, finalityDepth)
        for (const method of ["eth_getBlockByNumber", "eth_call"]) {
          for (const fault of [
            RpcProxy.broken,
            RpcProxy.httpError,
            RpcProxy.refusal(-32_000, "missing trie node 0x12 (path ) state 0x34 is not available"),
            RpcProxy.result("0x")
          ]) {
            proxy.spoil(method, fault)
            assert.strictEqual((yield* Effect.flip(conclude))._tag, "ChainUnavailable", method)
            proxy.mend()
          }
        }
        proxy.spoil("eth_getBlockByNumber", RpcProxy.result(null))
        assert.strictEqual((yield* Effect.flip(conclude))._tag, "ChainUnavailable")
        proxy.mend()
        yield* isUnused(yield* conclude)
      })
    )
  })
})
