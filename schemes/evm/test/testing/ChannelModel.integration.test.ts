import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import type { Hex } from "viem"

import * as ChannelReading from "../../src/channel/ChannelReading.ts"
import * as EvmRpc from "../../src/node/EvmRpc.ts"
import { ChannelContracts, EvmTestChain } from "../../src/testing/index.ts"
import * as ChannelCall from "../../src/voucher/ChannelCall.ts"
import * as ChannelConfig from "../../src/voucher/ChannelConfig.ts"
import * as ChannelContract from "../../src/voucher/ChannelContract.ts"
import * as TestChannel from "../voucher/TestChannel.ts"
import * as TestEscrow from "../voucher/TestEscrow.ts"
import * as ChannelModel from "./ChannelModel.ts"

const delay = 900n
const amount = fc.bigInt(0n, 1000n)
const steps: fc.Arbitrary<ChannelModel.Step> = fc.oneof(
  fc.record({ _tag: fc.constant("deposit" as const), amount }),
  fc.record({ _tag: fc.constant("claim" as const), ceiling: amount, total: amount }),
  fc.record({ _tag: fc.constant("settle" as const) }),
  fc.record({ _tag: fc.constant("refund" as const), amount }),
  fc.record({ _tag: fc.constant("initiate" as const), amount }),
  fc.record({ _tag: fc.constant("finalize" as const) }),
  fc.record({ _tag: fc.constant("pass" as const), seconds: fc.constantFrom(1n, 450n, 900n) })
)

/** Each step once with success, so that no run of the test misses one. */
const everyStep: Array<ChannelModel.Step> = [
  { _tag: "claim", ceiling: 200n, total: 100n },
  { _tag: "claim", ceiling: 100n, total: 150n },
  { _tag: "settle" },
  { _tag: "refund", amount: 50n },
  { _tag: "initiate", amount: 300n },
  { _tag: "refund", amount: 100n },
  { _tag: "pass", seconds: 900n },
  { _tag: "finalize" }
]

/** One channel on the chain: takes steps, and is compared with the model after each. */
const channelOf = (chain: EvmTestChain.Shape, payer: ReturnType<typeof TestEscrow.payerOf>, salt: number) => {
  // A receiver of its own, so that its sums are this channel's.
  const receiver = TestChannel.address(`0x${(0x1000 + salt).toString(16).padStart(40, "0")}`)
  const config = TestEscrow.configOf(chain, payer, { salt: TestChannel.word(salt), receiver })
  const authorizer = chain.accounts.signers[0].address
  let deposits = 0
  const callOf = Effect.fnUntraced(function* (
    step: Exclude<ChannelModel.Step, { _tag: "pass" }>
  ): Effect.fn.Return<readonly [from: Hex, data: Hex]> {
    switch (step._tag) {
      case "deposit":
        deposits += 1
        return [authorizer, yield* TestEscrow.depositCall(chain, payer, config, step.amount, deposits)]
      case "claim":
        return [
          authorizer,
          ChannelCall.claim([yield* TestEscrow.rowOf(chain, payer, config, step.ceiling, step.total)])
        ]
      case "settle":
        return [chain.accounts.stranger.address, ChannelCall.settle(receiver, config.token)]
      case "refund":
        return [authorizer, ChannelCall.refund(config, step.amount)]
      case "initiate":
        return [payer.address, ChannelCall.initiateWithdraw(config, step.amount)]
      case "finalize":
        return [payer.address, ChannelCall.finalizeWithdraw(config)]
    }
  })
  return { config, receiver, callOf }
}

describe("the channel contract", () => {
  layer(EvmTestChain.layer({ payers: 1 }), { excludeTestServices: true, timeout: "120 seconds" })((it) => {
    it.effect("follows its rules in every order of steps, and never holds less than it owes", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        yield* ChannelContracts.deploy(chain)
        const payer = TestEscrow.payerOf(chain, 0)
        const rpc = yield* EvmRpc.make({ url: chain.rpcUrl, network: chain.network })
        const taken: Record<string, number> = {}
        let salt = 0
        const walk = Effect.fnUntraced(function* (path: ReadonlyArray<ChannelModel.Step>) {
          salt += 1
          const { callOf, config, receiver } = channelOf(chain, payer, salt)
          const others = yield* chain.balanceOf(ChannelContract.address)
          let model: ChannelModel.ChannelModel = {
            balance: 0n,
            claimed: 0n,
            settled: 0n,
            nonce: 0n,
            pending: undefined,
            purse: yield* chain.balanceOf(payer.address)
          }
          for (const step of path) {
            const { timestamp } = yield* Effect.promise(() => chain.client.getBlock())
            if (step._tag === "pass") {
              yield* chain.setNextBlockTimestamp(timestamp + step.seconds)
              yield* chain.mine()
              continue
            }
            const now = timestamp + 1n
            const expected = ChannelModel.after(model, step, now, delay)
            const [from, data] = yield* callOf(step)
            yield* chain.setNextBlockTimestamp(now)
            if (typeof expected === "string") {
              assert.strictEqual(yield* TestEscrow.answer(chain, from, data), expected)
              yield* chain.mine()
            } else {
              yield* TestEscrow.send(chain, from, data)
              model = expected
            }
            const outcome = typeof expected === "string" ? expected : step._tag
            taken[outcome] = (taken[outcome] ?? 0) + 1
            const reading = yield* ChannelReading.read(rpc, ChannelConfig.id(chain.chainId, config))
            const { balance, claimed, nonce, pending, purse, settled } = model
            assert.deepInclude(reading, { balance, claimed, available: balance - claimed, refundNonce: nonce })
            assert.deepStrictEqual(
              reading.withdrawal,
              pending && { amount: pending.amount, requestedAt: Number(pending.at) }
            )
            assert.strictEqual(yield* chain.balanceOf(receiver), settled)
            assert.strictEqual(yield* chain.balanceOf(payer.address), purse)
            const held = (yield* chain.balanceOf(ChannelContract.address)) - others
            assert.strictEqual(held, balance - claimed + (claimed - settled))
          }
        })
        yield* Effect.promise(() =>
          fc.assert(
            fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 25 }), (path) =>
              Effect.runPromise(walk([{ _tag: "deposit", amount: 700n }, ...path]))
            ),
            { numRuns: 25, endOnFailure: true, examples: [[everyStep]] }
          )
        )
        for (const step of ["deposit", "claim", "settle", "refund", "initiate", "finalize", "ClaimExceedsCeiling"]) {
          assert.isAbove(taken[step] ?? 0, 0, step)
        }
      })
    )
  })
})
