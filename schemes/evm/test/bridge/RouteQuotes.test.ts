import { assert, describe, it } from "@effect/vitest"
import { type ChainHead, ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"

import type { BridgeCrossing } from "../../src/bridge/BridgeCrossing.ts"
import * as RouteQuotes from "../../src/bridge/RouteQuotes.ts"
import * as EvmLagGuard from "../../src/node/EvmLagGuard.ts"
import type * as EvmRpc from "../../src/node/EvmRpc.ts"
import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"
import * as EvmNetwork from "../../src/primitives/EvmNetwork.ts"

const address = (digit: string) => EvmAddress.fromText(`0x${digit.repeat(40)}`) ?? EvmAddress.zero
const [token, oft, endpoint] = [address("1"), address("2"), address("3")]

const [nearNetwork, farNetwork] = [EvmNetwork.fromChainId(1), EvmNetwork.fromChainId(2)]

/** A bridge that takes a million wei for a message. */
const guard = (network: typeof farNetwork) =>
  EvmLagGuard.make({
    network,
    call: () => Effect.succeed({ _tag: "Returned", data: `0x${EvmHex.toWord(1_000_000)}${EvmHex.toWord(0)}` })
  } as unknown as EvmRpc.Shape)

const bare: ChainHead = { head: { number: 9n, hash: "0x09", time: 9 }, final: 1n }
const priced: ChainHead = { ...bare, fees: { maximum: 7n, priority: 1n, ceiling: 9n } }

/** A wei of either chain is worth the token's smallest unit. */
const coinPrice = Effect.succeed(10n ** 18n)

/** The price of the least amount, with these heads. */
const priceWith = (near: ChainHead, far: ChainHead) => {
  const farGuard = guard(farNetwork)
  const end = { token, bridge: oft, endpoint, endpointId: 30_001 }
  const crossing: BridgeCrossing = {
    attester: undefined,
    near: end,
    far: { ...end, endpointId: 30_002 },
    chain: {
      network: farNetwork,
      rpc: farGuard.rpc,
      lagGuard: farGuard,
      chainHead: Effect.succeed(far),
      dataFee: () => Effect.succeed(0n),
      coinPrice
    },
    decimals: 6,
    lastGas: { departing: 0n }
  }
  const served: RouteQuotes.ServedRoutes = {
    far: [{ network: farNetwork, crossings: Effect.succeed([crossing]) }],
    coinPrice,
    minimumAmount: 1n,
    feeTo: token,
    dataFee: () => Effect.succeed(0n),
    pushAfterSeconds: 120
  }
  const options = RouteQuotes.optionsOf(crossing)
  const route = { bridge: oft, destination: 30_002, recipient: token, amount: 1n, minimum: 1n, options }
  return RouteQuotes.priceOf(guard(nearNetwork), served, crossing, Effect.succeed(near), { route })
}

describe("the price of a route", () => {
  it.effect("has the message and the gas of both chains", () =>
    Effect.gen(function* () {
      const price = yield* priceWith(priced, priced)
      const value = 1_100_000n
      const cost = value + 7n * 400_000n + 7n * 200_000n
      assert.deepStrictEqual(price, { value, rate: 0n, departing: 400_000n, cost })
    })
  )

  it.effect("is unknown while either chain's head shows no price of gas, and no gas is free", () =>
    Effect.gen(function* () {
      for (const [near, far, network] of [
        [bare, priced, nearNetwork],
        [priced, bare, farNetwork]
      ] as const) {
        const failure = yield* Effect.flip(priceWith(near, far))
        assert.strictEqual(failure._tag, "ChainUnavailable")
        assert.include(failure.message, network)
      }
    })
  )
})

describe("a route that cannot be quoted", () => {
  it.effect("has a fixed word as its reason, and what the node has said is in the log alone", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
      const message = "The node of eip155:2 refused eth_call: connection to db-7.internal lost (-32000)"
      for (const [lack, expected] of [
        [undefined, "node_unavailable"],
        ["price_unknown", "price_unknown"]
      ] as const) {
        const failure = new ChainUnavailable({ network: farNetwork, message, ...(lack && { lack }) })
        const quote = RouteQuotes.renewing(Effect.fail(failure), "routes to eip155:2")
        assert.strictEqual(yield* Effect.provide(quote, logger), expected)
      }
      assert.deepStrictEqual(lines, Array(2).fill(`routes to eip155:2 cannot be quoted now: ${message}`))
    })
  )
})
