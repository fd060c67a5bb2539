/** A node that lags behind others: its results against a payment do not count. */
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { layerEach } from "../../../../core/test/LayerEach.ts"
import { Erc1271Wallet, EvmTestChain } from "../../src/testing/index.ts"
import * as Batch from "../EvmTestBatch.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as RpcProxy from "../RpcProxy.ts"

const chain = EvmTestChain.EvmTestChain

const isNumber = (tag: unknown): tag is string => typeof tag === "string" && tag.startsWith("0x")

/**
 * Some of the responses to a method come from a node whose newest block has this number: the newest state is that one's, and
 * later blocks are unknown to it.
 */
const behind = (rpcUrl: string, head: bigint, isBehind: (asked: number) => boolean): RpcProxy.Fault => {
  let asked = 0
  return async (response, { id, method, params }) => {
    const tag = params[1]
    const late = isBehind(asked++)
    if (late && isNumber(tag) && BigInt(tag) > head) {
      const error = { code: -32_000, message: "header not found" }
      return void response.end(JSON.stringify({ jsonrpc: "2.0", id, error }))
    }
    const at = late ? params.with(1, isNumber(tag) ? tag : `0x${head.toString(16)}`) : params
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: at })
    const answer = await fetch(rpcUrl, { method: "POST", headers: { "content-type": "application/json" }, body })
    response.end(await answer.text())
  }
}

/** A scheme facilitator whose node is behind a block ago for these of the responses about state, from now on. */
const withNodeBehind = Effect.fnUntraced(function* (
  isBehind: (asked: number) => boolean,
  change: Effect.Effect<unknown, never, EvmTestChain.EvmTestChain>
) {
  const { client, rpcUrl } = yield* chain
  const proxy = yield* RpcProxy.make
  const schemeFacilitator = yield* Payment.scheme(yield* chain, { rpcUrl: proxy.url, contractPayers: "any" })
  yield* schemeFacilitator.verify(yield* Payment.read(schemeFacilitator, yield* Payment.payment()))
  const head = yield* Effect.promise(() => client.getBlockNumber({ cacheTime: 0 }))
  yield* change
  const fault = behind(rpcUrl, head, isBehind)
  for (const method of ["eth_call", "eth_getCode"]) proxy.spoil(method, fault)
  return { schemeFacilitator, proxy }
})

const everyOther = (number: number) => number % 2 === 0
const always = () => true

const deposit = (place: number) =>
  Effect.gen(function* () {
    const { mint } = yield* chain
    yield* mint((yield* Batch.payerAt(place)).address, 1_000_000n)
  })
const paid = (place: number) =>
  Effect.gen(function* () {
    const account = yield* Batch.payerAt(place)
    const deviation = { from: account.address, signer: account, signed: { value: 20_000n } }
    return yield* Payment.payment({ ...deviation, requirements: { maxAmountRequired: "20000" } })
  })

describe.concurrent("a payer whose money came in the last block", () => {
  layerEach(EvmTestChain.layer({ payers: 5, payerBalance: 10_000n }))((it) => {
    it.effect("is good, though one of the nodes does not know of it", () =>
      Effect.gen(function* () {
        const { schemeFacilitator } = yield* withNodeBehind(everyOther, deposit(1))
        const payment = yield* Payment.read(schemeFacilitator, yield* paid(1))
        for (let time = 0; time < 4; time++) yield* schemeFacilitator.verify(payment)
        assert.isTrue((yield* schemeFacilitator.balance(payment)) >= 20_000n)
      })
    )

    it.effect(
      "is neither good nor bad while no node knows of it, and bad only by the newest block that was shown",
      () =>
        Effect.gen(function* () {
          const { schemeFacilitator, proxy } = yield* withNodeBehind(always, deposit(2))
          const payment = yield* Payment.read(schemeFacilitator, yield* paid(2))
          assert.strictEqual(yield* Payment.outcome(schemeFacilitator.verify(payment)), "ChainUnavailable")
          assert.strictEqual(yield* Payment.outcome(schemeFacilitator.balance(payment)), "ChainUnavailable")
          // All nodes forget the block: the scheme facilitator has seen it, and does not.
          yield* schemeFacilitator.chainHead
          const stale = (yield* schemeFacilitator.chainHead).head.number - 1n
          proxy.spoil("eth_blockNumber", RpcProxy.result(`0x${stale.toString(16)}`))
          assert.strictEqual(yield* Payment.outcome(schemeFacilitator.verify(payment)), "ChainUnavailable")
          proxy.mend()
          assert.strictEqual(yield* Payment.outcome(schemeFacilitator.verify(payment)), "ok")
          const [poor] = [yield* Payment.read(schemeFacilitator, yield* paid(3))]
          assert.strictEqual(
            yield* Payment.outcome(schemeFacilitator.verify(poor)),
            "INSUFFICIENT_BALANCE balance_below_amount"
          )
        })
    )

    it.effect("is good for those who are verified together with it", () =>
      Effect.gen(function* () {
        const { schemeFacilitator } = yield* withNodeBehind((number) => number === 0, deposit(4))
        const payments = yield* Effect.forEach([paid(4), Payment.payment()], (one) =>
          Effect.flatMap(one, (request) => Payment.read(schemeFacilitator, request))
        )
        const verdicts = yield* Effect.forEach(
          payments,
          (payment) => Payment.outcome(schemeFacilitator.verify(payment)),
          {
            concurrency: "unbounded"
          }
        )
        assert.deepStrictEqual(verdicts, ["ok", "ok"])
      })
    )
  })
})

describe.concurrent("a contract account that was deployed in the last block", () => {
  layerEach(EvmTestChain.layer())((it) => {
    it.effect("pays, though one of the nodes knows no code there", () =>
      Effect.gen(function* () {
        const { accounts, deploy, mint } = yield* chain
        let wallet: string | undefined
        const deployed = Effect.gen(function* () {
          const address = yield* deploy(Erc1271Wallet, [accounts.payers[0].address])
          yield* mint(address, 1_000_000n)
          wallet = address
        })
        const { schemeFacilitator } = yield* withNodeBehind(everyOther, deployed)
        const request = yield* Payment.payment({ ...(wallet && { from: wallet }) })
        yield* schemeFacilitator.verify(yield* Payment.read(schemeFacilitator, request))
      })
    )
  })
})
