/** The laws of payments that go on to another network, kept by an operator's inventory between two real chains. */
import { describe, layer } from "@effect/vitest"
import { OnwardLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { CutLine } from "../../src/testing/index.ts"
import * as InventoryMarket from "./InventoryMarket.ts"

const subject = Effect.gen(function* () {
  const chains = yield* InventoryMarket.chains
  const { first, second } = chains
  const near = yield* CutLine.make(first.rpcUrl)
  const far = yield* CutLine.make(second.rpcUrl)
  const market = yield* InventoryMarket.opened(chains, { nearUrl: near.url, farUrl: far.url })
  const { clientOf, facilitator, farBy, operator, requirements, start } = market
  const { accounts } = first
  const otherFar = yield* farBy(accounts.signers[2])
  const received = second.balanceOf(accounts.payee.address)
  return OnwardLaws.Subject.of({
    near: {
      payer: clientOf(accounts.payers[0]),
      poor: clientOf(accounts.stranger),
      facilitator,
      stranger: market.stranger,
      requirements,
      otherPayTo: accounts.deployer.address,
      otherAsset: accounts.stranger.address,
      otherNetwork: "eip155:1",
      // On the first network the price and the fee are the operator's.
      received: first.balanceOf(operator.address),
      whileDown: near.whileDown,
      finalise: () => first.mine(InventoryMarket.finalityDepth + 1)
    },
    far: market.far,
    restarted: start,
    received,
    attest: first.mine(InventoryMarket.finalityDepth + 1),
    attemptsDiffer: false,
    deliver: (_, push) => Effect.orDie(Effect.asVoid(InventoryMarket.settled(otherFar, push))),
    finalise: second.mine(InventoryMarket.deliveryDepth + 1),
    whileFarDown: far.whileDown
  })
})

describe("the laws of payments that go on to another network", () => {
  const kept = Layer.effect(OnwardLaws.Subject, subject)
  layer(kept, { excludeTestServices: true, concurrent: false })("kept by an operator's inventory", (it) => {
    for (const law of OnwardLaws.all) it.effect(law.name, () => law.effect)
  })
})
