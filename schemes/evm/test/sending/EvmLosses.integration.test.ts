/** The cost of payers whose payments fail on the chain by their own fault: at most the facilitator's loss budget. */
import { assert, describe, layer } from "@effect/vitest"
import { CurrentCaller } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { type Address, encodeFunctionData, parseEther, parseGwei } from "viem"

import { EvmTestChain, PayerSwitch, SwitchedWallet } from "../../src/testing/index.ts"
import * as Batch from "../EvmTestBatch.ts"
import * as Payment from "../EvmTestPayment.ts"

const chain = EvmTestChain.EvmTestChain

/** Asks on behalf of a caller of this name. */
const as = <A, E, R>(name: string, effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, CurrentCaller, { name, notify: false })

const turn = (off: boolean) => encodeFunctionData({ abi: PayerSwitch.abi, functionName: "turn", args: [off] })

/** Hostile payers with money, each with its own code, and the switch that turns them off. */
const gangOf = Effect.fnUntraced(function* (count: number) {
  const { deploy, mint } = yield* chain
  const by = yield* deploy(PayerSwitch)
  const wallets = yield* Effect.forEach(Array.from({ length: count }), (_, salt) =>
    Effect.tap(deploy(SwitchedWallet, [by, BigInt(salt)]), (wallet) => mint(wallet, 1_000_000n))
  )
  return { by, wallets }
})

const Pool = Schema.decodeUnknownSync(Schema.Struct({ pending: Schema.String }))

/** The cost of the first signer's failed transactions, in wei, and their number. */
const burnt = Effect.fnUntraced(function* () {
  const { accounts, client } = yield* chain
  const head = yield* Effect.promise(() => client.getBlockNumber())
  let cost = 0n
  let count = 0
  for (let blockNumber = 1n; blockNumber <= head; blockNumber++) {
    const receipts = yield* Effect.promise(() =>
      client.request({ method: "eth_getBlockReceipts", params: [`0x${blockNumber.toString(16)}`] } as never)
    )
    for (const one of Schema.decodeUnknownSync(Receipts)(receipts)) {
      if (one.from !== accounts.signers[0].address.toLowerCase() || one.status === "0x1") continue
      cost += BigInt(one.gasUsed) * BigInt(one.effectiveGasPrice)
      count++
    }
  }
  return { cost, count }
})

const Receipts = Schema.Array(
  Schema.Struct({
    from: Schema.String,
    status: Schema.String,
    gasUsed: Schema.String,
    effectiveGasPrice: Schema.String
  })
)

type Facilitator = Effect.Success<ReturnType<typeof Payment.facilitator>>

/**
 * One attack: all wallets that still may bring a payment that simulates well; when each was refused or is in the pool, the gang
 * turns itself off by a transaction that pays more, and a block takes all of them in. Returns how many got that far.
 */
const attack = Effect.fnUntraced(function* (facilitator: Facilitator, by: Address, wallets: ReadonlyArray<Address>) {
  const { accounts, mine, request, send, setAutomine } = yield* chain
  yield* send({ from: accounts.stranger.address, to: by, data: turn(false) })
  yield* setAutomine(false)
  let ended = 0
  const fibers = yield* Effect.forEach(wallets, (from) =>
    Effect.gen(function* () {
      const payment = yield* Payment.payment({ from, signature: () => "0x12" })
      const settling = as("hostile", facilitator.settle(payment, Payment.claim(from.slice(2, 20))))
      return yield* Effect.forkDetach(
        Effect.ensuring(
          Effect.result(settling),
          Effect.sync(() => ended++)
        )
      )
    })
  )
  const pooled = Effect.map(request("txpool_status"), (answer) => Number(Pool(answer).pending))
  const inPool = yield* Effect.repeat(pooled, { until: (count) => count + ended >= wallets.length })
  const fees = {
    maxFeePerGas: `0x${parseGwei("500").toString(16)}`,
    maxPriorityFeePerGas: `0x${parseGwei("50").toString(16)}`
  }
  yield* request("eth_sendTransaction", [{ from: accounts.stranger.address, to: by, data: turn(true), ...fees }])
  yield* mine()
  yield* setAutomine(true)
  const words = new Set<string>()
  // The failure of the sent payments is reported only once it is confirmed: the test does not wait for that.
  if (inPool > 0) {
    yield* Effect.forEach(fibers, (fiber) => Fiber.interrupt(fiber), { concurrency: "unbounded", discard: true })
    return { inPool, words: [] }
  }
  for (const fiber of fibers) {
    const end = yield* Fiber.join(fiber)
    words.add(yield* Payment.outcome(Effect.fromResult(end)))
  }
  return { inPool, words: [...words] }
})

const settle = Effect.fnUntraced(function* (facilitator: Facilitator, caller: string, place: number, name: string) {
  const account = yield* Batch.payerAt(place)
  const payment = yield* Payment.payment({ from: account.address, signer: account })
  const settling = as(caller, facilitator.settle(payment, Payment.claim(name)))
  return yield* Payment.outcome(Effect.retry(settling, { while: ({ _tag }) => _tag === "SettlementPending" }))
})

describe("a hundred hostile contract payers", () => {
  layer(EvmTestChain.layer({ payers: 6 }), { excludeTestServices: true })((it) => {
    it.effect(
      "cost no more than their caller's part of the budget, and stop nobody who has proven himself, nor another caller",
      () =>
        Effect.gen(function* () {
          const { by, wallets } = yield* gangOf(100)
          const lossBudget = parseEther("0.012")
          const facilitator = yield* Payment.facilitator({
            contractPayers: "any",
            lossBudget,
            // Nothing here is to end because the machine is slow.
            settleTimeoutMillis: 120_000
          })
          assert.strictEqual(yield* settle(facilitator, "hostile", 1, "proof"), "ok")
          let last = yield* attack(facilitator, by, wallets)
          for (let round = 1; last.inPool > 0 && round < 60; round++) last = yield* attack(facilitator, by, wallets)
          assert.deepStrictEqual(last.words.toSorted(), [
            "FacilitatorUnavailable",
            "unsupported_authorization account_banned"
          ])
          const { cost, count } = yield* burnt()
          // One payment may burn less than was lost, so the budget is what stops them.
          assert.isAtLeast(count, 3)
          assert.isBelow(count, 100)
          assert.isTrue(cost <= lossBudget / 4n, `${count} failed payments have burnt ${cost} wei`)

          assert.strictEqual(yield* settle(facilitator, "hostile", 1, "proven"), "ok")
          assert.strictEqual(yield* settle(facilitator, "shop", 3, "another caller's"), "ok")
          assert.strictEqual(yield* settle(facilitator, "", 4, "nobody"), "ok")
        }),
      1_800_000
    )
  })
})

describe("a payer whose code turns between verification and inclusion", () => {
  layer(EvmTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("is banned, with all accounts of the same code, and no other account is", () =>
      Effect.gen(function* () {
        const { accounts, deploy, mint, send } = yield* chain
        const by = yield* deploy(PayerSwitch)
        const [one, twin, other] = yield* Effect.forEach([1n, 1n, 2n], (salt) =>
          Effect.tap(deploy(SwitchedWallet, [by, salt]), (wallet) => mint(wallet, 1_000_000n))
        )
        const schemeFacilitator = yield* Payment.scheme(yield* chain, { contractPayers: "any" })
        const read = (from: string | undefined) =>
          Effect.flatMap(Payment.payment({ ...(from && { from }), signature: () => "0x12" }), (request) =>
            Payment.read(schemeFacilitator, request)
          )
        const payment = yield* read(one)
        yield* schemeFacilitator.verify(payment)
        const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
        yield* send({ from: accounts.stranger.address, to: by, data: turn(true) })
        assert.strictEqual((yield* Payment.sendAlone(schemeFacilitator, payment, prepared))._tag, "Failed")
        yield* send({ from: accounts.stranger.address, to: by, data: turn(false) })
        const banned = "unsupported_authorization account_banned"
        const verdicts = yield* Effect.forEach([one, twin, other], (from) =>
          Effect.flatMap(read(from), (next) => Payment.outcome(schemeFacilitator.verify(next)))
        )
        assert.deepStrictEqual(verdicts, [banned, banned, "ok"])
      })
    )
  })
})

describe("a payer whose authorizations end before their block", () => {
  layer(EvmTestChain.layer({ payers: 3 }), { excludeTestServices: true })((it) => {
    const third = ["ok", "ok", "ok", "unsupported_authorization account_banned"]
    const never = ["ok", "ok", "ok", "ok"]
    for (const [place, seconds, maxTimeoutSeconds, expected] of [
      [0, 8n, 60, third],
      [1, 40n, 60, never],
      [2, 18n, 20, never]
    ] as const) {
      it.effect(
        `${seconds} of the offer's ${maxTimeoutSeconds} seconds after their signing ${expected === third ? "is banned by the third" : "is not banned"}`,
        () =>
          Effect.gen(function* () {
            const { setNextBlockTimestamp } = yield* chain
            const account = yield* Batch.payerAt(place)
            const schemeFacilitator = yield* Payment.scheme(yield* chain)
            const verdicts: Array<string> = []
            for (const _ of expected) {
              const validBefore = (yield* Payment.latestTime) + seconds
              const deviation = {
                from: account.address,
                signer: account,
                signed: { validBefore },
                requirements: { maxTimeoutSeconds }
              }
              const payment = yield* Payment.read(schemeFacilitator, yield* Payment.payment(deviation))
              verdicts.push(yield* Payment.outcome(schemeFacilitator.verify(payment)))
              if (verdicts.length === expected.length) break
              const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
              yield* setNextBlockTimestamp(validBefore + 4n)
              const end = yield* Payment.sendAlone(schemeFacilitator, payment, prepared)
              assert.strictEqual(end._tag === "Failed" && end.error.detail, "expired")
            }
            assert.deepStrictEqual(verdicts, [...expected])
          })
      )
    }
  })
})

describe("plain payers who move their money away", () => {
  layer(EvmTestChain.layer({ payers: 10, payerBalance: 10_000n }), { excludeTestServices: true })((it) => {
    it.effect("are banned, each for its part of a batch, and the others have proven themselves", () =>
      Effect.gen(function* () {
        const { accounts, client, mint, send } = yield* chain
        const schemeFacilitator = yield* Batch.scheme({ lossBudget: parseEther("0.02") })
        const list = (yield* Batch.payments(schemeFacilitator, 0, 10)).map(({ payment }) => payment)
        yield* Effect.forEach(list, (payment) => schemeFacilitator.verify(payment), { discard: true })
        const { count, prepared } = yield* Batch.prepare(schemeFacilitator, list)
        assert.strictEqual(count, 10)
        const emptied = [2, 5, 7]
        for (const place of emptied) {
          const signed = yield* Batch.signedBy(yield* Batch.payerAt(place), {
            signed: { to: Payment.parsed(accounts.stranger.address) }
          })
          yield* send({ from: accounts.stranger.address, ...signed.call })
        }
        const observedPayments = list.map((payment) => ({ payment, since: prepared.head }))
        yield* schemeFacilitator.submit(prepared)
        const observation = Effect.repeat(schemeFacilitator.observe(observedPayments, [prepared]), {
          while: ({ inclusion }) => inclusion === undefined
        })
        // They count as lost from the first observation, long before the failure is reported.
        for (let look = 0; look < 3; look++) {
          const { observations } = yield* observation
          assert.deepStrictEqual(
            observations.map(({ _tag }) => _tag),
            list.map((_, place) => (emptied.includes(place) ? "Pending" : "Settled"))
          )
        }
        const { baseFeePerGas } = yield* Effect.promise(() => client.getBlock())
        assert.isDefined(baseFeePerGas)
        for (const place of [2, 3]) {
          const account = yield* Batch.payerAt(place)
          yield* mint(account.address, 10_000n)
          const { request } = yield* Batch.signedBy(account)
          const verdict = yield* Payment.outcome(
            Effect.flatMap(Payment.read(schemeFacilitator, request), (payment) => schemeFacilitator.verify(payment))
          )
          assert.strictEqual(verdict, place === 2 ? "unsupported_authorization account_banned" : "ok")
        }
      })
    )

    it.effect("count from before they are signed for: no more are taken than the budget has room for", () =>
      Effect.gen(function* () {
        const { mint } = yield* chain
        for (let place = 0; place < 10; place++) yield* mint((yield* Batch.payerAt(place)).address, 10_000n)
        const chainHead = yield* Effect.flatMap(Batch.scheme(), (schemeFacilitator) => schemeFacilitator.chainHead)
        const schemeFacilitator = yield* Batch.scheme({ lossBudget: 4n * 180_000n * (chainHead.fees?.maximum ?? 0n) })
        const list = (yield* Batch.payments(schemeFacilitator, 0, 10)).map(({ payment }) => payment)
        const { count } = yield* Batch.prepare(schemeFacilitator, list)
        assert.strictEqual(count, 4)
        assert.strictEqual((yield* Batch.prepare(schemeFacilitator, list)).count, 4)
        const refused = yield* Effect.flip(Batch.prepare(schemeFacilitator, list.slice(4)))
        assert.strictEqual(refused._tag, "FacilitatorUnavailable")
        yield* schemeFacilitator.release?.(list.slice(1, 3)) ?? assert.fail("what is not sent can be released")
        assert.strictEqual((yield* Batch.prepare(schemeFacilitator, list.slice(4))).count, 2)
      })
    )

    it.effect("count no longer when they are left out of a transaction for its cost", () =>
      Effect.gen(function* () {
        const { mint } = yield* chain
        for (let place = 0; place < 10; place++) yield* mint((yield* Batch.payerAt(place)).address, 10_000n)
        const chainHead = yield* Effect.flatMap(Batch.scheme(), (schemeFacilitator) => schemeFacilitator.chainHead)
        const price = chainHead.fees?.maximum ?? 0n
        const schemeFacilitator = yield* Batch.scheme({ lossBudget: 4n * 180_000n * price })
        const list = (yield* Batch.payments(schemeFacilitator, 0, 10)).map(({ payment }) => payment)
        const { count } = yield* Batch.prepare(schemeFacilitator, list, { maximumCost: 400_000n * price })
        assert.strictEqual(count, 2)
        assert.strictEqual((yield* Batch.prepare(schemeFacilitator, list.slice(6))).count, 2)
        const refused = yield* Effect.flip(Batch.prepare(schemeFacilitator, list.slice(2)))
        assert.strictEqual(refused._tag, "FacilitatorUnavailable")
      })
    )
  })
})
