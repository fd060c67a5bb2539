/** The laws of a scheme, kept by `exact` whose payments go on to another network by routes. */
import { describe, layer } from "@effect/vitest"
import { SchemeLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as RoutedPayments from "./RoutedPayments.ts"

const subject = Effect.gen(function* () {
  const { client, facilitator, facilitatorBy, first, lockbox, near, offer } = yield* RoutedPayments.make()
  const { accounts, balanceOf, mine, rpcUrl, setNextBlockTimestamp } = first
  const [feeTo, otherSigner] = accounts.signers
  return SchemeLaws.Subject.of({
    payer: client(accounts.payers[0]),
    poor: client(accounts.stranger),
    facilitator,
    stranger: yield* facilitatorBy(otherSigner, rpcUrl),
    requirements: RoutedPayments.lasting(yield* offer),
    otherPayTo: accounts.deployer.address,
    otherAsset: accounts.stranger.address,
    otherNetwork: "eip155:1",
    // On the first network the money is with the bridge, and the fee with the facilitator.
    received: Effect.map(
      Effect.all([balanceOf(lockbox), balanceOf(feeTo.address)]),
      ([bridged, fees]) => bridged + fees
    ),
    whileDown: near.whileDown,
    finalise: Effect.fnUntraced(function* (time) {
      const { timestamp } = yield* Effect.promise(() => first.client.getBlock())
      yield* setNextBlockTimestamp(BigInt(time) > timestamp ? BigInt(time) : timestamp + 1n)
      yield* mine(RoutedPayments.finalityDepth + 1)
    })
  })
})

describe("the laws of a scheme, kept by payments that go on to another network", () => {
  const kept = Layer.effect(SchemeLaws.Subject, subject)
  layer(kept, { excludeTestServices: true, concurrent: false })("by routes", (it) => {
    for (const law of SchemeLaws.all) it.effect(law.name, () => law.effect)
  })
})
