/** Nodes that cap their logs, tell false receipts or are behind their fellows: no payment fails by them, and each is found. */
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { layerEach } from "../../../../core/test/LayerEach.ts"
import * as EvmChainHead from "../../src/node/EvmChainHead.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"
import { EvmTestChain } from "../../src/testing/index.ts"
import * as Batch from "../EvmTestBatch.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as Token from "../EvmTestToken.ts"
import * as RpcProxy from "../RpcProxy.ts"

const chain = EvmTestChain.EvmTestChain
const finalityDepth = 4

/** A payment with this validity in seconds, prepared by a scheme facilitator behind a node whose responses can be spoilt. */
const planned = Effect.fnUntraced(function* (place: number, validFor = 60n) {
  const proxy = yield* RpcProxy.make
  const schemeFacilitator = yield* Payment.scheme(yield* chain, {
    rpcUrl: proxy.url,
    finalityDepth,
    rpcTimeoutMillis: 600_000
  })
  const account = yield* Batch.payerAt(place)
  const validBefore = (yield* Payment.latestTime) + validFor
  const signed = yield* Batch.signedBy(account, { signed: { validBefore } })
  const payment = yield* Payment.read(schemeFacilitator, signed.request)
  yield* schemeFacilitator.verify(payment)
  const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
  const look = Payment.observeAlone(schemeFacilitator, payment, prepared)
  const seen = Effect.map(look, ({ observation }) => observation._tag)
  const conclude = schemeFacilitator.conclude({ payment, since: prepared.head })
  return { ...signed, account, conclude, schemeFacilitator, look, payment, prepared, proxy, seen, validBefore }
})

const falseReceipt = RpcProxy.changed({ status: "0x0", logs: [] })
const zero = `0x${"0".repeat(64)}`

describe.concurrent("a node that answers about the events of 50 blocks at once", () => {
  layerEach(EvmTestChain.layer({ payers: 4 }))((it) => {
    it.effect("shows who has moved the money, however many blocks have passed", () =>
      Effect.gen(function* () {
        const { accounts, mine, send } = yield* chain
        const { call, schemeFacilitator, look, prepared, proxy } = yield* planned(0, 3_000n)
        proxy.spoil("eth_getLogs", RpcProxy.cappedLogs(50n))
        yield* mine(470)
        const { transactionHash } = yield* send({ from: accounts.stranger.address, ...call })
        yield* mine(530)
        yield* schemeFacilitator.submit(prepared)
        const { inclusion, observation } = yield* Effect.repeat(look, {
          while: ({ inclusion }) => inclusion === undefined
        })
        assert.strictEqual(inclusion?.transaction, prepared.transaction)
        assert.deepInclude(observation, { _tag: "Settled", transaction: transactionHash, external: true })
        // A refusal for the first hundred blocks, and then what it takes.
        const logs = proxy.requests.filter(({ method }) => method === "eth_getLogs").length
        assert.isAtMost(logs, 16)
      })
    )

    it.effect("shows the end of a payment that was never submitted, without a single request for events", () =>
      Effect.gen(function* () {
        const { mine } = yield* chain
        const { conclude, proxy, validBefore } = yield* planned(1)
        proxy.spoil("eth_getLogs", RpcProxy.cappedLogs(50n))
        yield* mine(300)
        yield* Payment.finalise(validBefore, finalityDepth)
        assert.strictEqual((yield* conclude)._tag, "Unused")
        assert.isEmpty(proxy.requests.filter(({ method }) => method === "eth_getLogs"))
      })
    )

    it.effect("is asked no further than the first block past the validity", () =>
      Effect.gen(function* () {
        const { accounts, mine, send } = yield* chain
        const { conclude, call, proxy, validBefore } = yield* planned(2)
        const { transactionHash } = yield* send({ from: accounts.stranger.address, ...call })
        yield* Payment.finalise(validBefore, finalityDepth)
        yield* mine(400)
        proxy.spoil("eth_getLogs", RpcProxy.cappedLogs(50n))
        assert.deepInclude(yield* conclude, { _tag: "Settled", transaction: transactionHash })
        assert.isAtMost(proxy.requests.filter(({ method }) => method === "eth_getLogs").length, 3)
      })
    )

    it.effect("shows where a transaction of ours is included though it has no events at all, also a noop", () =>
      Effect.gen(function* () {
        const { accounts, send } = yield* chain
        const { call, schemeFacilitator, look, payment, prepared, proxy } = yield* planned(3)
        proxy.spoil("eth_getLogs", RpcProxy.refusal(-32_601, "the method eth_getLogs does not exist"))
        const { transactionHash } = yield* send({ from: accounts.stranger.address, ...call })
        const slot = prepared.slot ?? assert.fail("there is a slot")
        const noop = yield* schemeFacilitator.noop(slot, yield* schemeFacilitator.chainHead)
        yield* schemeFacilitator.submit(noop)
        const attempts = [prepared, noop]
        const observation = yield* Effect.repeat(
          schemeFacilitator.observe([{ payment, since: prepared.head }], attempts),
          {
            while: ({ inclusion }) => inclusion === undefined
          }
        )
        assert.strictEqual(observation.inclusion?.transaction, noop.transaction)
        assert.deepStrictEqual(observation.observations, [{ _tag: "Pending" }])
        proxy.mend()
        const again = yield* schemeFacilitator.observe([{ payment, since: prepared.head }], attempts)
        assert.deepInclude(again.observations[0], { _tag: "Settled", transaction: transactionHash, external: true })
        assert.isUndefined((yield* look).inclusion)
      })
    )
  })
})

describe.concurrent("a node that tells of a good payment that it has failed", () => {
  layerEach(EvmTestChain.layer({ payers: 6 }))((it) => {
    const lies: Readonly<Record<string, ReadonlyArray<readonly [string, RpcProxy.Fault]>>> = {
      "by its receipt": [["eth_getTransactionReceipt", falseReceipt]],
      "by its receipt, and has no events": [
        ["eth_getTransactionReceipt", falseReceipt],
        ["eth_getLogs", RpcProxy.result([])]
      ],
      "by its receipt and the token's state": [
        ["eth_getTransactionReceipt", falseReceipt],
        ["eth_call", RpcProxy.result(zero)]
      ]
    }
    for (const [place, [name, spoilt]] of Object.entries(lies).entries()) {
      it.effect(`${name}, twice and more, ends nothing: the payment is settled when it tells the truth`, () =>
        Effect.gen(function* () {
          const { mine } = yield* chain
          const { schemeFacilitator, look, prepared, proxy, seen } = yield* planned(place)
          for (const [method, fault] of spoilt) proxy.spoil(method, fault)
          yield* schemeFacilitator.submit(prepared)
          yield* Effect.repeat(look, { while: ({ inclusion }) => inclusion === undefined })
          for (let block = 0; block < 2 * finalityDepth; block++) {
            assert.strictEqual(yield* seen, "Pending")
            assert.strictEqual(yield* seen, "Pending")
            yield* mine()
          }
          proxy.mend()
          assert.strictEqual(yield* seen, "Settled")
        })
      )
    }

    it.effect("once, right when it would be final, ends nothing either", () =>
      Effect.gen(function* () {
        const { conclude, schemeFacilitator, look, prepared, proxy, seen, validBefore } = yield* planned(4)
        yield* schemeFacilitator.submit(prepared)
        yield* Effect.repeat(look, { while: ({ inclusion }) => inclusion === undefined })
        proxy.spoil("eth_getTransactionReceipt", falseReceipt)
        yield* Payment.finalise(validBefore, finalityDepth)
        assert.strictEqual(yield* seen, "Pending")
        assert.strictEqual((yield* conclude)._tag, "Pending")
        proxy.mend()
        assert.strictEqual(yield* seen, "Settled")
        assert.strictEqual((yield* conclude)._tag, "Settled")
      })
    )
  })
})

describe.concurrent("a node behind its fellows", () => {
  layerEach(EvmTestChain.layer({ payers: 3 }))((it) => {
    it.effect("that has neither the events nor the state of the receipt's block is no proof of anything", () =>
      Effect.gen(function* () {
        const { accounts, mine, send } = yield* chain
        const { call, schemeFacilitator, look, prepared, proxy, seen } = yield* planned(0)
        yield* send({ from: accounts.stranger.address, ...call })
        proxy.spoil("eth_getLogs", RpcProxy.result([]))
        proxy.spoil("eth_call", RpcProxy.refusal(-32_000, "header not found"))
        yield* schemeFacilitator.submit(prepared)
        yield* Effect.repeat(look, { while: ({ inclusion }) => inclusion === undefined })
        for (let block = 0; block < 2 * finalityDepth; block++) {
          assert.strictEqual(yield* seen, "Pending")
          yield* mine()
        }
        proxy.mend()
        assert.strictEqual(yield* seen, "Settled")
      })
    )
  })
})

describe.concurrent("a node that has pruned the state of our transaction's block", () => {
  layerEach(EvmTestChain.layer({ payers: 1 }))((it) => {
    it.effect("does not show there what a stranger has moved, and shows it by its newest state", () =>
      Effect.gen(function* () {
        const { accounts, mine, send } = yield* chain
        const { call, conclude, schemeFacilitator, look, prepared, proxy, seen } = yield* planned(0)
        const { transactionHash } = yield* send({ from: accounts.stranger.address, ...call })
        yield* schemeFacilitator.submit(prepared)
        const { inclusion } = yield* Effect.repeat(look, { while: ({ inclusion }) => inclusion === undefined })
        assert.strictEqual(yield* seen, "Settled")
        const { hash, number } = inclusion?.block ?? assert.fail("our transaction is in a block")
        yield* mine(2 * finalityDepth)
        const refuse = RpcProxy.refusal(-32_000, "missing trie node")
        proxy.spoil("eth_call", (response, request, pass) =>
          [hash, EvmHex.toQuantity(number)].some((block) => JSON.stringify(request.params).includes(`"${block}"`))
            ? refuse(response, request, pass)
            : pass().then((text) => void response.end(text))
        )
        const pruned = yield* look
        assert.deepStrictEqual(pruned.inclusion?.block, { hash, number })
        assert.strictEqual(pruned.observation._tag, "Pending")
        assert.deepInclude(yield* conclude, { _tag: "Settled", transaction: transactionHash, external: true })
      })
    )
  })
})

describe.concurrent("a failure in a block that is taken back", () => {
  layerEach(EvmTestChain.layer({ payers: 3, payerBalance: 10_000n }))((it) => {
    it.effect("was not reported, the payer is no longer banned, and the payment is settled", () =>
      Effect.gen(function* () {
        const { accounts, mine, mint, reorg, send } = yield* chain
        const { account, schemeFacilitator, look, payment, prepared, seen } = yield* planned(0)
        yield* Token.allow(account)
        yield* send({ from: accounts.deployer.address, ...(yield* Token.emptying(account.address)) })
        yield* schemeFacilitator.submit(prepared)
        yield* Effect.repeat(look, { while: ({ inclusion }) => inclusion === undefined })
        assert.strictEqual(yield* seen, "Pending")
        const next = Effect.flatMap(Batch.signedBy(account), ({ request }) => Payment.read(schemeFacilitator, request))
        yield* mint(account.address, 20_000n)
        const banned = yield* Payment.outcome(Effect.flatMap(next, (one) => schemeFacilitator.verify(one)))
        assert.strictEqual(banned, "unsupported_authorization account_banned")
        // The mint, our transaction and the emptying are taken back; the blocks in their places are empty.
        yield* reorg(3)
        yield* mine()
        assert.isUndefined((yield* look).inclusion)
        assert.strictEqual(yield* Payment.outcome(Effect.flatMap(next, (one) => schemeFacilitator.verify(one))), "ok")
        yield* schemeFacilitator.submit(prepared)
        yield* Effect.repeat(look, { while: ({ inclusion }) => inclusion === undefined })
        assert.strictEqual(yield* seen, "Settled")
        assert.strictEqual(yield* Payment.outcome(schemeFacilitator.verify(payment)), "already_used nonce_used")
      })
    )

    it.effect("is no reason to lift a ban while a node only does not show it", () =>
      Effect.gen(function* () {
        const { accounts, mine, mint, send } = yield* chain
        const { account, schemeFacilitator, look, prepared, proxy } = yield* planned(1)
        yield* Token.allow(account)
        yield* send({ from: accounts.deployer.address, ...(yield* Token.emptying(account.address)) })
        yield* schemeFacilitator.submit(prepared)
        yield* Effect.repeat(look, { while: ({ inclusion }) => inclusion === undefined })
        yield* mint(account.address, 20_000n)
        const next = Effect.flatMap(Batch.signedBy(account), ({ request }) => Payment.read(schemeFacilitator, request))
        const verdict = Payment.outcome(Effect.flatMap(next, (one) => schemeFacilitator.verify(one)))
        assert.strictEqual(yield* verdict, "unsupported_authorization account_banned")
        proxy.spoil("eth_getTransactionReceipt", RpcProxy.result(null))
        yield* mine()
        assert.isUndefined((yield* look).inclusion)
        assert.strictEqual(yield* verdict, "unsupported_authorization account_banned")
        proxy.mend()
        proxy.spoil("eth_call", RpcProxy.broken)
        yield* mine()
        yield* look
        proxy.mend()
        assert.strictEqual(yield* verdict, "unsupported_authorization account_banned")
      })
    )
  })
})

describe.concurrent("a failure that is held back", () => {
  layerEach(EvmTestChain.layer({ payers: 3, payerBalance: 10_000n }))((it) => {
    const failing = Effect.fnUntraced(function* (place: number, spoil: (proxy: RpcProxy.RpcProxy) => void) {
      const { accounts, send } = yield* chain
      const plan = yield* planned(place)
      const { account, schemeFacilitator, look, prepared, proxy } = plan
      spoil(proxy)
      yield* Token.allow(account)
      yield* send({ from: accounts.deployer.address, ...(yield* Token.emptying(account.address)) })
      yield* schemeFacilitator.submit(prepared)
      yield* Effect.repeat(look, { while: ({ inclusion }) => inclusion === undefined })
      return plan
    })

    it.effect("costs a question or two a look while there is no new block, however often it is looked at", () =>
      Effect.gen(function* () {
        const { mine } = yield* chain
        const { look, proxy } = yield* failing(0, () => undefined)
        yield* look
        proxy.requests.length = 0
        for (let times = 0; times < 20; times++) yield* look
        assert.isAtMost(proxy.requests.length, 40)
        assert.isEmpty(proxy.requests.filter(({ method }) => method !== "eth_getBlockByNumber"))
        proxy.requests.length = 0
        yield* mine()
        yield* look
        assert.isAtMost(proxy.requests.length, 8)
      })
    )

    it.effect("bans its payer also by a node that takes blocks by their numbers alone", () =>
      Effect.gen(function* () {
        const { mint } = yield* chain
        const { account, schemeFacilitator, look, prepared, seen, validBefore } = yield* failing(1, (proxy) => {
          const refuse = RpcProxy.refusal(-32_602, "invalid argument 1: hex string without 0x prefix")
          proxy.spoil("eth_call", (response, request, pass) =>
            typeof request.params[1] === "object"
              ? refuse(response, request, pass)
              : pass().then((text) => void response.end(text))
          )
        })
        assert.strictEqual(yield* seen, "Pending")
        yield* mint(account.address, 20_000n)
        const next = Effect.flatMap(Batch.signedBy(account), ({ request }) => Payment.read(schemeFacilitator, request))
        const verdict = yield* Payment.outcome(Effect.flatMap(next, (one) => schemeFacilitator.verify(one)))
        assert.strictEqual(verdict, "unsupported_authorization account_banned")
        yield* Payment.finalise(validBefore, finalityDepth)
        const { inclusion, observation } = yield* look
        assert.strictEqual(inclusion?.transaction, prepared.transaction)
        assert.strictEqual(observation._tag, "Failed")
      })
    )
  })
})

describe.concurrent("the usual finality", () => {
  layerEach(EvmTestChain.layer({ payers: 1 }))((it) => {
    it.effect("is 64 blocks, and no failure is reported before", () =>
      Effect.gen(function* () {
        const { accounts, mine, send } = yield* chain
        const schemeFacilitator = yield* Payment.scheme(yield* chain)
        const account = yield* Batch.payerAt(0)
        const signed = yield* Batch.signedBy(account)
        const payment = yield* Payment.read(schemeFacilitator, signed.request)
        yield* schemeFacilitator.verify(payment)
        const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
        yield* send({ from: accounts.stranger.address, ...(yield* Token.cancellation(signed.authorization, account)) })
        yield* schemeFacilitator.submit(prepared)
        const look = Payment.observeAlone(schemeFacilitator, payment, prepared)
        yield* Effect.repeat(look, { while: ({ inclusion }) => inclusion === undefined })
        // The cancellation is a block before ours: it is the one that has to be final.
        yield* mine(EvmChainHead.defaultFinalityDepth - 2)
        assert.strictEqual((yield* look).observation._tag, "Pending")
        yield* mine()
        assert.strictEqual((yield* look).observation._tag, "Failed")
      })
    )
  })
})
