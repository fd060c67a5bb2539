/** The contract `OpSettler` by itself: the bytes with which it calls an EntryPoint, and bytes that are no runs. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { encodeFunctionData, type Hex, parseAbi } from "viem"

import { deployOpSettler, paymentGuardAddress } from "../../src/index.ts"
import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"
import * as OperationSettling from "../../src/sending/OperationSettling.ts"
import { EvmTestChain } from "../../src/testing/index.ts"
import * as AccountCalls from "../../src/transfer/AccountCalls.ts"
import * as PackedOperations from "../../src/transfer/PackedOperations.ts"
import * as UserOperation from "../../src/transfer/UserOperation.ts"
import * as Payment from "../EvmTestPayment.ts"

const chain = EvmTestChain.EvmTestChain

const abi = parseAbi(["function settle(address batchSettler, address guard, bytes transfers, bytes runs)"])

/** Code that logs its calldata: CALLDATASIZE PUSH0 PUSH0 CALLDATACOPY CALLDATASIZE PUSH0 LOG0 STOP. */
const recorder: Hex = "0x365f5f37365fa000"

const hex = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength }).map((value): Hex => `0x${Buffer.from(value).toString("hex")}`)
const address = hex(20, 20).map(EvmAddress.fromTail)
const word = hex(32, 32)

const payment = fc
  .record({
    token: address,
    payTo: address,
    amount: fc.oneof(fc.bigInt(0n, 2n ** 96n - 1n), fc.bigInt(2n ** 96n, 2n ** 256n - 1n)),
    guard: fc.record({
      address: fc.oneof(fc.constant(EvmAddress.fromTail(EvmHex.fromTrusted(paymentGuardAddress))), address),
      validBefore: fc.oneof(fc.bigInt(0n, 2n ** 40n - 1n), fc.bigInt(2n ** 40n, 2n ** 256n - 1n)),
      tag: word
    })
  })
  .map((terms) => AccountCalls.executeBatch(AccountCalls.of(terms)))

const operation = fc
  .record({
    sender: address,
    nonce: fc.bigInt(0n, 2n ** 256n - 1n),
    deployment: fc.option(fc.record({ factory: address, factoryData: hex(0, 200) }), { nil: undefined }),
    callData: fc.oneof(payment, hex(0, 700)),
    verificationGasLimit: fc.bigInt(0n, 150_000n),
    callGasLimit: fc.bigInt(0n, 160_000n),
    signature: hex(1, 300)
  })
  .map(({ deployment, ...rest }): UserOperation.UserOperation => Object.assign(rest, deployment))

const [older, newer] = UserOperation.entryPoints
if (older === undefined || newer === undefined) throw new Error("there are two EntryPoints for batches")

const batch = fc.array(fc.record({ entryPoint: fc.constantFrom(older, newer), operation }), {
  minLength: 1,
  maxLength: 6
})

describe("the operation settler", () => {
  layer(EvmTestChain.layer({ payers: 1 }), { excludeTestServices: true })((it) => {
    const settle = Effect.fnUntraced(function* (operations: ReadonlyArray<PackedOperations.BatchedOperation>) {
      const { accounts, rpcUrl, send } = yield* chain
      const settler = Payment.parsed(yield* deployOpSettler({ signer: accounts.deployer, rpcUrl }))
      const call = OperationSettling.toCall(settler, undefined, [], operations)
      return yield* send({ from: accounts.stranger.address, ...call })
    })

    it.effect(
      "calls each EntryPoint with exactly the bytes of handleOps, whatever an operation's fields are",
      () =>
        Effect.gen(function* () {
          const { accounts, setCode } = yield* chain
          for (const one of [older, newer]) yield* setCode(one.address, recorder)
          const stranger = Payment.parsed(accounts.stranger.address)
          for (const operations of fc.sample(batch, { numRuns: 150, seed: 4337 })) {
            const { logs, status } = yield* settle(operations)
            assert.strictEqual(status, "success")
            const expected = [older, newer].flatMap(({ address: at }) =>
              operations
                .filter(({ entryPoint }) => entryPoint.address === at)
                .map((one) => [at, UserOperation.handleOps([one.operation], stranger)])
            )
            assert.deepStrictEqual(
              logs.map((log) => [log.address.toLowerCase(), log.data]),
              expected
            )
          }
        }),
      120_000
    )

    it.effect("reverts as a whole for bytes that are no runs, and for gas that does not cover a cap", () =>
      Effect.gen(function* () {
        const { accounts, rpcUrl, send, setCode } = yield* chain
        for (const one of [older, newer]) yield* setCode(one.address, recorder)
        const settler = Payment.parsed(yield* deployOpSettler({ signer: accounts.deployer, rpcUrl }))
        const operations = fc.sample(batch, { numRuns: 10, seed: 1 }).flat().slice(0, 12)
        const from = accounts.stranger.address
        const [single] = operations
        if (single === undefined) return assert.fail("there are twelve")
        const runs = PackedOperations.pack(operations)
        const argumentsOf = (given: Hex, transfers: Hex = "0x") =>
          EvmHex.fromTrusted(
            encodeFunctionData({ abi, args: [single.entryPoint.address, single.entryPoint.address, transfers, given] })
          )
        const whole = OperationSettling.gasOf([], operations)
        assert.strictEqual((yield* send({ from, to: settler, data: argumentsOf(runs), gas: whole })).status, "success")
        for (const [name, data, gas] of [
          ["runs that end too early", argumentsOf(EvmHex.fromTrusted(runs.slice(0, -2))), whole],
          ["a run without its entries", argumentsOf(EvmHex.fromTrusted(`${single.entryPoint.address}01`)), whole],
          [
            "too little gas for one",
            argumentsOf(PackedOperations.pack([single])),
            OperationSettling.gasOf([], [single]) / 2n
          ]
        ] as const) {
          const { logs, status } = yield* send({ from, to: settler, data, gas })
          assert.deepStrictEqual([status, logs.length], ["reverted", 0], name)
        }
      })
    )
  })
})
