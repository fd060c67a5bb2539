/** Payers without TRX for fees pay with energy that is lent to them and taken back. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

import type * as TronRpc from "../../src/node/TronRpc.ts"
import * as EnergySponsor from "../../src/sending/EnergySponsor.ts"
import { TronTestAccounts, TronTestChain } from "../../src/testing/index.ts"
import { localSigner } from "../../src/wallet/LocalTronSigner.ts"
import * as Payment from "../TronTestPayment.ts"

type Options = Partial<EnergySponsor.Options>

/** Enough for the bandwidth of two transfers, and not for the energy of one. */
const forBandwidth = 900_000n
const staked = 1_000_000_000_000n
/** Blocks after which a block is solidified. */
const solidified = 20

/** A facilitator whose sponsor is the first signer. */
const sponsored = Effect.fnUntraced(function* (options: Options = {}, index = 0) {
  const { accounts } = yield* TronTestChain.TronTestChain
  const { privateKey } = accounts.signers[index] ?? accounts.deployer
  return { sponsor: { signer: localSigner(privateKey), ...options } }
})

/** An activated payer with tokens and the given sun. */
const payerWith = Effect.fnUntraced(function* (name: string, sun: bigint) {
  const chain = yield* TronTestChain.TronTestChain
  const payer = TronTestAccounts.named(name)
  yield* chain.mint(payer.address, 1_000_000n)
  yield* chain.fund(payer.address, sun)
  return payer
})

const stake = Effect.flatMap(TronTestChain.TronTestChain, (chain) => chain.stake(chain.accounts.signers[0], staked))

/** Stake that the first signer has lent an account, in sun. */
const lentTo = Effect.fnUntraced(function* ({ address }: TronTestAccounts.TestAccount) {
  const { accounts } = yield* TronTestChain.TronTestChain
  return yield* (yield* Payment.rpc).delegated(Payment.parsed(accounts.signers[0].address), Payment.parsed(address))
})

/** Reads the lent stake until it is as expected. */
const untilLent = (payer: TronTestAccounts.TestAccount, is: (sun: bigint) => boolean) =>
  Effect.repeat(lentTo(payer), { until: is })

const started = (sponsor: EnergySponsor.Options) => Payment.outcome(Payment.schemeFacilitator({ sponsor }))

describe("EnergySponsor", () => {
  layer(TronTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("lends energy to a payer without TRX, and takes its stake back", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        yield* stake
        const payer = yield* payerWith("without TRX", 0n)
        const request = yield* Payment.payment({ payer })
        const alone = yield* Payment.facilitator()
        assert.strictEqual(yield* Payment.outcome(alone.verify(request)), "INSUFFICIENT_BALANCE trx_for_fees")
        const { settle } = yield* Payment.facilitator(yield* sponsored())
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        const sun = yield* chain.balance(chain.accounts.signers[0].address)
        assert.strictEqual(yield* Payment.settled(settle(request)), "included")
        assert.strictEqual((yield* chain.balanceOf(chain.accounts.payee.address)) - before, 10_000n)
        assert.strictEqual(yield* chain.balance(payer.address), 0n)
        yield* untilLent(payer, (lent) => lent === 0n)
        const paid = sun - (yield* chain.balance(chain.accounts.signers[0].address))
        assert.isTrue(paid <= 720_000n, `${paid}`)
      })
    )

    it.effect("lends for one payment of a payer at a time, and for each of them", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        yield* stake
        const payer = yield* payerWith("three at once", forBandwidth)
        const { settle } = yield* Payment.facilitator(yield* sponsored())
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        const requests = yield* Effect.forEach([1, 2, 3], () => Payment.payment({ payer }))
        const states = yield* Effect.forEach(requests, (request) => Payment.settled(settle(request)), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(states, ["included", "included", "included"])
        assert.strictEqual((yield* chain.balanceOf(chain.accounts.payee.address)) - before, 30_000n)
        const left = yield* chain.balance(payer.address)
        assert.isTrue(left > forBandwidth - 700_000n, `energy was burnt: ${left} sun are left`)
        yield* untilLent(payer, (lent) => lent === 0n)
      })
    )

    it.effect("lends nothing to payers with TRX or energy", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        yield* stake
        const payer = chain.accounts.payers[1] ?? chain.accounts.payers[0]
        yield* chain.stake(payer, 900_000_000n)
        yield* chain.fund(payer.address, 100_000_000_000n)
        yield* chain.stake(payer, 50_000_000_000n)
        const { settle } = yield* Payment.facilitator(yield* sponsored())
        const before = yield* Payment.broadcasts
        assert.strictEqual(yield* Payment.settled(settle(yield* Payment.payment({ payer }))), "included")
        assert.strictEqual((yield* Payment.broadcasts) - before, 1)
      })
    )

    it.effect("lends within its budget and its stake", () =>
      Effect.gen(function* () {
        yield* stake
        const payer = yield* payerWith("too much", forBandwidth)
        const verified = Effect.fnUntraced(function* (options: Options, index?: number) {
          const { verify } = yield* Payment.facilitator(yield* sponsored(options, index))
          return yield* Payment.outcome(verify(yield* Payment.payment({ payer })))
        })
        const poor = "INSUFFICIENT_BALANCE trx_for_fees"
        assert.strictEqual(yield* verified({}), "ok")
        assert.strictEqual(yield* verified({ maxEnergyPerPayment: 1_000n }), poor)
        assert.strictEqual(yield* verified({ maxEnergyPerDay: 1_000n }), poor)
        assert.strictEqual(yield* verified({}, 1), poor)
        const { settle, verify } = yield* Payment.facilitator(yield* sponsored({ maxPaymentsPerPayer: 1 }))
        assert.strictEqual(yield* Payment.settled(settle(yield* Payment.payment({ payer }))), "included")
        assert.strictEqual(yield* Payment.outcome(verify(yield* Payment.payment({ payer }))), poor)
      })
    )

    it.effect("refuses payments of its own account", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const payer = chain.accounts.signers[0]
        yield* chain.mint(payer.address, 1_000_000n)
        const scheme = yield* Payment.schemeFacilitator(yield* sponsored())
        const one = yield* Payment.read(scheme, yield* Payment.payment({ payer }))
        assert.strictEqual(yield* Payment.outcome(scheme.verify(one)), "INVALID_RECIPIENT facilitator_pays")
      })
    )

    it.effect("reports the highest cost of a loan, and its own TRX", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.schemeFacilitator(yield* sponsored())
        const prepared = yield* Payment.prepare(scheme, yield* Payment.read(scheme, yield* Payment.payment()))
        assert.strictEqual(prepared.cost, 720_000n)
        const { address } = chain.accounts.signers[0]
        assert.deepStrictEqual(yield* scheme.signers, [{ address, balance: yield* chain.balance(address) }])
      })
    )

    it.effect("takes back the loans of an earlier process, and leaves those of others", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        yield* stake
        const payer = yield* payerWith("left over", 1n)
        const [sponsor, other] = chain.accounts.signers
        yield* chain.stake(other, staked)
        const fields = { receiver_address: payer.address, balance: "5000000", resource: "ENERGY" }
        yield* chain.send({ contract: "DelegateResourceContract", fields }, sponsor)
        yield* chain.send({ contract: "DelegateResourceContract", fields }, other)
        assert.strictEqual(yield* lentTo(payer), 5_000_000n)
        yield* Payment.schemeFacilitator(yield* sponsored({ reclaimAfterMillis: 50 }))
        yield* untilLent(payer, (lent) => lent === 0n)
        const rpc = yield* Payment.rpc
        const others = yield* rpc.delegated(Payment.parsed(other.address), Payment.parsed(payer.address))
        assert.strictEqual(others, 5_000_000n)
      })
    )

    it.effect("takes open loans back when it closes", () =>
      Effect.gen(function* () {
        yield* stake
        const payer = yield* payerWith("open loan", 1n)
        const rpc = yield* Payment.rpc
        const scheme = yield* Payment.schemeFacilitator()
        const prepared = yield* Payment.prepare(scheme, yield* Payment.read(scheme, yield* Payment.payment({ payer })))
        /** Drops the payment, so that the loan stays open. */
        const swallowing: TronRpc.TronRpc = {
          ...rpc,
          broadcast: (id, bytes) =>
            id === prepared.transaction ? Effect.succeed({ code: "SUCCESS", message: "" }) : rpc.broadcast(id, bytes)
        }
        const lending = Effect.gen(function* () {
          const { sponsor } = yield* sponsored()
          const { submit } = yield* EnergySponsor.make(swallowing, rpc.prices, sponsor)
          const submitted = yield* submit(prepared.transaction, prepared.bytes)
          assert.strictEqual(submitted._tag, "Accepted")
          yield* untilLent(payer, (lent) => lent > 0n)
          yield* submit(prepared.transaction, prepared.bytes)
          return yield* lentTo(payer)
        })
        const lent = yield* Effect.scoped(lending)
        assert.isTrue(lent > 0n)
        assert.strictEqual(yield* lentTo(payer), 0n)
      })
    )

    it.effect("submits neither invalid payments nor those that the token would reject", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const payer = yield* payerWith("blocked meanwhile", 1n)
        const rpc = yield* Payment.rpc
        const scheme = yield* Payment.schemeFacilitator()
        const prepared = yield* Payment.prepare(scheme, yield* Payment.read(scheme, yield* Payment.payment({ payer })))
        yield* chain.call({ signature: "addBlackList(address)", parameters: [payer.address] })
        const { sponsor } = yield* sponsored()
        const { submit } = yield* EnergySponsor.make(rpc, rpc.prices, sponsor)
        const before = yield* Payment.broadcasts
        assert.strictEqual((yield* submit(prepared.transaction, "0a02ffff"))._tag, "Outdated")
        assert.strictEqual((yield* submit(prepared.transaction, prepared.bytes))._tag, "Outdated")
        assert.strictEqual(yield* Payment.broadcasts, before)
      })
    )

    it.effect("refuses a signer without a valid address", () =>
      Effect.gen(function* () {
        const { sponsor } = yield* sponsored()
        const signer = { ...sponsor.signer, address: "T1" }
        assert.strictEqual(yield* started({ ...sponsor, signer }), "Misconfigured")
        assert.strictEqual(yield* started({ ...sponsor, maxEnergyPerDay: 0n }), "Misconfigured")
      })
    )
  })

  // On a chain of its own, with manual blocks.
  layer(TronTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("bans a payer that moved its tokens away with the energy", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        yield* stake
        const payer = yield* payerWith("moves its tokens", 2n * forBandwidth)
        const rpc = yield* Payment.rpc
        const scheme = yield* Payment.schemeFacilitator()
        const one = yield* Payment.read(scheme, yield* Payment.payment({ payer }))
        const prepared = yield* Payment.prepare(scheme, one)
        const moving = chain.call({
          from: payer,
          signature: "transfer(address,uint256)",
          parameters: [chain.accounts.payers[1]?.address ?? "", 1_000_000n]
        })
        /** The payer moves its tokens before the payment, once the energy has arrived. */
        const quicker: TronRpc.TronRpc = {
          ...rpc,
          broadcast: (id, bytes) =>
            id === prepared.transaction ? Effect.andThen(moving, rpc.broadcast(id, bytes)) : rpc.broadcast(id, bytes)
        }
        const { sponsor } = yield* sponsored()
        const { covers, submit } = yield* EnergySponsor.make(quicker, rpc.prices, sponsor)
        const lending = { payer: Payment.parsed(payer.address), caller: "", energy: 20_000n }
        const sums = yield* rpc.resources(lending.payer)
        assert.isTrue(yield* covers(lending, sums))
        yield* submit(prepared.transaction, prepared.bytes)
        yield* Effect.repeat(covers(lending, sums), { until: (would) => !would })
        // A failure is reported once its block is solidified.
        yield* chain.mine(solidified)
        assert.strictEqual((yield* Payment.end(scheme, one, prepared)).seen, "INSUFFICIENT_BALANCE reverted")
        yield* untilLent(payer, (lent) => lent === 0n)
        assert.isFalse(yield* covers(lending, sums))
        // It pays for itself from now on; other payers are still lent energy.
        assert.isTrue(yield* covers({ ...lending, payer: Payment.parsed(chain.accounts.payee.address) }, sums))
      })
    )
  })
})
