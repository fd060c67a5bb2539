/**
 * Coinbase Smart Wallet 1 and Kernel 3.0 by their published bytecode: they pay by ERC-1271 and ERC-6492, Kernel by user operations too,
 * and what a hostile owner can do with either is refused before anything is sent.
 */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type Address, encodeFunctionData, type Hex, serializeErc6492Signature } from "viem"
import { entryPoint06Address, type SmartAccount, toCoinbaseSmartAccount } from "viem/account-abstraction"

import { exactEvm } from "../../src/index.ts"
import { EvmTestChain, HostileValidator } from "../../src/testing/index.ts"
import * as Operation from "../EvmTestOperation.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as PublishedAccounts from "../PublishedAccounts.ts"

const chain = EvmTestChain.EvmTestChain
const { published } = PublishedAccounts

const unsupported = (rule: string) => `unsupported_authorization ${rule}`
const unknown = unsupported("payer_code_unknown")

/** The chain's contracts, and the options of a facilitator that knows Kernel 3.0, which the table does not. */
const ready = Effect.gen(function* () {
  const made = yield* Operation.ready
  yield* PublishedAccounts.deploy(yield* chain)
  const knownImplementations = [published.kernel, published.kernelFactory]
  return { ...made, options: { ...made.options, knownImplementations } }
})

const coinbaseOf = Effect.fnUntraced(function* (nonce: bigint, owners = 1) {
  const { accounts, client, mint } = yield* chain
  const account: SmartAccount = yield* Effect.promise(() =>
    toCoinbaseSmartAccount({ client, owners: accounts.payers.slice(0, owners), nonce, version: "1" })
  )
  yield* mint(account.address, 1_000_000n)
  return account
})

const kernelOf = Effect.fnUntraced(function* (plain: Address, options: PublishedAccounts.KernelOptions) {
  const one = yield* chain
  const account = yield* Effect.promise(() => PublishedAccounts.kernel(one, one.accounts.payers[0], options))
  yield* one.mint(account.address, 1_000_000n)
  yield* Operation.mintPlain(plain, account.address)
  return account
})

/** Anybody deploys the account. */
const deployed = Effect.fnUntraced(function* (account: SmartAccount) {
  const { accounts, send } = yield* chain
  const { factory, factoryData } = yield* Effect.promise(() => account.getFactoryArgs())
  if (factory === undefined || factoryData === undefined) return assert.fail("it has no factory")
  yield* send({ from: accounts.stranger.address, to: factory, data: factoryData })
})

const payerOf = (account: SmartAccount): Payment.Deviation => ({ from: account.address, signer: account })

const read = Effect.fnUntraced(function* (options: Payment.FacilitatorOptions, deviation: Payment.Deviation) {
  const schemeFacilitator = yield* Payment.scheme(yield* chain, options)
  const payment = yield* Payment.read(schemeFacilitator, yield* Payment.payment(deviation))
  return { schemeFacilitator, payment }
})

const verdict = (options: Payment.FacilitatorOptions, deviation: Payment.Deviation) =>
  Payment.outcome(
    Effect.flatMap(read(options, deviation), ({ payment, schemeFacilitator }) => schemeFacilitator.verify(payment))
  )

/** Verifies, sends, and says how it ended, what the payee got and what it cost. */
const paid = Effect.fnUntraced(function* (
  options: Payment.FacilitatorOptions,
  deviation: Payment.Deviation,
  meanwhile: Effect.Effect<void, never, EvmTestChain.EvmTestChain> = Effect.void
) {
  const { accounts, balanceOf } = yield* chain
  const { payment, schemeFacilitator } = yield* read(options, deviation)
  const before = yield* balanceOf(accounts.payee.address)
  yield* schemeFacilitator.verify(payment)
  const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
  yield* meanwhile
  const end = yield* Payment.sendAlone(schemeFacilitator, payment, prepared)
  const { gasUsed } = yield* Operation.receiptOf(prepared.transaction)
  return { end: end._tag, received: (yield* balanceOf(accounts.payee.address)) - before, gasUsed }
})

const settled = ["Settled", 10_000n, "Settled", 10_000n]

describe("Coinbase Smart Wallet and Kernel", () => {
  layer(EvmTestChain.layer({ payers: 3 }), { excludeTestServices: true })((it) => {
    it.effect("pay by a transaction that deploys them, and by their signature from then on", () =>
      Effect.gen(function* () {
        const { accounts, mint } = yield* chain
        const { options, plain } = yield* ready
        const { plain: _, ...served } = options
        yield* mint(accounts.payee.address, 1n)
        for (const [name, account, mostFirst, mostLater] of [
          ["Coinbase", yield* coinbaseOf(0n), 274_000, 97_000],
          ["Coinbase of two owners", yield* coinbaseOf(1n, 2), 350_000, 97_000],
          ["Kernel", yield* kernelOf(plain, { salt: "0x01" }), 261_000, 102_000]
        ] as const) {
          const first = yield* paid(served, payerOf(account))
          const later = yield* paid(served, payerOf(account))
          assert.deepStrictEqual([first.end, first.received, later.end, later.received], settled, name)
          assert.isBelow(Number(first.gasUsed), mostFirst, name)
          assert.isBelow(Number(later.gasUsed), mostLater, name)
        }
      })
    )

    it.effect("pay though somebody deploys them between their verification and their transaction", () =>
      Effect.gen(function* () {
        const { options, plain } = yield* ready
        const { plain: _, ...served } = options
        for (const account of [yield* coinbaseOf(2n), yield* kernelOf(plain, { salt: "0x02" })]) {
          const { gasUsed, ...end } = yield* paid(served, payerOf(account), deployed(account))
          assert.deepStrictEqual(end, { end: "Settled", received: 10_000n })
          assert.isBelow(Number(gasUsed), 125_000)
        }
      })
    )

    it.effect("pay by a user operation where their EntryPoint is served: Kernel, deployed and not", () =>
      Effect.gen(function* () {
        const { options, plain } = yield* ready
        const account = yield* kernelOf(plain, { salt: "0x03" })
        // Its root validator is meant by two zero bytes in front of the nonce.
        const first = yield* Operation.paid(options, account, plain)
        const later = yield* Operation.paid(options, account, plain)
        assert.deepStrictEqual([first.end, first.received, later.end, later.received], settled)
        assert.isBelow(Number(first.gasUsed), 333_000)
        assert.isBelow(Number(later.gasUsed), 155_000)
        const old = yield* coinbaseOf(3n)
        yield* Operation.mintPlain(plain, old.address)
        assert.strictEqual(old.entryPoint.address, entryPoint06Address)
        assert.strictEqual(yield* Operation.verdict(options, old, plain), unsupported("operation_entry_point"))
      })
    )

    it.effect("are refused where their code is not known: an implementation, a factory, a validator", () =>
      Effect.gen(function* () {
        const { deploy } = yield* chain
        const { options, plain } = yield* ready
        const { plain: _, knownImplementations: __, ...strange } = options
        const { plain: ___, ...served } = options
        const account = yield* kernelOf(plain, { salt: "0x04" })
        assert.strictEqual(yield* verdict(strange, payerOf(account)), unknown)
        assert.strictEqual(yield* Operation.verdict({ ...strange, plain }, account, plain), unknown)
        yield* deployed(account)
        assert.strictEqual(yield* verdict(strange, payerOf(account)), unknown)
        // A validator of the owner's own accepts whatever it likes: always, or only where the gas costs nothing.
        for (const [isSteady, salt, refusals] of [
          [true, "0x05", [unknown, unknown, unknown]],
          [
            false,
            "0x0b",
            ["INVALID_SIGNATURE token_refused", "INVALID_SIGNATURE token_refused", "INVALID_SIGNATURE account_refused"]
          ]
        ] as const) {
          const validator = yield* deploy(HostileValidator, [isSteady])
          const hostile = yield* kernelOf(plain, { salt, validator })
          const first = yield* verdict(served, payerOf(hostile))
          yield* deployed(hostile)
          const later = yield* verdict(served, payerOf(hostile))
          const byOperation = yield* Operation.verdict(options, hostile, plain)
          assert.deepStrictEqual([first, later, byOperation], [...refusals], `${isSteady}`)
        }
      })
    )

    it.effect("are refused by the signature of another key, and of another account of the same key", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const { options, plain } = yield* ready
        const { plain: _, ...served } = options
        for (const [account, other] of [
          [yield* coinbaseOf(4n), yield* coinbaseOf(5n)],
          [yield* kernelOf(plain, { salt: "0x06" }), yield* kernelOf(plain, { salt: "0x0c" })]
        ] as const) {
          yield* deployed(account)
          yield* deployed(other)
          for (const signer of [accounts.stranger, other]) {
            assert.include(yield* verdict(served, { from: account.address, signer }), "INVALID_SIGNATURE")
          }
        }
      })
    )

    it.effect("are refused with the factory's call of another account", () =>
      Effect.gen(function* () {
        const { options, plain } = yield* ready
        const { plain: _, ...served } = options
        for (const [account, other] of [
          [yield* coinbaseOf(6n), yield* coinbaseOf(7n)],
          [yield* kernelOf(plain, { salt: "0x07" }), yield* kernelOf(plain, { salt: "0x08" })]
        ] as const) {
          const { factory = account.address, factoryData = "0x" } = yield* Effect.promise(() => other.getFactoryArgs())
          const deviation = {
            ...payerOf(account),
            signature: (signature: Hex) => serializeErc6492Signature({ address: factory, data: factoryData, signature })
          }
          assert.strictEqual(yield* verdict(served, deviation), unsupported("account_not_deployed"))
        }
      })
    )

    it.effect("Kernel's calls in any mode but the strict one are refused, and so is another validator's nonce", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const { options, plain } = yield* ready
        const account = yield* kernelOf(plain, { salt: "0x09" })
        yield* deployed(account)
        const { batch, batchThatTries, delegatecall } = PublishedAccounts.modes
        const transfer = encodeFunctionData({
          abi: Operation.erc20Abi,
          functionName: "transfer",
          args: [accounts.payee.address, 10_000n]
        })
        const { callData } = yield* Operation.operationOf(account, plain)
        const tries = `${callData.slice(0, 10)}${batchThatTries.slice(2)}${callData.slice(74)}` as Hex
        for (const [name, wrong] of [
          ["try", tries],
          [
            "two transfers",
            PublishedAccounts.kernelBatch(batch, [
              { to: plain, data: transfer },
              { to: plain, data: transfer }
            ])
          ],
          ["delegatecall", PublishedAccounts.kernelCall(delegatecall, { to: plain, data: transfer })]
        ] as const) {
          const outcome = yield* Operation.verdict(options, account, plain, { callData: wrong })
          assert.strictEqual(outcome, unsupported("operation_calls"), name)
        }
        // Type 1 in the nonce's second byte chooses the validator that the next twenty name.
        const key = (0x01n << 176n) | (BigInt(published.kernelStaker) << 16n)
        assert.notStrictEqual(yield* Operation.verdict(options, account, plain, { key }), "ok")
      })
    )

    it.effect("Kernel pays by our client, whose nonce leaves the root validator its two bytes", () =>
      Effect.gen(function* () {
        const { accounts, network } = yield* chain
        const { options, plain } = yield* ready
        const account = yield* kernelOf(plain, { salt: "0x0a" })
        const signer = exactEvm.smartAccount(account, { nonces: "kernel" })
        const asset = { network, address: plain, symbol: "PUSD", decimals: 6 }
        const payer = exactEvm.client({ signer, network, assets: [asset] })
        const schemeFacilitator = yield* Operation.schemeWith(options)
        const requirements = {
          ...(yield* Payment.requirements),
          asset: plain,
          payTo: accounts.payee.address,
          ...(schemeFacilitator.extra && { extra: schemeFacilitator.extra })
        }
        const known = payer.asset(requirements)
        if (known === undefined) return assert.fail("the token is not known")
        assert.isUndefined(payer.objection?.(requirements, known))
        const validBefore = Number(yield* Payment.latestTime) + 60
        const { binding } = Payment.bound()
        const { nonce, payload } = yield* payer.sign({
          requirements,
          asset: known,
          validAfter: 0,
          validBefore,
          binding
        })
        const payment = yield* schemeFacilitator.read(requirements, payload)
        assert.strictEqual(payment.authorization.nonce, nonce)
        assert.deepStrictEqual(payment.authorization.binding, binding)
        yield* schemeFacilitator.verify(payment)
        const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
        assert.strictEqual((yield* Payment.sendAlone(schemeFacilitator, payment, prepared))._tag, "Settled")
      })
    )
  })
})
