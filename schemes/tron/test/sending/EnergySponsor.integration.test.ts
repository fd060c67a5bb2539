/** Payers who cannot pay the chain pay the shop, with energy that is lent to them and taken back. */
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
/** A block is solid below so many others. */
const solidified = 20

/** A facilitator whose sponsor is the first signer. */
const sponsored = Effect.fnUntraced(function* (options: Options = {}, index = 0) {
  const { accounts } = yield* TronTestChain.TronTestChain
  const { privateKey } = accounts.signers[index] ?? accounts.deployer
  return { sponsor: { signer: localSigner(privateKey), ...options } }
})

/** A payer with tokens, activated, and with so much sun. */
const payerWith = Effect.fnUntraced(function* (name: string, sun: bigint) {
  const chain = yield* TronTestChain.TronTestChain
  const payer = TronTestAccounts.named(name)
  yield* chain.mint(payer.address, 1_000_000n)
  yield* chain.fund(payer.address, sun)
  return payer
})

const stake = Effect.flatMap(TronTestChain.TronTestChain, (chain) => chain.stake(chain.accounts.signers[0], staked))

/** What the first signer has lent an account. */
const lentTo = Effect.fnUntraced(function* ({ address }: TronTestAccounts.TestAccount) {
  const { accounts } = yield* TronTestChain.TronTestChain
  return yield* (yield* Payment.rpc).delegated(Payment.parsed(accounts.signers[0].address), Payment.parsed(address))
})

/** Asks what is lent until it is as wanted. */
const untilLent = (payer: TronTestAccounts.TestAccount, is: (sun: bigint) => boolean) =>
  Effect.repeat(lentTo(payer), { until: is })

const started = (sponsor: EnergySponsor.Options) => Payment.outcome(Payment.half({ sponsor }))

describe("a sponsor of energy", () => {
  layer(TronTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("lets a payer without TRX pay, and takes its stake back", () =>
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

    it.effect("serves one payment of a payer at a time, and each of them", () =>
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

    it.effect("leaves who can pay alone, and lends nothing to who has energy", () =>
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

    it.effect("lends no more than it may, and nothing that it has not", () =>
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

    it.effect("does not pay for itself", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const payer = chain.accounts.signers[0]
        yield* chain.mint(payer.address, 1_000_000n)
        const scheme = yield* Payment.half(yield* sponsored())
        const one = yield* Payment.read(scheme, yield* Payment.payment({ payer }))
        assert.strictEqual(yield* Payment.outcome(scheme.verify(one)), "INVALID_RECIPIENT facilitator_pays")
      })
    )

    it.effect("shows the most a loan costs, and its own TRX", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.half(yield* sponsored())
        const prepared = yield* Payment.prepare(scheme, yield* Payment.read(scheme, yield* Payment.payment()))
        assert.strictEqual(prepared.cost, 720_000n)
        const { address } = chain.accounts.signers[0]
        assert.deepStrictEqual(yield* scheme.signers, [{ address, balance: yield* chain.balance(address) }])
      })
    )

    it.effect("takes back what an earlier process has lent, and leaves what is not its own", () =>
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
        yield* Payment.half(yield* sponsored({ reclaimAfterMillis: 50 }))
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
        const scheme = yield* Payment.half()
        const prepared = yield* Payment.prepare(scheme, yield* Payment.read(scheme, yield* Payment.payment({ payer })))
        /** Swallows the payment, so that the loan stays open. */
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

    it.effect("sends nothing that is no payment, and nothing that the token would refuse now", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const payer = yield* payerWith("blocked meanwhile", 1n)
        const rpc = yield* Payment.rpc
        const scheme = yield* Payment.half()
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

    it.effect("is not made for a signer that has no address", () =>
      Effect.gen(function* () {
        const { sponsor } = yield* sponsored()
        const signer = { ...sponsor.signer, address: "T1" }
        assert.strictEqual(yield* started({ ...sponsor, signer }), "Misconfigured")
        assert.strictEqual(yield* started({ ...sponsor, maxEnergyPerDay: 0n }), "Misconfigured")
      })
    )
  })

  // On a chain of its own, whose blocks it makes.
  layer(TronTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("lends nothing more to a payer who moved its tokens away with the energy", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        yield* stake
        const payer = yield* payerWith("moves its tokens", 2n * forBandwidth)
        const rpc = yield* Payment.rpc
        const scheme = yield* Payment.half()
        const one = yield* Payment.read(scheme, yield* Payment.payment({ payer }))
        const prepared = yield* Payment.prepare(scheme, one)
        const moving = chain.call({
          from: payer,
          signature: "transfer(address,uint256)",
          parameters: [chain.accounts.payers[1]?.address ?? "", 1_000_000n]
        })
        /** The payer is quicker than the payment, once the energy is there. */
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
        // A failure is told when its block is solid.
        yield* chain.mine(solidified)
        assert.strictEqual((yield* Payment.end(scheme, one, prepared)).seen, "INSUFFICIENT_BALANCE reverted")
        yield* untilLent(payer, (lent) => lent === 0n)
        assert.isFalse(yield* covers(lending, sums))
        // It pays for itself from now on, and anybody else is lent to.
        assert.isTrue(yield* covers({ ...lending, payer: Payment.parsed(chain.accounts.payee.address) }, sums))
      })
    )
  })
})
