/** Payers who turn hostile between verification and inclusion, all in one transaction: they do no harm to others. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { parseTransaction } from "viem"

import * as EvmHex from "../../src/primitives/EvmHex.ts"
import * as BatchSettling from "../../src/sending/BatchSettling.ts"
import { Delegate7702, EvmTestChain, GasBurner1271, ReturnBomb1271 } from "../../src/testing/index.ts"
import * as Batch from "../EvmTestBatch.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as Token from "../EvmTestToken.ts"
import * as RpcProxy from "../RpcProxy.ts"

const chain = EvmTestChain.EvmTestChain

const nth = <A>(list: ReadonlyArray<A>, index: number): A => list[index] ?? assert.fail(`there is no ${index}`)

/** Sends a stranger's transaction that any miner puts before ours. */
const overtake = Effect.fnUntraced(function* (call: { readonly to: `0x${string}`; readonly data: `0x${string}` }) {
  const { accounts, request } = yield* chain
  const fees = { maxFeePerGas: "0x174876e800", maxPriorityFeePerGas: "0x14f46b0400" }
  const from = accounts.stranger.address
  return String(yield* request("eth_sendTransaction", [{ from, gas: "0x493e0", ...call, ...fees }]))
})

/** The calldata of payments as the settler takes them, and what gas it asks for. */
const callOf = ({ bytes }: { readonly bytes: string }) => {
  const { data = "0x", gas = 0n, to } = parseTransaction(`0x02${bytes.slice(4)}`)
  return { to: to ?? "0x", data, gas }
}

describe("a hostile batch", () => {
  layer(EvmTestChain.layer({ payers: 40 }), { excludeTestServices: true })((it) => {
    it.effect("settles all the honest payments, and says what became of each other", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, client, delegate, deploy, mine, send, setAutomine, setNextBlockTimestamp } =
          yield* chain
        const schemeFacilitator = yield* Batch.scheme()
        const { timestamp } = yield* Effect.promise(() => client.getBlock())
        const payers = yield* Effect.forEach(
          Array.from({ length: 12 }, (_, place) => place),
          Batch.payerAt
        )
        const [burner, bomber, replayer, poor, late, canceler, elsewhere, faithful, ...honest] = payers
        if (!burner || !bomber || !replayer || !poor || !late || !canceler || !elsewhere || !faithful)
          return assert.fail("there are eight of them")
        yield* Token.allow(poor)
        const signed = yield* Effect.forEach(payers, (payer) =>
          Batch.signedBy(payer, payer === late ? { signed: { validBefore: timestamp + 30n } } : {})
        )
        const list = yield* Effect.forEach(signed, ({ request }) => Payment.read(schemeFacilitator, request))
        yield* Effect.forEach(list, (payment) => schemeFacilitator.verify(payment), { concurrency: "unbounded" })
        const { count, prepared } = yield* Batch.prepare(schemeFacilitator, list)
        assert.strictEqual(count, payers.length)
        const before = yield* balanceOf(accounts.payee.address)

        yield* delegate(burner, yield* deploy(GasBurner1271))
        yield* delegate(bomber, yield* deploy(ReturnBomb1271))
        yield* delegate(faithful, yield* deploy(Delegate7702))
        yield* send({ ...(yield* Token.emptying(poor.address)) })
        const from = accounts.stranger.address
        const replayed = yield* send({ from, ...nth(signed, 2).call })
        yield* send({ from, ...(yield* Token.cancellation(nth(signed, 5).authorization, canceler)) })
        const other = { ...nth(signed, 6).authorization, to: Payment.parsed(accounts.deployer.address) }
        const signature = yield* Payment.sign(other, { signer: elsewhere })
        const burnt = yield* send({ from, ...Token.transfer(nth(signed, 6).call.to, other, signature) })
        yield* setAutomine(false)
        yield* schemeFacilitator.submit(prepared)
        yield* setNextBlockTimestamp(timestamp + 31n)
        yield* mine()
        yield* setAutomine(true)

        const first = yield* Batch.included(schemeFacilitator, list, prepared)
        const settledAtOnce = new Set([2, 7, ...honest.map((_, index) => index + 8)])
        assert.deepStrictEqual(
          first.observations.map(({ _tag }) => _tag),
          list.map((_, index) => (settledAtOnce.has(index) ? "Settled" : "Pending"))
        )
        const { observations } = yield* Batch.ended(schemeFacilitator, list, prepared)
        assert.deepStrictEqual(yield* Effect.forEach(observations, Batch.word), [
          "INVALID_SIGNATURE token_refused",
          "INVALID_SIGNATURE token_refused",
          "Settled by another",
          "INSUFFICIENT_BALANCE balance_below_amount",
          "EXPIRED_PAYMENT expired",
          "already_used nonce_canceled",
          `already_used ${burnt.transactionHash}`,
          "Settled",
          ...honest.map(() => "Settled")
        ])
        const external = observations[2]
        assert.strictEqual(external?._tag === "Settled" && external.transaction, replayed.transactionHash)
        // The replayed one was paid by the stranger's transaction.
        const paid = BigInt(honest.length + 2) * 10_000n
        assert.strictEqual(yield* balanceOf(accounts.payee.address), before + paid)
        const receipt = yield* Batch.receiptOf(prepared.transaction)
        assert.strictEqual(receipt.status, "success")
        assert.isAtMost(Number(receipt.gasUsed), 12 * 156_000)
      })
    )

    it.effect(
      "asks once for each receipt and its block, and once for the events, of payments that others have settled",
      () =>
        Effect.gen(function* () {
          const { accounts, send } = yield* chain
          const proxy = yield* RpcProxy.make
          const schemeFacilitator = yield* Batch.scheme({ rpcUrl: proxy.url })
          const signed = yield* Batch.payments(schemeFacilitator, 12, 22)
          const list = signed.map(({ payment }) => payment)
          const { prepared } = yield* Batch.prepare(schemeFacilitator, list)
          const from = accounts.stranger.address
          for (const { call } of signed.slice(0, 6)) yield* send({ from, ...call })
          yield* schemeFacilitator.submit(prepared)
          yield* Batch.receiptOf(prepared.transaction)
          proxy.requests.length = 0
          const { observations } = yield* Batch.observe(schemeFacilitator, list, prepared)
          const words = yield* Effect.forEach(observations, Batch.word)
          assert.deepStrictEqual(words, [...Array(6).fill("Settled by another"), ...Array(4).fill("Settled")])
          const asked = proxy.requests.map(({ method }) => method)
          assert.strictEqual(asked.filter((method) => method === "eth_getLogs").length, 1)
          // Its own receipt, and those of the six strangers' transactions.
          assert.strictEqual(asked.filter((method) => method === "eth_getTransactionReceipt").length, 7)
          assert.strictEqual(asked.filter((method) => method === "eth_getBlockByNumber").length, 7)
          // The token's state for each of the six.
          assert.strictEqual(asked.filter((method) => method === "eth_call").length, 6)
          assert.lengthOf(asked, 21)
        })
    )

    it.effect("is overtaken for one payment: that one is settled by the other, the rest by ours", () =>
      Effect.gen(function* () {
        const { mine, setAutomine } = yield* chain
        const schemeFacilitator = yield* Batch.scheme()
        const signed = yield* Batch.payments(schemeFacilitator, 22, 27)
        const list = signed.map(({ payment }) => payment)
        const { prepared } = yield* Batch.prepare(schemeFacilitator, list)
        yield* setAutomine(false)
        yield* schemeFacilitator.submit(prepared)
        const theirs = yield* overtake(nth(signed, 3).call)
        yield* mine()
        yield* setAutomine(true)
        const { observations } = yield* Batch.included(schemeFacilitator, list, prepared)
        const words = yield* Effect.forEach(observations, Batch.word)
        assert.deepStrictEqual(words, ["Settled", "Settled", "Settled", "Settled by another", "Settled"])
        const external = observations[3]
        assert.strictEqual(external?._tag === "Settled" && external.transaction, theirs)
      })
    )

    it.effect("cannot be made to fail entries by little gas: it settles all or reverts whole", () =>
      Effect.gen(function* () {
        const { accounts, delegate, deploy, revert, send, snapshot } = yield* chain
        const schemeFacilitator = yield* Batch.scheme()
        const burner = yield* deploy(GasBurner1271)
        const signed = yield* Batch.payments(schemeFacilitator, 27, 33)
        const { prepared } = yield* Batch.prepare(
          schemeFacilitator,
          signed.map(({ payment }) => payment)
        )
        for (const place of [27, 29]) yield* delegate(yield* Batch.payerAt(place), burner)
        const { gas: planned, ...call } = callOf(prepared)
        const from = accounts.stranger.address
        const honest = signed.filter((_, index) => index !== 0 && index !== 2)
        let reverted = 0
        const gases = Array.from({ length: 24 }, (_, index) => (planned * BigInt(index + 7)) / 30n)
        for (const gas of [...gases, planned - 30_000n, planned - 8_000n, planned]) {
          const before = yield* snapshot
          const { status } = yield* send({ from, ...call, gas })
          const uses = yield* Effect.forEach(honest, ({ authorization }) => Payment.timesUsed(authorization))
          assert.deepStrictEqual(uses, Array(4).fill(status === "success" ? 1 : 0), `${gas} gas`)
          if (status === "reverted") reverted++
          if (gas === planned) assert.strictEqual(status, "success")
          yield* revert(before)
        }
        assert.isAbove(reverted, 10)
      })
    )

    it.effect("gives every entry its cap, even when each before it burns all of its own", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, delegate, deploy } = yield* chain
        const schemeFacilitator = yield* Batch.scheme()
        const burner = yield* deploy(GasBurner1271)
        const signed = yield* Batch.payments(schemeFacilitator, 33, 40)
        const list = signed.map(({ payment }) => payment)
        const { prepared } = yield* Batch.prepare(schemeFacilitator, list)
        for (const place of [33, 34, 35, 36, 37, 38]) yield* delegate(yield* Batch.payerAt(place), burner)
        const before = yield* balanceOf(accounts.payee.address)
        yield* schemeFacilitator.submit(prepared)
        const { observations } = yield* Batch.included(schemeFacilitator, list, prepared)
        assert.strictEqual(observations.at(-1)?._tag, "Settled")
        assert.strictEqual(yield* balanceOf(accounts.payee.address), before + 10_000n)
      })
    )

    it.effect("does not care for a token that burns all gas, nor for one that is none", () =>
      Effect.gen(function* () {
        const { accounts, deploy, send, token } = yield* chain
        const burner = Payment.parsed(yield* deploy(GasBurner1271))
        const bomb = Payment.parsed(yield* deploy(ReturnBomb1271))
        const signer = yield* Batch.payerAt(12)
        const { authorization } = yield* Batch.signedBy(signer)
        const signature = EvmHex.toLowerCase(yield* Payment.sign(authorization, { signer }))
        const tokens = [burner, bomb, Payment.parsed(accounts.payee.address), Payment.parsed(token.address)]
        const transfers = tokens.map((one) => ({ token: one, authorization, signature }))
        const call = BatchSettling.toCall(Payment.parsed(yield* Batch.settler), transfers)
        assert.strictEqual((yield* send({ from: accounts.stranger.address, ...call })).status, "success")
        assert.strictEqual(yield* Payment.timesUsed(authorization), 1)
      })
    )
  })
})
