/** Settlement on the test chain: what a node says of bytes is no proof, what blocks show is. */
import { assert, describe, layer } from "@effect/vitest"
import { PaymentPayload } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import { exactTron, TronSigner } from "../../src/index.ts"
import { TronTestChain } from "../../src/testing/index.ts"
import * as TronAsset from "../../src/transfer/TronAsset.ts"
import * as TronTransaction from "../../src/transfer/TronTransaction.ts"
import { localSigner } from "../../src/wallet/LocalTronSigner.ts"
import * as Payment from "../TronTestPayment.ts"
import { tronWebOf } from "../TronTransfers.ts"

const solidified = 19

/** What the payee gains while something is done. */
const gain = Effect.fnUntraced(function* <A, E, R>(body: Effect.Effect<A, E, R>) {
  const chain = yield* TronTestChain.TronTestChain
  const before = yield* chain.balanceOf(chain.accounts.payee.address)
  const result = yield* body
  return [result, (yield* chain.balanceOf(chain.accounts.payee.address)) - before] as const
})

/** Waits until so many transactions wait for a block. */
const waiting = (expected: number) =>
  Effect.flatMap(TronTestChain.TronTestChain, (chain) =>
    Effect.repeat(Effect.andThen(Effect.yieldNow, chain.waiting), { until: ({ length }) => length === expected })
  )

/** Runs while blocks are made only when told to. */
const manually = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.flatMap(TronTestChain.TronTestChain, (chain) =>
    Effect.acquireUseRelease(
      chain.setMining("manual"),
      () => body,
      () => Effect.andThen(chain.mine(), chain.setMining("instant"))
    )
  )

const aPayer = (index: number) =>
  Effect.map(TronTestChain.TronTestChain, ({ accounts: { payers } }) => payers[index] ?? payers[0])

describe("exactTron.facilitator", () => {
  layer(TronTestChain.layer({ payers: 60 }), { excludeTestServices: true })((it) => {
    it.effect("has the local chain's token in the table", () =>
      Effect.gen(function* () {
        const { token } = yield* TronTestChain.TronTestChain
        const table = yield* Effect.fromResult(TronAsset.table([]))
        assert.strictEqual(table.find("tron:local", undefined)?.address, token.address)
      })
    )

    it.effect("settles what a wallet signed through our client, by tronweb and by a key", () =>
      Effect.gen(function* () {
        const { accounts, network, rpcUrl } = yield* TronTestChain.TronTestChain
        const requirements = yield* Payment.requirements
        const scheme = yield* Payment.half()
        const { privateKey } = accounts.payers[0]
        for (const signer of [TronSigner.fromTronWeb(tronWebOf(privateKey)), localSigner(privateKey)]) {
          const client = exactTron.client({ signer, network, rpcUrl })
          const asset = yield* Effect.fromNullishOr(client.asset(requirements))
          const now = Math.floor(Number((yield* (yield* Payment.rpc).head).time) / 1000)
          const { payload } = yield* client.sign({
            requirements,
            asset,
            validAfter: 0,
            validBefore: now + 60,
            binding: undefined
          })
          const one = yield* scheme.read(requirements, payload)
          yield* scheme.verify(one)
          const prepared = yield* Payment.prepare(scheme, one)
          const [{ inclusion, seen }, gained] = yield* gain(
            Effect.andThen(scheme.submit(prepared), Payment.observe(scheme, one, prepared))
          )
          assert.deepStrictEqual([seen, gained, inclusion?.cost], ["Settled", 10_000n, 0n])
        }
      })
    )

    it.effect("reads a payment on record in a token that is not in the table any more, and sees it to its end", () =>
      Effect.gen(function* () {
        const { accounts } = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.half()
        const request = yield* Payment.payment()
        const one = yield* Payment.read(scheme, request)
        const json = yield* Effect.fromResult(PaymentPayload.openPayload(request.paymentPayload))
        const recall = scheme.recall ?? assert.fail("payments can be recalled")
        const recalled = yield* recall(request.paymentRequirements, json)
        assert.deepStrictEqual(recalled.authorization, one.authorization)
        const prepared = yield* Payment.prepare(scheme, one)
        yield* scheme.submit(prepared)
        assert.strictEqual((yield* Payment.end(scheme, recalled, prepared)).seen, "Settled")
        const gone = { ...request.paymentRequirements, asset: accounts.deployer.address }
        const refused = yield* Payment.outcome(scheme.read(gone, json))
        assert.strictEqual(refused, "asset_mismatch asset_not_settled")
        assert.strictEqual((yield* recall(gone, json)).authorization.nonce, one.authorization.nonce)
      })
    )

    it.effect("settles for fifty payers at once, each once", () =>
      Effect.gen(function* () {
        const { settle } = yield* Payment.facilitator()
        const { accounts } = yield* TronTestChain.TronTestChain
        const requests = yield* Effect.forEach(accounts.payers.slice(10), (payer) => Payment.payment({ payer }))
        const settling = Effect.forEach(requests, (request) => Payment.settled(settle(request)), {
          concurrency: "unbounded"
        })
        const [states, gained] = yield* gain(settling)
        assert.strictEqual(states.length, 50)
        assert.deepStrictEqual(new Set(states), new Set(["included"]))
        assert.strictEqual(gained, 500_000n)
      })
    )

    it.effect("moves the money of twenty copies once", () =>
      Effect.gen(function* () {
        const { settle } = yield* Payment.facilitator()
        const request = yield* Payment.payment()
        const copies = Array.from({ length: 20 }, (_, index) =>
          Payment.outcome(settle(request, Payment.claim(`${index}`)))
        )
        const [outcomes, gained] = yield* gain(Effect.all(copies, { concurrency: "unbounded" }))
        assert.deepStrictEqual(new Set(outcomes), new Set(["ok"]))
        assert.strictEqual(gained, 10_000n)
      })
    )

    it.effect("does not settle a transfer that runs out of energy after the node took it, and says so", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const { settle } = yield* Payment.facilitator()
        const request = yield* Payment.payment({ payer: yield* aPayer(2) })
        const [outcome, gained] = yield* gain(
          manually(
            Effect.gen(function* () {
              const settling = yield* Effect.forkChild(Payment.outcome(settle(request)))
              yield* waiting(1)
              yield* chain.setEnergyFactor(chain.token.address, 1_000_000n)
              yield* chain.mine(solidified)
              yield* chain.setMining("instant")
              yield* chain.mine()
              return yield* Fiber.join(settling)
            })
          )
        )
        yield* chain.setEnergyFactor(chain.token.address, 0n)
        assert.deepStrictEqual([outcome, gained], ["INSUFFICIENT_BALANCE out_of_energy", 0n])
      })
    )

    it.effect("does not settle a transfer of which the token has kept a fee meanwhile", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.half()
        const one = yield* Payment.read(scheme, yield* Payment.payment({ payer: yield* aPayer(3) }))
        yield* scheme.verify(one)
        const prepared = yield* Payment.prepare(scheme, one)
        const setFee = (points: bigint) =>
          chain.call({ signature: "setParams(uint256,uint256)", parameters: [points, 1_000_000n] })
        yield* setFee(10n)
        const [, gained] = yield* gain(scheme.submit(prepared))
        yield* setFee(0n)
        yield* Payment.observe(scheme, one, prepared)
        yield* chain.mine(solidified)
        const { inclusion, seen } = yield* Payment.end(scheme, one, prepared)
        assert.deepStrictEqual([seen, gained], ["INVALID_RECIPIENT transfer_effect", 9_990n])
        assert.strictEqual(inclusion?.transaction, prepared.transaction)
      })
    )

    it.effect("does not settle a transfer that reverts in its block", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const payer = yield* aPayer(1)
        const scheme = yield* Payment.half()
        const one = yield* Payment.read(scheme, yield* Payment.payment({ payer }))
        yield* scheme.verify(one)
        const prepared = yield* Payment.prepare(scheme, one)
        yield* chain.call({ signature: "addBlackList(address)", parameters: [payer.address] })
        const [submission, gained] = yield* gain(scheme.submit(prepared))
        assert.deepStrictEqual([submission._tag, gained], ["Accepted", 0n])
        const isPending = Effect.gen(function* () {
          assert.deepInclude(yield* Payment.observe(scheme, one, prepared), { inclusion: undefined, seen: "Pending" })
        })
        yield* isPending
        yield* chain.mine(solidified - 2)
        yield* isPending
        yield* chain.mine()
        const { inclusion, seen, word } = yield* Payment.end(scheme, one, prepared)
        assert.strictEqual(seen, "INSUFFICIENT_BALANCE reverted")
        assert.match(word, /REVERT/)
        assert.strictEqual(inclusion?.transaction, prepared.transaction)
        const observedPayment = { payment: one, since: prepared.head }
        assert.strictEqual((yield* scheme.conclude(observedPayment))._tag, "Pending")
        yield* chain.advance(61_000)
        yield* chain.mine(solidified)
        assert.strictEqual((yield* scheme.conclude(observedPayment))._tag, "Unused")
      })
    )
  })
})

describe("exactTron.facilitator, where a node or the chain misleads", () => {
  layer(TronTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("settles when the node says duplicate of what it has taken", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const { settle } = yield* Payment.facilitator()
        yield* chain.plant(
          { _tag: "Refuse", code: "DUP_TRANSACTION_ERROR", isTaken: true },
          { path: "broadcasthex", times: 1 }
        )
        const [taken, gained] = yield* gain(
          Effect.flatMap(Payment.payment(), (request) => Payment.settled(settle(request)))
        )
        assert.deepStrictEqual([taken, gained], ["included", 10_000n])
      })
    )

    it.effect("waits when a payer has poisoned the node with a bad signature, and settles when it forgets", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const { settle } = yield* Payment.facilitator({ settleTimeoutMillis: 500 })
        const terms = yield* Payment.transfer()
        const request = yield* Payment.payment({ transfer: terms })
        yield* chain.setIdCache(true)
        const { txID } = TronTransaction.unsignedTransfer(terms)
        const forged = TronTransaction.signed(Payment.hexOf(terms), `${"12".repeat(64)}1b`)
        const node = yield* Payment.rpc
        assert.strictEqual((yield* node.broadcast(txID, forged)).code, "SIGERROR")
        const [outcome, gained] = yield* gain(Payment.outcome(settle(request)))
        assert.deepStrictEqual([outcome, gained], ["SettlementPending", 0n])
        assert.strictEqual((yield* node.broadcast(txID, forged)).code, "DUP_TRANSACTION_ERROR")
        yield* chain.setIdCache(false)
        const insisting = Effect.retry(settle(request), { while: ({ _tag }) => _tag === "SettlementPending" })
        const [settled, more] = yield* gain(Payment.settled(insisting))
        assert.deepStrictEqual([settled, more], ["included", 10_000n])
      })
    )

    it.effect("takes no refusal of a node for the end of a payment, sends it again, and settles it", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        for (const code of [
          "SIGERROR",
          "TAPOS_ERROR",
          "CONTRACT_VALIDATE_ERROR",
          "SERVER_BUSY",
          "OTHER_ERROR"
        ] as const) {
          const { settle } = yield* Payment.facilitator()
          yield* chain.plant({ _tag: "Refuse", code }, { path: "broadcasthex", times: 1 })
          const [settled, gained] = yield* gain(
            Effect.flatMap(Payment.payment(), (request) => Payment.settled(settle(request)))
          )
          assert.deepStrictEqual([settled, gained], ["included", 10_000n], code)
        }
      })
    )

    it.effect("settles once when the answer to its bytes gets lost", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const { settle } = yield* Payment.facilitator()
        yield* chain.plant({ _tag: "Disconnect", isDone: true }, { path: "broadcasthex", times: 1 })
        const [settled, gained] = yield* gain(
          Effect.flatMap(Payment.payment(), (request) => Payment.settled(settle(request)))
        )
        assert.deepStrictEqual([settled, gained], ["included", 10_000n])
      })
    )

    for (const result of ["REVERT", "OUT_OF_ENERGY", "SUCCESS"]) {
      it.effect(`settles though the node says once that it ended in ${result} without the transfer`, () =>
        Effect.gen(function* () {
          const chain = yield* TronTestChain.TronTestChain
          const { settle } = yield* Payment.facilitator()
          const terms = yield* Payment.transfer()
          const request = yield* Payment.payment({ transfer: terms })
          const { txID: id } = TronTransaction.unsignedTransfer(terms)
          const { number } = yield* (yield* Payment.rpc).head
          const body = JSON.stringify({ id, blockNumber: Number(number), receipt: { result }, log: [] })
          yield* chain.plant({ _tag: "Text", body }, { path: "gettransactioninfobyid", times: 1 })
          const [settled, gained] = yield* gain(Payment.settled(settle(request)))
          assert.deepStrictEqual([settled, gained], ["included", 10_000n])
        })
      )
    }

    it.effect("says nothing of a payment while the node tells of its failure in other words each time", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.half()
        const one = yield* Payment.read(scheme, yield* Payment.payment())
        const prepared = yield* Payment.prepare(scheme, one)
        yield* scheme.submit(prepared)
        const { number } = yield* (yield* Payment.rpc).head
        for (const result of ["REVERT", "OUT_OF_ENERGY", "REVERT"]) {
          const body = JSON.stringify({ id: prepared.transaction, blockNumber: Number(number), receipt: { result } })
          yield* chain.plant({ _tag: "Text", body }, { path: "gettransactioninfobyid", times: 1 })
          assert.strictEqual((yield* Payment.observe(scheme, one, prepared)).seen, "Pending")
          yield* chain.mine()
        }
        const { inclusion, seen } = yield* Payment.end(scheme, one, prepared)
        assert.deepStrictEqual([seen, inclusion?.transaction], ["Settled", prepared.transaction])
      })
    )

    it.effect("counts no transfer that was in a block before it was prepared", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.half()
        const one = yield* Payment.read(scheme, yield* Payment.payment())
        const prepared = yield* Payment.prepare(scheme, one)
        yield* scheme.submit(prepared)
        const late = { ...prepared, head: prepared.head + 1n }
        assert.strictEqual((yield* Payment.observe(scheme, one, prepared)).seen, "Settled")
        assert.strictEqual((yield* Payment.observe(scheme, one, late)).seen, "Pending")
        yield* chain.mine(solidified)
        assert.strictEqual((yield* Payment.end(scheme, one, late)).seen, "already_used on_chain")
      })
    )

    it.effect("waits for the solidified block where that is the policy", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.half({ finality: "solidified" })
        const one = yield* Payment.read(scheme, yield* Payment.payment())
        yield* scheme.verify(one)
        const prepared = yield* Payment.prepare(scheme, one)
        yield* scheme.submit(prepared)
        const observedPayment = { payment: one, since: prepared.head }
        assert.deepStrictEqual(yield* Payment.observe(scheme, one, prepared), {
          inclusion: undefined,
          seen: "Pending",
          word: ""
        })
        assert.strictEqual((yield* scheme.conclude(observedPayment))._tag, "Pending")
        yield* chain.mine(solidified)
        const { inclusion, seen } = yield* Payment.end(scheme, one, prepared)
        assert.strictEqual(seen, "Settled")
        assert.isTrue((inclusion?.block.number ?? 0n) <= (yield* scheme.chainHead).final)
        assert.strictEqual((yield* scheme.conclude(observedPayment))._tag, "Settled")
      })
    )

    it.effect("sees a block go in a reorganisation, and settles the same bytes again", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.half()
        const one = yield* Payment.read(scheme, yield* Payment.payment())
        const prepared = yield* Payment.prepare(scheme, one)
        const lands = Effect.andThen(scheme.submit(prepared), Payment.end(scheme, one, prepared))
        const first = yield* lands
        assert.strictEqual(first.seen, "Settled")
        const block = first.inclusion?.block ?? { number: 0n, hash: "" }
        yield* chain.reorganise(1)
        assert.isFalse(yield* scheme.isCanonical(block))
        assert.strictEqual((yield* Payment.observe(scheme, one, prepared)).seen, "Pending")
        const [again, gained] = yield* gain(lands)
        assert.deepStrictEqual([again.seen, gained], ["Settled", 10_000n])
        assert.notDeepEqual(again.inclusion?.block, block)
      })
    )

    it.effect("tells nobody of a failure in a block that is taken back: the same bytes pay, once", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const payer = yield* aPayer(4)
        const scheme = yield* Payment.half()
        const one = yield* Payment.read(scheme, yield* Payment.payment({ payer }))
        yield* scheme.verify(one)
        const prepared = yield* Payment.prepare(scheme, one)
        yield* chain.call({ signature: "addBlackList(address)", parameters: [payer.address] })
        yield* scheme.submit(prepared)
        for (let block = 0; block < 5; block++) {
          assert.strictEqual((yield* Payment.observe(scheme, one, prepared)).seen, "Pending")
          yield* chain.mine()
        }
        yield* chain.reorganise(6)
        yield* chain.call({ signature: "removeBlackList(address)", parameters: [payer.address] })
        const [again, gained] = yield* gain(Effect.andThen(scheme.submit(prepared), Payment.end(scheme, one, prepared)))
        assert.deepStrictEqual([again.seen, gained], ["Settled", 10_000n])
      })
    )

    it.effect("says unused only when a solidified block is past the expiration, whatever waits", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const scheme = yield* Payment.half()
        const { expiration } = yield* Payment.transfer()
        const one = yield* Payment.read(scheme, yield* Payment.payment({ transfer: { expiration } }))
        const observedPayment = { payment: one, since: (yield* scheme.chainHead).head.number }
        yield* chain.setTime(Number(expiration) - 1_000)
        yield* chain.mine(solidified)
        assert.strictEqual((yield* scheme.conclude(observedPayment))._tag, "Pending")
        yield* chain.setTime(Number(expiration))
        yield* chain.mine(solidified - 1)
        assert.strictEqual((yield* scheme.conclude(observedPayment))._tag, "Pending")
        yield* chain.mine()
        const concluded = yield* scheme.conclude(observedPayment)
        assert.strictEqual(concluded._tag, "Unused")
        const { submit } = scheme
        const prepared = yield* Payment.prepare(scheme, one)
        const submission = yield* submit(prepared)
        assert.deepStrictEqual(
          [submission._tag, "message" in submission && submission.message.startsWith("TRANSACTION_EXPIRATION_ERROR")],
          ["Outdated", true]
        )
      })
    )

    it.effect("prepares the payer's bytes unchanged, and nothing for nobody", () =>
      Effect.gen(function* () {
        const scheme = yield* Payment.half()
        const request = yield* Payment.payment()
        const one = yield* Payment.read(scheme, request)
        const { bytes, cost, slot, transaction } = yield* Payment.prepare(scheme, one)
        assert.deepStrictEqual([cost, slot, transaction], [0n, undefined, one.authorization.nonce])
        assert.strictEqual(
          TronTransaction.id(TronTransaction.rawInside(bytes) ?? new Uint8Array(0)),
          one.authorization.nonce
        )
        const chainHead = yield* scheme.chainHead
        assert.strictEqual((yield* Effect.flip(scheme.prepare([], undefined, chainHead)))._tag, "Misconfigured")
        const { noop } = scheme
        const filler = yield* Effect.flip(noop({ lane: "", number: 0n }, chainHead))
        assert.strictEqual(filler._tag, "Misconfigured")
        assert.deepStrictEqual(yield* scheme.signers, [])
      })
    )
  })
})
