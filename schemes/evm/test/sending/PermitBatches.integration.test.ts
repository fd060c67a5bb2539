/** Many transfers by Permit2 in one transaction: what one costs, what one that fails means for the others, and other ways to pay beside them. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { encodeFunctionData, type Hex } from "viem"

import { deployPermitSettler } from "../../src/index.ts"
import { EvmTestChain, Permit2Contracts, SmartAccounts } from "../../src/testing/index.ts"
import * as Batch from "../EvmTestBatch.ts"
import * as Operation from "../EvmTestOperation.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as Permit from "../PermitTestPayment.ts"

const chain = EvmTestChain.EvmTestChain

const permitSettler = Effect.flatMap(chain, ({ accounts, rpcUrl }) =>
  deployPermitSettler({ signer: accounts.deployer, rpcUrl })
)

/** A facilitator of such batches; the payers from one place up to another have approved Permit2. */
const ready = Effect.fnUntraced(function* (from: number, to: number, options: Payment.FacilitatorOptions = {}) {
  const one = yield* chain
  yield* Permit2Contracts.deploy(one)
  const payers = one.accounts.payers.slice(from, to)
  for (const { address } of payers) yield* Permit2Contracts.approve(one, address)
  const batches = { permitSettler: yield* permitSettler }
  return { payers, scheme: yield* Payment.scheme(one, { permit2: true, batches, ...options }) }
})

type Scheme = Effect.Success<ReturnType<typeof ready>>["scheme"]

const read = (scheme: Scheme, deviation: Permit.PermitDeviation) =>
  Effect.flatMap(Permit.request(deviation), (request) => Payment.read(scheme, request))

/** Settles payments in one transaction: the words of their outcomes, and the gas of each. */
const settled = Effect.fnUntraced(function* (
  scheme: Scheme,
  payments: ReadonlyArray<Effect.Success<ReturnType<typeof read>>>,
  meanwhile: Effect.Effect<unknown, never, EvmTestChain.EvmTestChain> = Effect.void
) {
  yield* Effect.forEach(payments, (payment) => scheme.verify(payment), { concurrency: 8 })
  const { count, prepared } = yield* Batch.prepare(scheme, payments)
  assert.strictEqual(count, payments.length)
  yield* meanwhile
  yield* scheme.submit(prepared)
  const { observations } = yield* Batch.included(scheme, payments, prepared)
  const { gasUsed, status } = yield* Batch.receiptOf(prepared.transaction)
  assert.strictEqual(status, "success")
  return { prepared, each: Number(gasUsed) / count, words: yield* Effect.forEach(observations, Batch.word) }
})

const invalidation = (nonce: bigint): { readonly to: Hex; readonly data: Hex } => ({
  to: Permit2Contracts.published.permit2,
  data: encodeFunctionData({
    abi: Permit.abi,
    functionName: "invalidateUnorderedNonces",
    args: [nonce >> 8n, 1n << (nonce & 255n)]
  })
})

describe("a batch of transfers by Permit2", () => {
  layer(EvmTestChain.layer({ payers: 18 }), { excludeTestServices: true })((it) => {
    it.effect("settles ten for less gas each than one alone, and another facilitator finds each by its nonce", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { payers, scheme } = yield* ready(0, 10)
        yield* one.mint(one.accounts.payee.address, 1n)
        const before = yield* one.balanceOf(one.accounts.payee.address)
        const payments = yield* Effect.forEach(payers, (payer) => read(scheme, { payer }))
        const { each, prepared, words } = yield* settled(scheme, payments)
        assert.deepStrictEqual(
          words,
          payments.map(() => "Settled")
        )
        assert.strictEqual(yield* one.balanceOf(one.accounts.payee.address), before + 100_000n)
        assert.isBelow(each, 66_000)
        const stranger = yield* Payment.scheme(one, { permit2: true, signer: one.accounts.signers[1] })
        for (const payment of payments) {
          const concluded = yield* stranger.conclude({ payment, since: prepared.head })
          assert.strictEqual(concluded._tag === "Settled" && concluded.transaction, prepared.transaction)
        }
      })
    )

    it.effect("of one payer to one recipient names by the nonce which of two equal ones has paid", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { payers, scheme } = yield* ready(10, 12)
        const [payer, other = payer] = payers
        if (payer === undefined || other === undefined) return assert.fail("there are two")
        const nonces = [Payment.freshNonce(), Payment.freshNonce()].map(BigInt)
        const [first = 0n] = nonces
        const equal = yield* Effect.forEach(nonces, (nonce) => read(scheme, { payer, signed: { nonce } }))
        const payments = [...equal, yield* read(scheme, { payer: other })]
        const { prepared, words } = yield* settled(
          scheme,
          payments,
          Permit2Contracts.callAs(one, payer.address, invalidation(first))
        )
        assert.deepStrictEqual(words, ["Pending", "Settled", "Settled"])
        yield* Payment.finalise(BigInt(equal[0]?.authorization.validBefore ?? 0))
        const { observations } = yield* Batch.observe(scheme, payments, prepared)
        assert.deepStrictEqual(yield* Effect.forEach(observations, Batch.word), [
          "already_used nonce_canceled",
          "Settled",
          "Settled"
        ])
      })
    )

    it.effect("shows a nonce that its payer has used for another transfer, and the payment has failed by that", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { payers, scheme } = yield* ready(10, 12)
        const [payer, other = payer] = payers
        if (payer === undefined || other === undefined) return assert.fail("there are two")
        const nonce = BigInt(Payment.freshNonce())
        const payment = yield* read(scheme, { payer, signed: { nonce } })
        yield* scheme.verify(payment)
        const prepared = yield* Payment.prepareAlone(scheme, payment)
        const [, signer] = one.accounts.signers
        const { scheme: rival } = yield* ready(0, 0, {
          signer,
          batches: { permitSettler: yield* permitSettler }
        })
        const cheap = { payer, signed: { nonce, amount: 1n }, requirements: { maxAmountRequired: "1" } }
        yield* settled(rival, [yield* read(rival, cheap), yield* read(rival, { payer: other })])
        const seen = yield* Payment.sendAlone(scheme, payment, prepared)
        assert.strictEqual(
          seen._tag === "Failed" && seen.error._tag === "ValidationError" && seen.error.reason,
          "already_used"
        )
        const concluded = yield* scheme.conclude({ payment, since: prepared.head })
        assert.strictEqual(concluded._tag, "Unused")
      })
    )

    it.effect("takes the money of no payment whose payer has none left, and settles the others", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { payers, scheme } = yield* ready(12, 15)
        const [poor] = payers
        if (poor === undefined) return assert.fail("there are three")
        const payments = yield* Effect.forEach(payers, (payer) => read(scheme, { payer }))
        const balance = yield* one.balanceOf(poor.address)
        const emptied = encodeFunctionData({
          abi: Operation.erc20Abi,
          args: [one.accounts.stranger.address, balance]
        })
        const { words } = yield* settled(
          scheme,
          payments,
          Permit2Contracts.callAs(one, poor.address, { to: one.token.address, data: emptied })
        )
        assert.deepStrictEqual(words, ["Pending", "Settled", "Settled"])
        const next = yield* read(scheme, { payer: poor })
        assert.match(yield* Payment.outcome(scheme.verify(next)), /banned|INSUFFICIENT_BALANCE/)
      })
    )

    it.effect("shares its transaction with authorizations and user operations, and each is settled", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const { options: ofOperations } = yield* Operation.ready
        const { plain: _, ...options } = ofOperations
        const batches = { ...(yield* Operation.settlers), permitSettler: yield* permitSettler }
        const { payers, scheme } = yield* ready(15, 17, { ...options, batches })
        const [payer, plain = payer] = payers
        if (payer === undefined || plain === undefined) return assert.fail("there are two")
        const account = yield* Effect.promise(() => SmartAccounts.simple(one, payer, "0.8", 9n))
        yield* one.mint(account.address, 1_000_000n)
        const operation = yield* Operation.request(account, one.token.address)
        const { request } = yield* Batch.signedBy(plain)
        const payments = [
          yield* read(scheme, { payer }),
          yield* Payment.read(scheme, operation),
          yield* Payment.read(scheme, request),
          yield* read(scheme, { payer: plain })
        ]
        const { words } = yield* settled(scheme, payments)
        assert.deepStrictEqual(words, ["Settled", "Settled", "Settled", "Settled"])
      })
    )

    it.effect("is settled by the contract at its own address alone, whose events are proof", () =>
      Effect.gen(function* () {
        const one = yield* chain
        yield* permitSettler
        const wrong = { permitSettler: one.accounts.stranger.address }
        const failure = yield* Effect.flip(Payment.scheme(one, { batches: wrong }))
        assert.match(failure.message, /not that of the permit settler|is missing/)
      })
    )
  })
})
