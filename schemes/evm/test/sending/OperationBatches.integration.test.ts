/** Many user operations in one transaction: what one costs, what a hostile one costs the others, and EIP-3009 transfers beside them. */
import { assert, describe, layer } from "@effect/vitest"
import type { SchemeFacilitator } from "@pontage/core"
import * as Effect from "effect/Effect"
import { type Address, encodeFunctionData, keccak256, parseAbi, parseTransaction, toHex } from "viem"
import type { SmartAccount } from "viem/account-abstraction"

import { type EvmTestAccounts, EvmTestChain, SmartAccounts } from "../../src/testing/index.ts"
import * as Batch from "../EvmTestBatch.ts"
import * as Operation from "../EvmTestOperation.ts"
import * as Payment from "../EvmTestPayment.ts"

const chain = EvmTestChain.EvmTestChain

/** A facilitator of batches of both kinds. */
const batching = Effect.gen(function* () {
  const { options, plain } = yield* Operation.ready
  const batches = yield* Operation.settlers
  yield* Operation.mintPlain(plain, (yield* chain).accounts.payee.address, 1n)
  return { ...options, batches, plain }
})

type Options = Effect.Success<typeof batching>

/** Accounts of the first owners, with money; their first payments have deployed them. */
const deployed = Effect.fnUntraced(function* (
  options: Options,
  count: number,
  make: (owner: EvmTestAccounts.TestAccount) => Promise<SmartAccount>,
  deviation: Operation.OperationDeviation = {}
) {
  const schemeFacilitator = yield* Operation.schemeWith(options)
  const owners = (yield* chain).accounts.payers.slice(0, count)
  const accounts = yield* Effect.forEach(owners, (owner) => Effect.promise(() => make(owner)))
  for (const { address } of accounts) yield* Operation.mintPlain(options.plain, address)
  let first = yield* paymentsOf(schemeFacilitator, accounts, options.plain, () => deviation)
  while (first.length > 0) first = first.slice((yield* settle(schemeFacilitator, first)).count)
  return accounts
})

const paymentsOf = <Payload>(
  schemeFacilitator: SchemeFacilitator<Payload>,
  accounts: ReadonlyArray<SmartAccount>,
  plain: Address,
  deviation: (index: number) => Operation.OperationDeviation = () => ({})
) =>
  Effect.forEach(accounts, (account, index) =>
    Effect.flatMap(Operation.request(account, plain, deviation(index)), (request) =>
      Payment.read(schemeFacilitator, request)
    )
  )

/** Settles payments in one transaction: the gas of each, and the outcome of each in a word. */
const settle = Effect.fnUntraced(function* <Payload>(
  schemeFacilitator: SchemeFacilitator<Payload>,
  payments: ReadonlyArray<Parameters<SchemeFacilitator<Payload>["verify"]>[0]>,
  meanwhile: Effect.Effect<void, never, EvmTestChain.EvmTestChain> = Effect.void
) {
  yield* Effect.forEach(payments, (payment) => schemeFacilitator.verify(payment), { concurrency: 8 })
  const { count, prepared } = yield* Batch.prepare(schemeFacilitator, payments)
  yield* meanwhile
  yield* schemeFacilitator.submit(prepared)
  const included = payments.slice(0, count)
  const { observations } = yield* Batch.included(schemeFacilitator, included, prepared)
  const { gasUsed, status } = yield* Batch.receiptOf(prepared.transaction)
  assert.strictEqual(status, "success")
  const words = yield* Effect.forEach(observations, Batch.word)
  return { count, each: Number(gasUsed) / count, prepared, words, included }
})

const incrementAbi = parseAbi(["function incrementNonce(uint192 key)"])

/** The outcomes of payments of which one is not settled. */
const except = (count: number, failed: number) => all(count).map((word, index) => (index === failed ? "Pending" : word))

/** As random as a client's keys are: a byte that is not zero costs more. */
const keyOf = (index: number) => BigInt(keccak256(toHex(index))) >> 64n

const gasOf = (bytes: string) => parseTransaction(`0x02${bytes.slice(4)}`).gas ?? 0n

const all = (count: number) => Array.from({ length: count }, () => "Settled")

describe("a batch of user operations", () => {
  layer(EvmTestChain.layer({ payers: 26 }), { excludeTestServices: true })((it) => {
    it.effect(
      "costs at most 70,000 gas for each of 25 SimpleAccounts, 53,000 in sequence, and 90,000 for each Safe",
      () =>
        Effect.gen(function* () {
          const one = yield* chain
          const options = yield* batching
          const { plain } = options
          const schemeFacilitator = yield* Operation.schemeWith(options)
          const simple = yield* deployed(options, 25, (owner) => SmartAccounts.simple(one, owner, "0.8"))
          const fresh = yield* settle(
            schemeFacilitator,
            yield* paymentsOf(schemeFacilitator, simple, plain, (index) => ({ key: keyOf(index) }))
          )
          assert.deepStrictEqual([fresh.count, fresh.words], [25, all(25)])
          const next = yield* settle(
            schemeFacilitator,
            yield* paymentsOf(schemeFacilitator, simple, plain, (index) => ({ key: keyOf(index), sequence: 1n }))
          )
          assert.deepStrictEqual([next.count, next.words], [25, all(25)])
          const validUntil = Number(yield* Payment.latestTime) + 600
          const safes = yield* deployed(options, 25, (owner) => SmartAccounts.safe(one, owner, { validUntil }), {
            isGuarded: false
          })
          const safe = yield* settle(
            schemeFacilitator,
            yield* paymentsOf(schemeFacilitator, safes, plain, (index) => ({ isGuarded: false, key: keyOf(index) }))
          )
          assert.deepStrictEqual([safe.count, safe.words], [25, all(25)])
          assert.isAtMost(fresh.each, 70_000)
          assert.isAtMost(next.each, 53_000)
          assert.isAtMost(safe.each, 90_000)
        }),
      300_000
    )

    it.effect("settles nine of ten where one has burnt its nonce, and nine where one has moved its money away", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const options = yield* batching
        const { plain } = options
        const schemeFacilitator = yield* Operation.schemeWith(options)
        const accounts = yield* deployed(options, 10, (owner) => SmartAccounts.simple(one, owner, "0.8", 7n))
        const [, , , burner, poor] = accounts
        if (burner === undefined || poor === undefined) return assert.fail("there are ten")
        const key = 1n << 90n
        const first = yield* paymentsOf(schemeFacilitator, accounts, plain, () => ({ key }))
        const burnt = encodeFunctionData({ abi: incrementAbi, args: [key] })
        const attack = Effect.asVoid(Operation.byOwner(burner, burner.entryPoint.address, burnt, 3))
        const nonce = yield* settle(schemeFacilitator, first, attack)
        assert.deepStrictEqual([nonce.count, nonce.words], [10, except(10, 3)])
        yield* Payment.finalise(BigInt(first[0]?.authorization.validBefore ?? 0))
        const ended = yield* Batch.observe(schemeFacilitator, first, nonce.prepared)
        const error = yield* Batch.word(ended.observations[3])
        assert.strictEqual(error, "unsupported_authorization operation_nonce_burnt")
        const next = yield* paymentsOf(schemeFacilitator, accounts, plain, () => ({ key: key + 1n }))
        const banned = yield* Payment.outcome(schemeFacilitator.verify(next[3] ?? assert.fail("there are ten")))
        assert.strictEqual(banned, "unsupported_authorization account_banned")

        const others = next.filter((_, index) => index !== 3)
        const emptied = encodeFunctionData({
          abi: Operation.erc20Abi,
          args: [one.accounts.stranger.address, 975_000n]
        })
        const money = yield* settle(
          schemeFacilitator,
          others,
          Effect.asVoid(Operation.byOwner(poor, plain, emptied, 4))
        )
        assert.deepStrictEqual([money.count, money.words], [9, except(9, 3)])
      })
    )

    it.effect("is shared by operations of two EntryPoints and by EIP-3009 transfers", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const options = yield* batching
        const { plain } = options
        const schemeFacilitator = yield* Operation.schemeWith(options)
        const simple = yield* Operation.simpleOf(plain, 20n)
        const older = yield* Operation.simpleOf(plain, 20n, "0.7")
        const safe = yield* Effect.promise(() => SmartAccounts.safe(one, one.accounts.payers[0], { salt: 20n }))
        yield* Operation.mintPlain(plain, safe.address)
        const operations = yield* paymentsOf(schemeFacilitator, [simple, older, safe], plain)
        const transfers = (yield* Batch.payments(schemeFacilitator, 10, 14)).map(({ payment }) => payment)
        const [a, b, c] = operations
        const [d, ...rest] = transfers
        if (!a || !b || !c || !d) return assert.fail("there are seven")
        const before = [
          yield* one.balanceOf(one.accounts.payee.address),
          yield* one.balanceOf(one.accounts.payee.address, plain)
        ]
        const { count, words } = yield* settle(schemeFacilitator, [d, a, ...rest, b, c])
        assert.deepStrictEqual([count, words], [7, all(7)])
        assert.deepStrictEqual(
          [yield* one.balanceOf(one.accounts.payee.address), yield* one.balanceOf(one.accounts.payee.address, plain)],
          [(before[0] ?? 0n) + 40_000n, (before[1] ?? 0n) + 30_000n]
        )
      })
    )

    it.effect("has operations alone without a batch settler, and transfers alone without an operation settler", () =>
      Effect.gen(function* () {
        const { batches, ...options } = yield* batching
        const { plain } = options
        const { operationSettler, settler } = batches
        const simple = [yield* Operation.simpleOf(plain, 21n), yield* Operation.simpleOf(plain, 22n)]
        for (const [given, kinds] of [
          [{ operationSettler }, 2],
          [{ settler }, 1]
        ] as const) {
          const schemeFacilitator = yield* Operation.schemeWith({ ...options, batches: given })
          const operations = yield* paymentsOf(schemeFacilitator, simple, plain)
          const transfers = (yield* Batch.payments(schemeFacilitator, 14, 16)).map(({ payment }) => payment)
          assert.strictEqual((yield* Batch.prepare(schemeFacilitator, [...operations, ...transfers])).count, kinds)
          assert.strictEqual((yield* Batch.prepare(schemeFacilitator, [...transfers, ...operations])).count, 3 - kinds)
        }
      })
    )

    it.effect("is no larger than a transaction may be, and is signed again with all of its payments", () =>
      Effect.gen(function* () {
        const one = yield* chain
        const options = yield* batching
        const schemeFacilitator = yield* Operation.schemeWith(options)
        const accounts = yield* deployed(options, 26, (owner) => SmartAccounts.simple(one, owner, "0.8", 30n))
        const payments = [
          ...(yield* paymentsOf(schemeFacilitator, accounts, options.plain)),
          ...(yield* paymentsOf(schemeFacilitator, accounts, options.plain))
        ]
        const { count, prepared } = yield* Batch.prepare(schemeFacilitator, payments)
        assert.isAbove(count, 30)
        assert.isBelow(count, 52)
        assert.isAtMost(Number(gasOf(prepared.bytes)), 16_777_216)
        const batch = payments.slice(0, count)
        const number = prepared.slot?.number ?? 0n
        const again = yield* Batch.prepare(schemeFacilitator, batch, { number, percent: 130n, replaced: prepared })
        assert.strictEqual(again.count, count)
        yield* schemeFacilitator.submit(again.prepared)
        const { observations } = yield* Batch.included(schemeFacilitator, batch, prepared, again.prepared)
        assert.deepStrictEqual(yield* Effect.forEach(observations, Batch.word), all(count))
      })
    )

    it.effect(
      "gives each operation its cap where all before it burn all of their own, and copies no megabyte back",
      () =>
        Effect.gen(function* () {
          const options = { ...(yield* batching), contractPayers: "any" } as const
          const { plain } = options
          const schemeFacilitator = yield* Operation.schemeWith(options)
          const hostile = yield* Effect.forEach([5, 5, 9, 5, 9], (mode) => Operation.swaying(plain, mode, 0n))
          const honest = yield* Operation.simpleOf(plain, 23n)
          const payments = yield* paymentsOf(schemeFacilitator, [...hostile, honest], plain)
          const { count, each, words } = yield* settle(schemeFacilitator, payments)
          assert.deepStrictEqual([count, words.at(-1)], [6, "Settled"])
          assert.isBelow(each, 300_000)
        })
    )

    it.effect(
      "counts one transfer for one payment: an operation that uses an authorization of its account has not paid",
      () =>
        Effect.gen(function* () {
          const { token } = yield* chain
          const options = { ...(yield* batching), contractPayers: "any" } as const
          const schemeFacilitator = yield* Operation.schemeWith(options)
          const nonce = 77n << 64n
          const account = yield* Operation.swaying(options.plain, 10, nonce)
          yield* (yield* chain).mint(account.address, 1_000_000n)
          const [payment] = yield* paymentsOf(schemeFacilitator, [account], token.address)
          if (payment === undefined) return assert.fail("there is one")
          const outcome = yield* Payment.outcome(schemeFacilitator.verify(payment))
          assert.strictEqual(outcome, "unsupported_authorization operation_refused")
        })
    )
  })
})
