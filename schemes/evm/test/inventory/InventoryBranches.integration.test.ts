/** An inventory behind URLs that lead to two nodes, one of which is stuck on a branch that the chain has left: real chains. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as EvmTestChain from "../../src/testing/EvmTestChain.ts"
import * as HostileNode from "../HostileNode.ts"
import * as InventoryMarket from "./InventoryMarket.ts"

/** Deeper than any finality of these tests. */
const deep = 40

/** A URL that leads to a stuck node for everything but the head, once it is told to. */
const balanced = (stuck: EvmTestChain.Shape) =>
  Effect.gen(function* () {
    let ahead: EvmTestChain.Shape | undefined
    const node = yield* HostileNode.make(async (response, request) => {
      const isHead = request.method === "eth_getBlockByNumber" && request.params[0] === "latest"
      const { rpcUrl } = isHead && ahead !== undefined ? ahead : stuck
      const body = JSON.stringify({ jsonrpc: "2.0", ...request })
      const answer = await fetch(rpcUrl, { method: "POST", headers: { "content-type": "application/json" }, body })
      response.end(await answer.text())
    })
    return { url: node.url, leadTo: (chain: EvmTestChain.Shape) => Effect.sync(() => void (ahead = chain)) }
  })

/** Another branch of a test chain: the same contracts, none of its payments, and far more blocks. */
const branch = (chainId: number) => Effect.tap(EvmTestChain.make({ chainId }), (chain) => chain.mine(deep))

describe("an inventory behind nodes of which one is stuck", () => {
  it.live("pays no shop for a payment that the other nodes do not have", () =>
    Effect.gen(function* () {
      const chains = yield* InventoryMarket.chains
      const nearUrl = yield* balanced(chains.first)
      const { facilitator, onward, paid } = yield* InventoryMarket.opened(chains, { nearUrl: nearUrl.url })
      const payment = yield* paid(0)
      const departure = { payment, ...(yield* InventoryMarket.settled(facilitator, payment)), attempt: 1 }
      assert.strictEqual((yield* onward.observe(departure))._tag, "Underway")
      yield* nearUrl.leadTo(yield* branch(InventoryMarket.firstChainId))
      const seen = yield* Effect.match(onward.observe(departure), {
        onSuccess: ({ _tag }) => _tag,
        onFailure: ({ _tag }) => _tag
      })
      assert.strictEqual(seen, "ChainUnavailable")
    }).pipe(Effect.scoped)
  )

  it.live("does not take the payment to a shop for final that the other nodes do not have", () =>
    Effect.gen(function* () {
      const chains = yield* InventoryMarket.chains
      const farUrl = yield* balanced(chains.second)
      const { facilitator, far, onward, paid } = yield* InventoryMarket.opened(chains, { farUrl: farUrl.url })
      const payment = yield* paid(0)
      const departure = { payment, ...(yield* InventoryMarket.settled(facilitator, payment)), attempt: 1 }
      yield* chains.first.mine(InventoryMarket.finalityDepth)
      yield* InventoryMarket.settled(far, yield* InventoryMarket.payoutOf(far, yield* onward.observe(departure)))
      assert.deepInclude(yield* onward.observe(departure), { _tag: "Delivered", final: false })
      yield* farUrl.leadTo(yield* branch(InventoryMarket.secondChainId))
      const seen = yield* Effect.result(onward.observe(departure))
      assert.isFalse(seen._tag === "Success" && seen.success._tag === "Delivered" && seen.success.final)
      assert.strictEqual(seen._tag, "Failure")
    }).pipe(Effect.scoped)
  )
})
