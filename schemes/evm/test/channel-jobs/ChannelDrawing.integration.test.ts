/** States of channels by a node that does not know the block they are as of. */
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { layerEach } from "../../../../core/test/LayerEach.ts"
import { channelEvm } from "../../src/index.ts"
import { ChannelContracts, EvmTestChain } from "../../src/testing/index.ts"
import * as ChannelConfig from "../../src/voucher/ChannelConfig.ts"
import * as RpcProxy from "../RpcProxy.ts"
import * as TestChannel from "../voucher/TestChannel.ts"
import * as TestEscrow from "../voucher/TestEscrow.ts"
import * as ChannelDesk from "./ChannelDesk.ts"

/** The reads of a channel that holds money, through a proxy. */
const watched = Effect.gen(function* () {
  const chain = yield* EvmTestChain.EvmTestChain
  yield* ChannelContracts.deploy(chain)
  const proxy = yield* RpcProxy.make
  const { channels } = yield* channelEvm.facilitator({ ...ChannelDesk.optionsOf(chain), rpcUrl: proxy.url })
  const payer = TestEscrow.payerOf(chain, 0)
  const config = ChannelDesk.lentConfig(chain, payer)
  yield* TestEscrow.open(chain, payer, config, 50_000n)
  const ids = [ChannelConfig.id(chain.chainId, config)]
  const draws = channels?.draws
  if (draws === undefined) return yield* Effect.die("the scheme has no draws")
  return { chain, payer, proxy, draws, states: draws.states(ids) }
})

describe.concurrent("the states of channels", () => {
  layerEach(EvmTestChain.layer({ payers: 1 }))((it) => {
    it.effect("are read again where one of the nodes does not know the block", () =>
      Effect.gen(function* () {
        const { proxy, states } = yield* watched
        proxy.spoil("eth_getBlockByNumber", RpcProxy.result(null), 1)
        assert.deepStrictEqual(
          (yield* states).map(({ balance }) => balance),
          [50_000n]
        )
      })
    )

    it.effect("are claimed apart for each authorizer, so that one whose key is gone fails alone", () =>
      Effect.gen(function* () {
        const { chain, draws, payer } = yield* watched
        const former = TestChannel.address(chain.accounts.signers[1].address)
        const lent = [ChannelDesk.lentConfig(chain, payer, 1), ChannelDesk.lentConfig(chain, payer, 2)]
        const configs = [...lent, { ...ChannelDesk.lentConfig(chain, payer, 3), receiverAuthorizer: former }]
        const rows = configs.map((config) => {
          const channelId = ChannelConfig.id(chain.chainId, config)
          const voucher = { channelId, maxClaimableAmount: "5", signature: `0x${"11".repeat(65)}` }
          return { channelId, maximum: 5n, total: 5n, config: ChannelConfig.onWire(config), voucher }
        })
        const ids = rows.map(({ channelId }) => channelId)
        assert.deepStrictEqual(
          draws.claims(rows).map(({ channelIds }) => channelIds),
          [ids.slice(0, 2), ids.slice(2)]
        )
      })
    )

    it.effect("are unknown, and not those of an empty channel, while no node knows the block", () =>
      Effect.gen(function* () {
        const { proxy, states } = yield* watched
        proxy.spoil("eth_getBlockByNumber", RpcProxy.result(null))
        assert.strictEqual((yield* Effect.flip(states))._tag, "ChainUnavailable")
        proxy.mend()
        assert.deepInclude((yield* states)[0], { balance: 50_000n, claimed: 0n, withdrawRequestedAt: undefined })
      })
    )
  })
})
