/** The use of an authorization, for a seller whose facilitator cannot name it. */
import { assert, describe } from "@effect/vitest"
import { PaymentPayload } from "@pontage/core"
import * as Effect from "effect/Effect"

import { layerEach } from "../../../../core/test/LayerEach.ts"
import { exactEvm } from "../../src/index.ts"
import { EvmTestChain } from "../../src/testing/index.ts"
import * as Batch from "../EvmTestBatch.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as Token from "../EvmTestToken.ts"
import * as RpcProxy from "../RpcProxy.ts"

const chain = EvmTestChain.EvmTestChain

/** A payment, how to submit something in its place, and the question. */
const start = Effect.fnUntraced(function* (place: number, rpcUrl?: string) {
  const shape = yield* chain
  const schemeFacilitator = exactEvm.server({ rpcUrl: rpcUrl ?? shape.rpcUrl, assets: [Payment.asset(shape)] })
  const account = yield* Batch.payerAt(place)
  const signed = yield* Batch.signedBy(account)
  const json = yield* Effect.fromResult(PaymentPayload.openPayload(signed.request.paymentPayload))
  const useSince = (since: number) =>
    schemeFacilitator.useOf?.(signed.request.paymentRequirements, json, since) ?? Effect.die("it cannot tell")
  const use = useSince(0)
  const submitted = (call: Pick<EvmTestChain.TestTransaction, "to" | "data"> = signed.call) =>
    shape.send({ from: shape.accounts.stranger.address, ...call })
  return { account, use, useSince, submitted, ...signed }
})

const unseen = { _tag: "Unseen" }

describe.concurrent("exactEvm.server tells what has used an authorization", () => {
  layerEach(EvmTestChain.layer({ payers: 5 }))((it) => {
    it.effect("nothing, and then the payment, whoever sent it, with the time of its block", () =>
      Effect.gen(function* () {
        const { client, mine } = yield* chain
        const { submitted, use } = yield* start(0)
        assert.deepStrictEqual(yield* use, unseen)
        const { blockNumber, transactionHash } = yield* submitted()
        yield* mine(5)
        const { timestamp } = yield* Effect.promise(() => client.getBlock({ blockNumber }))
        const settled = { _tag: "Settled", transaction: transactionHash, time: Number(timestamp) } as const
        assert.deepStrictEqual(yield* use, settled)
      })
    )

    it.effect("the payment, also long after it, and looks no further back than to when it was taken", () =>
      Effect.gen(function* () {
        const { client, mine } = yield* chain
        const proxy = yield* RpcProxy.make
        const { submitted, useSince } = yield* start(4, proxy.url)
        const { blockNumber, transactionHash } = yield* submitted()
        const { timestamp } = yield* Effect.promise(() => client.getBlock({ blockNumber }))
        yield* mine(1500)
        const paid = Number(timestamp)
        const settled = { _tag: "Settled", transaction: transactionHash, time: paid } as const
        assert.deepStrictEqual(yield* useSince(paid - 30), settled)
        const looks = () => proxy.requests.filter(({ method }) => method === "eth_getLogs").length
        const before = looks()
        assert.deepStrictEqual(yield* useSince(paid + 1000), unseen)
        assert.strictEqual(looks() - before, 1)
      })
    )

    it.effect("its cancellation", () =>
      Effect.gen(function* () {
        const { account, authorization, submitted, use } = yield* start(1)
        yield* submitted(yield* Token.cancellation(authorization, account))
        const seen = yield* use
        assert(seen._tag === "Burnt")
        assert.deepInclude(seen.error, { reason: "already_used", detail: "nonce_canceled" })
      })
    )

    it.effect("a transfer to another account, or of less", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        for (const change of [{ to: Payment.parsed(accounts.deployer.address) }, { value: 1n }]) {
          const { account, authorization, call, submitted, use } = yield* start(2)
          const other = { ...authorization, ...change }
          yield* submitted(Token.transfer(call.to, other, yield* Payment.sign(other, { signer: account })))
          assert.strictEqual((yield* use)._tag, "Burnt")
        }
      })
    )

    it.effect("nothing by a node that lags behind, and no response by one that has none", () =>
      Effect.gen(function* () {
        const proxy = yield* RpcProxy.make
        const { submitted, use } = yield* start(3, proxy.url)
        yield* submitted()
        for (const [method, empty] of [
          ["eth_getLogs", []],
          ["eth_getTransactionReceipt", null],
          ["eth_getBlockByNumber", null]
        ] as const) {
          proxy.spoil(method, RpcProxy.result(empty))
          assert.deepStrictEqual(yield* use, unseen, method)
          proxy.mend()
          proxy.spoil(method, RpcProxy.httpError)
          assert.strictEqual((yield* Effect.flip(use))._tag, "ChainUnavailable", method)
          proxy.mend()
        }
        assert.strictEqual((yield* use)._tag, "Settled")
      })
    )
  })
})
