/** A Safe without a library: the same account as viem's, byte for byte, and payments by it, deployed and not. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { hashTypedData, type Hex } from "viem"

import { EvmHex, exactEvm, paymentGuardAddress, SafeAccount } from "../../src/index.ts"
import { EvmTestChain, SmartAccounts } from "../../src/testing/index.ts"
import type { TypedData } from "../../src/wallet/EvmSigner.ts"
import * as TypedHash from "../../src/wallet/TypedHash.ts"
import * as Operation from "../EvmTestOperation.ts"
import * as Payment from "../EvmTestPayment.ts"

const chain = EvmTestChain.EvmTestChain

const domain = { name: "Test Dollar", version: "1", chainId: 31337, verifyingContract: `0x${"5f".repeat(20)}` } as const

const hex = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((one): Hex => EvmHex.fromBytes(one))

/** Typed data with a structure in it, as Permit2's. */
const nested = fc
  .record({
    token: hex(20),
    amount: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
    nonce: hex(32),
    data: fc.uint8Array({ maxLength: 100 }).map((one): Hex => EvmHex.fromBytes(one)),
    note: fc.string(),
    isLast: fc.boolean()
  })
  .map(({ amount, token, ...message }): TypedData => ({
    domain,
    types: {
      Witness: [
        { name: "permitted", type: "Permitted" },
        { name: "nonce", type: "bytes32" },
        { name: "data", type: "bytes" },
        { name: "note", type: "string" },
        { name: "isLast", type: "bool" }
      ],
      Permitted: [
        { name: "token", type: "address" },
        { name: "amount", type: "uint256" }
      ]
    },
    primaryType: "Witness",
    message: { ...message, permitted: { token, amount } }
  }))

/** Both Safes of one owner with one salt, with money of both tokens. */
const both = Effect.fnUntraced(function* (plain: Hex, saltNonce: bigint, validUntil = 0) {
  const one = yield* chain
  const owner = one.accounts.payers[0]
  const ours = exactEvm.safeAccount({ owner, rpcUrl: one.rpcUrl, saltNonce })
  const theirs = yield* Effect.promise(() => SmartAccounts.safe(one, owner, { salt: saltNonce, validUntil }))
  yield* one.mint(theirs.address, 1_000_000n)
  yield* Operation.mintPlain(plain, theirs.address)
  return { ours, theirs }
})

describe("a Safe without a library", () => {
  layer(EvmTestChain.layer({ payers: 2 }), { excludeTestServices: true })((it) => {
    it.effect("hashes typed data as viem does", () =>
      Effect.sync(() =>
        fc.assert(
          fc.property(nested, (data) => {
            assert.strictEqual(EvmHex.fromBytes(TypedHash.of(data)), hashTypedData(data as never))
          })
        )
      )
    )

    it.effect("is at the address that the WDK's library gives it", () =>
      Effect.sync(() => {
        const owner = Payment.parsed("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
        const salt = 0x69b348339eea4ed93f9d11931c3b894c8f9d8c7663a053024b11cb7eb4e5a1f6n
        assert.strictEqual(
          SafeAccount.addressOf(owner, salt),
          "0x97682ff1A980a96D65Ea606b717441E3662c557E".toLowerCase()
        )
      })
    )

    it.effect("makes the very bytes of viem's account", () =>
      Effect.gen(function* () {
        const { chainId } = yield* chain
        const { plain } = yield* Operation.ready
        const validUntil = Number(yield* Payment.latestTime) + 59
        const { ours, theirs } = yield* both(plain, 1n, validUntil)
        assert.strictEqual(ours.address, theirs.address)
        const operation = { ...(yield* Operation.operationOf(theirs, plain)), chainId }
        const factory = yield* Effect.promise(() => ours.getFactoryArgs())
        assert.deepStrictEqual(
          { factory: operation.factory?.toLowerCase(), factoryData: operation.factoryData },
          { factory: factory.factory, factoryData: factory.factoryData }
        )
        const signed = yield* Effect.promise(() => ours.signUserOperation({ ...operation, validUntil }))
        assert.strictEqual(signed, operation.signature)
        for (const endless of [operation, { ...operation, validUntil: 0 }, { ...operation, validUntil: 2 ** 48 }]) {
          const { cause } = yield* Effect.flip(Effect.tryPromise(() => ours.signUserOperation(endless)))
          assert.match(String(cause), /a Safe signs operations with an end alone: expected validUntil/)
        }
        const data = yield* Effect.succeed<TypedData>({
          domain: { ...domain, chainId },
          types: { Note: [{ name: "text", type: "string" }] },
          primaryType: "Note",
          message: { text: "a cent" }
        })
        const [mine, its] = yield* Effect.promise(() =>
          Promise.all([ours.signTypedData(data), theirs.signTypedData(data as never)])
        )
        assert.strictEqual(mine, its, "in the wrapped form of an account that is not deployed")
      })
    )

    it.effect("pays in both kinds of tokens, deployed and not", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, network, token } = yield* chain
        const { options, plain } = yield* Operation.ready
        const assets = [
          { network, ...token },
          { network, address: plain, symbol: "PUSD", decimals: 6 }
        ]
        const schemeFacilitator = yield* Operation.schemeWith(options)
        for (const [salt, order] of [
          [2n, [token.address, plain, token.address]],
          [3n, [plain, token.address, plain]]
        ] as const) {
          const { ours } = yield* both(plain, salt)
          const payer = exactEvm.client({ account: ours, network, assets })
          for (const asset of order) {
            const { extra = {} } = schemeFacilitator
            const requirements = { ...(yield* Payment.requirements), asset, extra }
            const known = payer.asset(requirements)
            if (known === undefined) return assert.fail("the token is not known")
            assert.isUndefined(payer.objection?.(requirements, known))
            const validBefore = Number(yield* Payment.latestTime) + 60
            const { binding } = Payment.bound()
            const signed = yield* payer.sign({ requirements, asset: known, validAfter: 0, validBefore, binding })
            const payment = yield* schemeFacilitator.read(requirements, signed.payload)
            const before = yield* balanceOf(accounts.payee.address, asset)
            yield* schemeFacilitator.verify(payment)
            const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
            assert.strictEqual((yield* Payment.sendAlone(schemeFacilitator, payment, prepared))._tag, "Settled")
            assert.strictEqual((yield* balanceOf(accounts.payee.address, asset)) - before, 10_000n)
          }
        }
      })
    )

    it.effect("calls the payment guard where the offer asks for it alone, and pays in both cases", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, network } = yield* chain
        const { options, plain } = yield* Operation.ready
        const { ours } = yield* both(plain, 4n)
        const assets = [{ network, address: plain, symbol: "PUSD", decimals: 6 }]
        const payer = exactEvm.client({ account: ours, network, assets })
        for (const [contractPayers, callsGuard] of [
          ["known", false],
          ["any", true]
        ] as const) {
          const schemeFacilitator = yield* Operation.schemeWith({ ...options, contractPayers })
          const { extra = {} } = schemeFacilitator
          const requirements = { ...(yield* Payment.requirements), asset: plain, extra }
          const asset = payer.asset(requirements)
          if (asset === undefined) return assert.fail("the token is not known")
          const validBefore = Number(yield* Payment.latestTime) + 60
          const { binding } = Payment.bound()
          const { payload } = yield* payer.sign({ requirements, asset, validAfter: 0, validBefore, binding })
          assert.strictEqual(
            JSON.stringify(payload).includes(paymentGuardAddress.slice(2).toLowerCase()),
            callsGuard,
            contractPayers
          )
          const payment = yield* schemeFacilitator.read(requirements, payload)
          assert.deepStrictEqual(payment.authorization.binding, binding)
          assert.strictEqual(payment.authorization.validBefore, validBefore)
          const before = yield* balanceOf(accounts.payee.address, plain)
          yield* schemeFacilitator.verify(payment)
          const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
          assert.strictEqual((yield* Payment.sendAlone(schemeFacilitator, payment, prepared))._tag, "Settled")
          assert.strictEqual((yield* balanceOf(accounts.payee.address, plain)) - before, 10_000n)
        }
      })
    )

    it.effect("signs nothing where its node does not say whether it is deployed", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const account = exactEvm.safeAccount({ owner: accounts.payers[0], rpcUrl: "http://127.0.0.1:1" })
        const factory = Effect.tryPromise(() => account.getFactoryArgs())
        assert.strictEqual((yield* Effect.flip(factory))._tag, "UnknownError")
        const noAddress = { ...accounts.payers[0], address: "0x12" as const }
        assert.throws(() => exactEvm.safeAccount({ owner: noAddress, rpcUrl: "http://x" }), /"0x12" is not an address/)
      })
    )
  })
})
