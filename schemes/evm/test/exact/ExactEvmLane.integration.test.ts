/** One signer's line of transactions, and all that can happen to it: everybody behind a fault still gets through, once. */
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import { layerEach } from "../../../../core/test/LayerEach.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"
import { EvmTestChain } from "../../src/testing/index.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as RpcProxy from "../RpcProxy.ts"

const chain = EvmTestChain.EvmTestChain

/** A facilitator, one payment, and what became of it afterwards. */
const start = Effect.fnUntraced(function* (options: Parameters<typeof Payment.facilitator>[0] = {}) {
  const { accounts, client } = yield* chain
  const fromBlock = (yield* Effect.promise(() => client.getBlockNumber())) + 1n
  const facilitator = yield* Payment.facilitator(options)
  const signed = yield* Payment.signedPayment(Payment.bound())
  const settle = (id: string, request = signed.request) =>
    Payment.settled(facilitator.settle(request, Payment.claim(id)))
  const aftermath = Effect.gen(function* () {
    const uses = yield* Payment.timesUsed(signed.authorization)
    return { uses, statuses: yield* Payment.statusesOf(accounts.signers[0].address, fromBlock) }
  })
  return { payment: facilitator.payment, ...signed, settle, aftermath }
})

const isGranted = (end: Effect.Success<ReturnType<typeof Payment.settled>>) => {
  assert.isObject(end)
  assert.deepInclude(end, { status: "included", execution: "granted" })
}

describe.concurrent("a signer's lane", () => {
  layerEach(EvmTestChain.layer({ payers: 6 }))((it) => {
    it.effect("a transaction that is dropped from the pool is sent again as it was", () =>
      Effect.gen(function* () {
        const { drop, mine, setAutomine } = yield* chain
        const { aftermath, payment, request, settle } = yield* start()
        yield* setAutomine(false)
        const settling = yield* Effect.forkChild(settle("one"))
        yield* Payment.pooled(1)
        const record = yield* payment(yield* Payment.idOf(request))
        yield* drop(EvmHex.fromTrusted(record?.transaction ?? ""))
        yield* Payment.pooled(0)
        yield* Payment.pooled(1)
        yield* mine()
        const end = yield* Fiber.join(settling)
        yield* setAutomine(true)
        assert.deepStrictEqual(end, {
          status: "included",
          execution: "granted",
          transaction: record?.transaction ?? "none"
        })
        assert.deepStrictEqual(yield* aftermath, { uses: 1, statuses: ["success"] })
      })
    )

    it.effect(
      "while no block is made the outcome is pending; the same payment settles once when they are made again",
      () =>
        Effect.gen(function* () {
          const { setAutomine, mine } = yield* chain
          const { aftermath, settle } = yield* start({ settleTimeoutMillis: 300 })
          yield* setAutomine(false)
          assert.strictEqual(yield* settle("one"), "SettlementPending")
          assert.strictEqual(yield* settle("two"), "SettlementPending")
          yield* mine()
          yield* setAutomine(true)
          isGranted(yield* Effect.repeat(settle("three"), { while: (end) => end === "SettlementPending" }))
          assert.include(yield* settle("four"), { execution: "held" })
          assert.deepStrictEqual(yield* aftermath, { uses: 1, statuses: ["success"] })
        })
    )

    it.effect("without gas money nothing is lost: funded, the signer settles the same payment", () =>
      Effect.gen(function* () {
        const { accounts, client, setBalance } = yield* chain
        const [{ address }] = accounts.signers
        const { aftermath, payment, request, settle } = yield* start({ settleTimeoutMillis: 300 })
        const balance = yield* Effect.promise(() => client.getBalance({ address }))
        yield* setBalance(address, 0n)
        const pending = settle("one")
        const status = Effect.map(payment(yield* Payment.idOf(request)), (record) => record?.status)
        const before = yield* pending
        // A busy machine may still be planning it when the caller has stopped waiting.
        yield* Effect.repeat(status, { until: (now) => now === "planned" })
        yield* setBalance(address, balance)
        assert.strictEqual(before, "SettlementPending")
        isGranted(yield* Effect.repeat(settle("two"), { while: (end) => end === "SettlementPending" }))
        assert.deepStrictEqual(yield* aftermath, { uses: 1, statuses: ["success"] })
      })
    )

    it.effect("a refused transaction leaves no hole: those behind it settle, and so does it in the end", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const proxy = yield* RpcProxy.make
        const { aftermath, settle } = yield* start({ rpcUrl: proxy.url })
        const requests = yield* Effect.forEach(accounts.payers, (signer) =>
          Payment.payment({ from: signer.address, signer })
        )
        const refusal = RpcProxy.refusal(-32_000, "insufficient funds for gas * price + value")
        proxy.spoil("eth_sendRawTransaction", refusal, 1)
        const ends = yield* Effect.forEach(requests, (request, index) => settle(`hole${index}`, request), {
          concurrency: "unbounded"
        })
        // The refused one stays in its slot and settles; nothing new follows it as long as the node refuses.
        const turnedAway = ends.filter((end) => typeof end === "string")
        assert.isBelow(turnedAway.length, requests.length)
        assert.deepStrictEqual(turnedAway, Array(turnedAway.length).fill("FacilitatorUnavailable"))
        const refused = requests.filter((_request, index) => typeof ends[index] === "string")
        const again = yield* Effect.forEach(refused, (request) => settle("again", request))
        again.forEach(isGranted)
        const { statuses } = yield* aftermath
        assert.deepStrictEqual(statuses, Array(requests.length).fill("success"))
      })
    )

    it.effect("a foreign transaction of the signer's key took our number: the payment moves on and settles once", () =>
      Effect.gen(function* () {
        const { accounts, send } = yield* chain
        const { aftermath, settle } = yield* start()
        isGranted(yield* settle("first"))
        yield* send({ from: accounts.signers[0].address, to: accounts.stranger.address, value: 1n })
        const { authorization, request } = yield* Payment.signedPayment()
        isGranted(yield* settle("second", request))
        assert.strictEqual(yield* Payment.timesUsed(authorization), 1)
        assert.deepStrictEqual((yield* aftermath).statuses, ["success", "success", "success"])
      })
    )

    it.effect("a foreign transaction that ousts ours from the pool: the payment moves on and settles once", () =>
      Effect.gen(function* () {
        const { accounts, mine, request, setAutomine } = yield* chain
        const { aftermath, settle } = yield* start()
        yield* setAutomine(false)
        const settling = yield* Effect.forkChild(settle("one"))
        yield* Payment.pooled(1)
        const from = accounts.signers[0].address
        const { nonce } = yield* Payment.pendingOf(from)
        const fees = { maxFeePerGas: "0x174876e800", maxPriorityFeePerGas: "0x174876e800" }
        yield* request("eth_sendTransaction", [{ from, to: accounts.stranger.address, gas: "0x5208", nonce, ...fees }])
        yield* mine()
        yield* setAutomine(true)
        isGranted(yield* Fiber.join(settling))
        assert.deepStrictEqual(yield* aftermath, { uses: 1, statuses: ["success", "success"] })
      })
    )

    it.effect("a base fee that leaps up evicts ours: the payment is signed anew and settles once", () =>
      Effect.gen(function* () {
        const { mine, setAutomine, setNextBlockBaseFee } = yield* chain
        const { aftermath, settle } = yield* start()
        yield* setAutomine(false)
        const settling = yield* Effect.forkChild(settle("one"))
        yield* Payment.pooled(1)
        yield* setNextBlockBaseFee(200_000_000_000n)
        yield* mine()
        yield* setAutomine(true)
        isGranted(yield* Fiber.join(settling))
        assert.deepStrictEqual(yield* aftermath, { uses: 1, statuses: ["success"] })
      })
    )
  })
})
