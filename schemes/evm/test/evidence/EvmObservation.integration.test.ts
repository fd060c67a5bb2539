/** Transfers by others than our transaction, and the other ends of an authorization. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import { EvmTestChain } from "../../src/testing/index.ts"
import * as Eip3009 from "../../src/transfer/Eip3009.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as Token from "../EvmTestToken.ts"
import * as RpcProxy from "../RpcProxy.ts"

const chain = EvmTestChain.EvmTestChain
const highFee = { maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 90_000_000_000n }

/** Sends a stranger's transaction that any miner puts before ours. */
const overtake = Effect.fnUntraced(function* (
  call: { readonly to: `0x${string}`; readonly data: `0x${string}` },
  from?: `0x${string}`
) {
  const { accounts, request } = yield* chain
  const fees = Object.fromEntries(Object.entries(highFee).map(([name, wei]) => [name, `0x${wei.toString(16)}`]))
  const transaction = { from: from ?? accounts.stranger.address, gas: "0x493e0", ...call, ...fees }
  return String(yield* request("eth_sendTransaction", [transaction]))
})

/**
 * Settles while no block is made; `meanwhile` happens once our transaction is in the pool, then one block is made of both.
 */
const race = Effect.fnUntraced(function* <A, R>(
  { request, authorization }: Effect.Success<ReturnType<typeof Payment.signedPayment>>,
  meanwhile: Effect.Effect<A, never, R>
) {
  const { accounts, balanceOf, mine, setAutomine } = yield* chain
  const facilitator = yield* Payment.facilitator()
  const before = yield* balanceOf(accounts.payee.address)
  yield* setAutomine(false)
  const settling = yield* Effect.forkChild(Payment.settled(facilitator.settle(request, Payment.claim("race"))))
  yield* Payment.pooled(1)
  const other = yield* meanwhile
  yield* mine()
  const end = yield* Fiber.join(settling)
  yield* setAutomine(true)
  return {
    end,
    other,
    again: yield* Payment.outcome(facilitator.settle(request, Payment.claim("again"))),
    record: yield* facilitator.payment(yield* Payment.idOf(request)),
    received: (yield* balanceOf(accounts.payee.address)) - before,
    uses: yield* Payment.timesUsed(authorization)
  }
})

const finalityDepth = 3

/**
 * A transaction of ours and a stranger's that goes before it, in one block, seen by a scheme facilitator of its own. `endsWhenFinal` is what is
 * told once the block is final, and `endsWhenOver` once the validity is over as well; both hold that nothing is told before.
 */
const overtaken = Effect.fnUntraced(function* <A, R>(
  { authorization, request }: Effect.Success<ReturnType<typeof Payment.signedPayment>>,
  meanwhile: Effect.Effect<A, never, R>,
  options: Payment.FacilitatorOptions = {}
) {
  const { accounts, balanceOf, mine, setAutomine } = yield* chain
  const schemeFacilitator = yield* Payment.scheme(yield* chain, { finalityDepth, ...options })
  const payment = yield* Payment.read(schemeFacilitator, request)
  yield* schemeFacilitator.verify(payment)
  const before = yield* balanceOf(accounts.payee.address)
  const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
  yield* setAutomine(false)
  yield* schemeFacilitator.submit(prepared)
  const other = yield* meanwhile
  yield* mine()
  yield* setAutomine(true)
  const look = Effect.map(Payment.observeAlone(schemeFacilitator, payment, prepared), ({ inclusion, observation }) => {
    assert.strictEqual(inclusion?.transaction, prepared.transaction)
    return observation
  })
  const isPending = Effect.map(look, ({ _tag }) => assert.strictEqual(_tag, "Pending"))
  const word = Effect.flatMap(look, (seen) =>
    seen._tag === "Failed" ? Payment.outcome(Effect.fail(seen.error)) : Effect.succeed(seen._tag)
  )
  const untilFinal = Effect.andThen(isPending, mine(finalityDepth - 1)).pipe(
    Effect.andThen(isPending),
    Effect.andThen(mine())
  )
  return {
    schemeFacilitator,
    payment,
    prepared,
    other,
    look,
    received: Effect.map(balanceOf(accounts.payee.address), (after) => after - before),
    endsWhenFinal: Effect.andThen(untilFinal, word),
    endsWhenOver: untilFinal.pipe(
      Effect.andThen(isPending),
      Effect.andThen(Payment.finalise(authorization.validBefore - 1n, finalityDepth)),
      Effect.andThen(isPending),
      Effect.andThen(Payment.finalise(authorization.validBefore, finalityDepth)),
      Effect.andThen(word)
    )
  }
})

const payer = Effect.fnUntraced(function* (place: number) {
  const { accounts } = yield* chain
  const account = accounts.payers[place] ?? accounts.payers[0]
  return { account, deviation: { from: account.address, signer: account } }
})

describe("EvmObservation", () => {
  layer(EvmTestChain.layer({ payers: 6 }), { excludeTestServices: true })((it) => {
    it.effect("a stranger who submits the authorization of a bound payment first has paid for us", () =>
      Effect.gen(function* () {
        const signed = yield* Payment.signedPayment(Payment.bound())
        const { end, other, received, record, uses } = yield* race(signed, overtake(signed.call))
        assert.deepStrictEqual(end, { status: "included", execution: "granted", transaction: other })
        assert.deepStrictEqual({ received, uses }, { received: 10_000n, uses: 1 })
        assert.match(record?.history.at(-1)?.note ?? "", /sent by another/)
      })
    )

    it.effect("a payer who burns the nonce on another recipient has not paid", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const { account, deviation } = yield* payer(1)
        const signed = yield* Payment.signedPayment(deviation)
        const elsewhere = { ...signed.authorization, to: Payment.parsed(accounts.deployer.address) }
        const signature = yield* Payment.sign(elsewhere, { signer: account })
        const call = { to: signed.call.to, data: Eip3009.encodeTransferByParts(elsewhere, signature) }
        const { endsWhenFinal, other, received } = yield* overtaken(signed, overtake(call))
        assert.strictEqual(yield* endsWhenFinal, `already_used ${other}`)
        assert.strictEqual(yield* received, 0n)
      })
    )

    it.effect("a payer who burns the nonce on a smaller amount has not paid", () =>
      Effect.gen(function* () {
        const { account, deviation } = yield* payer(1)
        const signed = yield* Payment.signedPayment(deviation)
        const less = { ...signed.authorization, value: 1n }
        const signature = yield* Payment.sign(less, { signer: account })
        const call = { to: signed.call.to, data: Eip3009.encodeTransferByParts(less, signature) }
        const { endsWhenFinal, other, received } = yield* overtaken(signed, overtake(call))
        assert.strictEqual(yield* endsWhenFinal, `already_used ${other}`)
        assert.strictEqual(yield* received, 1n)
      })
    )

    it.effect("a payer who takes the authorization back has not paid", () =>
      Effect.gen(function* () {
        const { account, deviation } = yield* payer(2)
        const signed = yield* Payment.signedPayment(deviation)
        const call = yield* Token.cancellation(signed.authorization, account)
        const { endsWhenFinal, received } = yield* overtaken(signed, overtake(call))
        assert.strictEqual(yield* endsWhenFinal, "already_used nonce_canceled")
        assert.strictEqual(yield* received, 0n)
        assert.strictEqual(yield* Payment.timesUsed(signed.authorization), 0)
      })
    )

    it.effect(
      "a payer who empties the account has not paid, and the reason is reported once the authorization cannot be submitted",
      () =>
        Effect.gen(function* () {
          const { accounts } = yield* chain
          const { account, deviation } = yield* payer(3)
          yield* Token.allow(account)
          const signed = yield* Payment.signedPayment(deviation)
          const call = yield* Token.emptying(account.address)
          const { endsWhenOver, received } = yield* overtaken(signed, overtake(call, accounts.deployer.address))
          assert.strictEqual(yield* endsWhenOver, "INSUFFICIENT_BALANCE balance_below_amount")
          assert.strictEqual(yield* received, 0n)
        })
    )

    it.effect(
      "a payer whose money comes back is paid for by whoever submits the authorization, though ours has failed",
      () =>
        Effect.gen(function* () {
          const { accounts, mine, mint, send } = yield* chain
          const { account, deviation } = yield* payer(3)
          yield* mint(account.address, 10_000n)
          yield* Token.allow(account)
          const signed = yield* Payment.signedPayment(deviation)
          const call = yield* Token.emptying(account.address)
          const race = yield* overtaken(signed, overtake(call, accounts.deployer.address))
          assert.strictEqual((yield* race.look)._tag, "Pending")
          yield* mint(account.address, 10_000n)
          yield* mine(2 * finalityDepth)
          assert.strictEqual((yield* race.look)._tag, "Pending")
          const { transactionHash } = yield* send({ from: accounts.stranger.address, ...signed.call })
          const settled = { _tag: "Settled", transaction: transactionHash, external: true } as const
          assert.deepInclude(yield* race.look, settled)
          assert.strictEqual(yield* race.received, 10_000n)

          // The same is seen when the transfer is final and the validity is over, also by a process that has not seen the failure.
          yield* Payment.finalise(signed.authorization.validBefore, finalityDepth)
          assert.deepInclude(yield* race.look, settled)
          const restarted = yield* Payment.scheme(yield* chain, { finalityDepth })
          const { observation } = yield* Payment.observeAlone(restarted, race.payment, race.prepared)
          assert.deepInclude(observation, settled)
        })
    )

    it.effect("a token that is paused before inclusion fails the payment, and not for ever", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const { deviation } = yield* payer(4)
        const signed = yield* Payment.signedPayment(deviation)
        const pausing = overtake(yield* Token.ruling("pause"), accounts.deployer.address)
        const { endsWhenOver, look, received } = yield* overtaken(signed, pausing)
        assert.strictEqual((yield* look)._tag, "Pending")
        yield* Token.rule("unpause")
        assert.strictEqual(yield* endsWhenOver, "unsupported_authorization token_paused")
        assert.strictEqual(yield* received, 0n)
      })
    )

    it.effect("a use in a block between verification and preparation is not this payment's", () =>
      Effect.gen(function* () {
        const { accounts, send } = yield* chain
        const { deviation } = yield* payer(5)
        const schemeFacilitator = yield* Payment.scheme(yield* chain)
        const signed = yield* Payment.signedPayment(deviation)
        const payment = yield* Payment.read(schemeFacilitator, signed.request)
        yield* schemeFacilitator.verify(payment)
        const { transactionHash } = yield* send({ from: accounts.stranger.address, ...signed.call })
        const end = yield* Payment.sendAlone(
          schemeFacilitator,
          payment,
          yield* Payment.prepareAlone(schemeFacilitator, payment)
        )
        assert.strictEqual(end._tag, "Failed")
        if (end._tag !== "Failed") return
        assert.strictEqual(yield* Payment.outcome(Effect.fail(end.error)), `already_used ${transactionHash}`)
        assert.strictEqual(end.transaction, transactionHash)
      })
    )

    it.effect("a node whose logs lag behind its state proves nothing", () =>
      Effect.gen(function* () {
        const { accounts, send } = yield* chain
        const proxy = yield* RpcProxy.make
        const { deviation } = yield* payer(5)
        const schemeFacilitator = yield* Payment.scheme(yield* chain, { rpcUrl: proxy.url })
        const signed = yield* Payment.signedPayment(deviation)
        const payment = yield* Payment.read(schemeFacilitator, signed.request)
        yield* schemeFacilitator.verify(payment)
        proxy.spoil("eth_getLogs", RpcProxy.result([]), 6)
        const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
        yield* send({ from: accounts.stranger.address, ...signed.call })
        const end = yield* Payment.sendAlone(schemeFacilitator, payment, prepared)
        assert.strictEqual(end._tag === "Settled" && end.external, true)
      })
    )
  })
})
