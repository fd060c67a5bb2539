import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { channelEvm, exactEvm } from "../../src/index.ts"
import { ChannelContracts, EvmTestChain } from "../../src/testing/index.ts"
import * as ChannelCall from "../../src/voucher/ChannelCall.ts"
import * as ChannelConfig from "../../src/voucher/ChannelConfig.ts"
import * as TestChannel from "../voucher/TestChannel.ts"
import * as TestEscrow from "../voucher/TestEscrow.ts"

const { configOf, open, payerOf, rowOf, send } = TestEscrow

/** A payer's channel with 1,000 in it, and the payer's coin for gas. */
const opened = Effect.fnUntraced(function* (index: number, change: Partial<ChannelConfig.ChannelConfig> = {}) {
  const chain = yield* EvmTestChain.EvmTestChain
  yield* ChannelContracts.deploy(chain)
  const payer = payerOf(chain, index)
  const config = configOf(chain, payer, change)
  yield* open(chain, payer, config, 1000n)
  yield* chain.setBalance(payer.address, 10n ** 18n)
  const options = {
    signer: exactEvm.localSigner(payer.privateKey),
    rpcUrl: chain.rpcUrl,
    channel: ChannelConfig.onWire(config)
  }
  return { chain, config, options, payer }
})

/** Lets the chain's time pass, in seconds. */
const pass = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, seconds: bigint) {
  const { timestamp } = yield* Effect.promise(() => chain.client.getBlock())
  yield* chain.setNextBlockTimestamp(timestamp + seconds)
  yield* chain.mine()
})

const refusal = (options: Parameters<typeof channelEvm.withdraw>[0]) =>
  Effect.map(Effect.flip(channelEvm.withdraw(options)), ({ _tag, message }) => `${_tag}: ${message}`)

describe("a payer's withdrawal", () => {
  layer(EvmTestChain.layer({ payers: 6 }), { excludeTestServices: true })((it) => {
    it.effect("begins, waits, pays what is left, and sends nothing more", () =>
      Effect.gen(function* () {
        const { chain, config, options, payer } = yield* opened(0)
        const before = yield* chain.balanceOf(payer.address)
        const begun = yield* channelEvm.withdraw(options)
        const { timestamp } = yield* Effect.promise(() => chain.client.getBlock())
        assert.deepInclude(begun, { _tag: "Begun", amount: 1000n, finalizeAfter: Number(timestamp) + 900 })
        const finalizeAfter = Number(timestamp) + 900
        assert.deepStrictEqual(yield* channelEvm.withdraw(options), { _tag: "Waiting", amount: 1000n, finalizeAfter })
        // The shop claims what it has a voucher for, which no withdrawal prevents.
        const row = yield* rowOf(chain, payer, config, 300n, 250n)
        yield* send(chain, chain.accounts.signers[0].address, ChannelCall.claim([row]))
        yield* pass(chain, 898n)
        assert.strictEqual((yield* channelEvm.withdraw(options))._tag, "Waiting")
        yield* pass(chain, 2n)
        assert.deepInclude(yield* channelEvm.withdraw(options), { _tag: "Paid", amount: 750n })
        assert.strictEqual((yield* chain.balanceOf(payer.address)) - before, 750n)
        assert.deepStrictEqual(yield* channelEvm.withdraw(options), { _tag: "Nothing" })
        const state = yield* channelEvm.state({ rpcUrl: options.rpcUrl, channel: options.channel })
        assert.deepInclude(state, { balance: 250n, claimed: 250n, available: 0n, refundNonce: 0n })
        assert.isUndefined(state.withdrawal)
      })
    )

    it.effect("is of a part, and by the key that signs the vouchers", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const [authorizer] = chain.accounts.signers
        const { options, payer } = yield* opened(1, { payerAuthorizer: TestChannel.address(authorizer.address) })
        const signer = exactEvm.localSigner(authorizer.privateKey)
        const before = yield* chain.balanceOf(payer.address)
        assert.deepInclude(yield* channelEvm.withdraw({ ...options, signer, amount: 400n }), {
          _tag: "Begun",
          amount: 400n
        })
        const { withdrawal } = yield* channelEvm.state({ rpcUrl: options.rpcUrl, channel: options.channel })
        assert.strictEqual(withdrawal?.amount, 400n)
        yield* pass(chain, 900n)
        assert.deepInclude(yield* channelEvm.withdraw({ ...options, signer }), { _tag: "Paid", amount: 400n })
        assert.strictEqual((yield* chain.balanceOf(payer.address)) - before, 400n)
      })
    )

    it.effect("is refused before anything is sent, with what to do", () =>
      Effect.gen(function* () {
        const { chain, options } = yield* opened(2)
        const transactions = Effect.promise(() =>
          chain.client.getTransactionCount({ address: payerOf(chain, 2).address })
        )
        const stranger = exactEvm.localSigner(chain.accounts.stranger.privateKey)
        assert.match(yield* refusal({ ...options, signer: stranger }), /^Misconfigured: .*cannot withdraw.*its payer/)
        assert.match(
          yield* refusal({ ...options, amount: 1001n }),
          /^Misconfigured: .*1001 is more than the 1000 that are not claimed/
        )
        const salt = { ...options.channel, salt: "0x01" as const }
        assert.match(yield* refusal({ ...options, channel: salt }), /^Misconfigured: channelEvm.withdraw: channel: /)
        const extra = { ...options, gas: 1n }
        assert.match(yield* refusal(extra), /^Misconfigured: .*gas/)
        assert.match(yield* refusal({ ...options, maxFeePerGas: 1n }), /^Misconfigured: gas on /)
        assert.strictEqual(yield* transactions, 0)
        // Other terms are another channel, which holds nothing.
        const other = { ...options.channel, salt: TestChannel.word(9) }
        assert.deepStrictEqual(yield* channelEvm.withdraw({ ...options, channel: other }), { _tag: "Nothing" })
        assert.strictEqual(yield* transactions, 0)
      })
    )

    it.effect("reports a chain without channels", () =>
      Effect.gen(function* () {
        const { options } = yield* opened(3)
        const other = yield* EvmTestChain.make({ payers: 1 })
        assert.match(
          yield* refusal({ ...options, rpcUrl: other.rpcUrl }),
          /^ChainUnavailable: .*has no channel contract/
        )
      }).pipe(Effect.scoped)
    )
  })
})
