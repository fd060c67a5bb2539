import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { keccak256, parseTransaction, recoverTransactionAddress } from "viem"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"

import * as Eip1559 from "../../src/primitives/Eip1559.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"
import { type EvmTransactionSigner, sign } from "../../src/wallet/EvmTransactionSigner.ts"

const account = privateKeyToAccount(generatePrivateKey())
const call = { to: account.address, data: "0x1234", gas: 150_000n } as const
const slot = { lane: account.address, number: 7n }
const head = { number: 99n, hash: `0x${"1".repeat(64)}`, time: 1 }
const chainHead = { head, final: 35n, fees: { maximum: 21n, priority: 1n, ceiling: 22n } }

const signedBy = (signTransaction: EvmTransactionSigner["signTransaction"]) =>
  sign({ address: account.address, signTransaction }, 31_337, call, slot, chainHead)

describe("EvmTransactionSigner", () => {
  it.effect("signs the call in its slot, for one chain, at no more than the chain head's fees, with no value", () =>
    Effect.gen(function* () {
      const prepared = yield* sign(account, 31_337, call, slot, chainHead)
      const bytes = `0x02${prepared.bytes.slice(4)}` as const
      assert.deepInclude(parseTransaction(bytes), {
        type: "eip1559",
        chainId: 31_337,
        nonce: 7,
        to: EvmHex.toLowerCase(account.address),
        data: "0x1234",
        gas: 150_000n,
        maxFeePerGas: 21n,
        maxPriorityFeePerGas: 1n
      })
      assert.isUndefined(parseTransaction(bytes).value)
      const signer = yield* Effect.promise(() => recoverTransactionAddress({ serializedTransaction: bytes }))
      assert.strictEqual(signer, account.address)
      assert.deepStrictEqual(prepared, {
        slot,
        bytes,
        head: 99n,
        transaction: keccak256(bytes),
        cost: 150_000n * 21n,
        fees: { maximum: 21n, priority: 1n }
      })
    })
  )

  it.effect("counts the value that a call brings as its cost, and a replacement keeps it", () =>
    Effect.gen(function* () {
      const value = 5n
      const prepared = yield* sign(account, 31_337, { ...call, value }, slot, chainHead)
      assert.strictEqual(parseTransaction(`0x02${prepared.bytes.slice(4)}`).value, value)
      assert.strictEqual(prepared.cost, 150_000n * 21n + value)
      const kept = Eip1559.callIn(prepared.bytes)
      assert.deepStrictEqual(kept, { ...call, to: EvmHex.toLowerCase(account.address), value })
      const fees = { maximum: 42n, priority: 2n, ceiling: 42n }
      const replacement = yield* sign(account, 31_337, kept ?? call, slot, { ...chainHead, fees })
      assert.strictEqual(replacement.cost, 150_000n * 42n + value)
    })
  )

  it.effect("does not take a refusal or nonsense for a transaction", () =>
    Effect.gen(function* () {
      const answers: ReadonlyArray<EvmTransactionSigner["signTransaction"]> = [
        () => Promise.reject(new Error("locked")),
        () => {
          throw new TypeError("no key")
        },
        async () => JSON.parse("null"),
        async () => JSON.parse("{}"),
        async () => "0x",
        async () => "0x1",
        async () => "0xsigned"
      ]
      for (const answer of answers) {
        assert.strictEqual((yield* Effect.flip(signedBy(answer)))._tag, "Misconfigured", String(answer))
      }
    })
  )

  it.effect("does not wait for ever for a signer that never answers, and drops its late signature", () =>
    Effect.gen(function* () {
      const late = yield* Deferred.make<EvmHex.Hex>()
      const asked = yield* Deferred.make<void>()
      const signing = yield* Effect.forkChild(
        Effect.flip(
          signedBy(() => {
            Deferred.doneUnsafe(asked, Effect.void)
            return Effect.runPromise(Deferred.await(late))
          })
        )
      )
      yield* Deferred.await(asked)
      yield* TestClock.adjust("9999 millis")
      assert.isUndefined(signing.pollUnsafe())
      yield* TestClock.adjust("1 milli")
      // A signing that still waits would end by this signature.
      yield* Deferred.succeed(late, "0x1234")
      const failure = yield* Fiber.join(signing)
      assert.strictEqual(failure._tag, "Misconfigured")
      assert.match(failure.message, /did not sign in time/)
    })
  )
})
