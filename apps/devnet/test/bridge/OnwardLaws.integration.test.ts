/** The laws of payments that go on to another network, kept by routes over LayerZero between two real EVM chains. */
import { describe, layer } from "@effect/vitest"
import { OnwardLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as LayerZeroRelay from "../../src/bridge/LayerZeroRelay.ts"
import * as RoutedPayments from "./RoutedPayments.ts"

const subject = Effect.gen(function* () {
  const routed = yield* RoutedPayments.make()
  const { away, client, deliveries, facilitator, facilitatorBy, far, first, near, second } = routed
  const { accounts, rpcUrl } = first
  const [, otherSigner] = accounts.signers
  const deliver = Effect.fnUntraced(function* (nonce: string) {
    const logs = yield* Effect.promise(() => first.client.getLogs({ fromBlock: 0n }))
    const guid = logs.find(({ topics }) => topics.length === 4 && topics[2] === nonce)?.topics[3]
    const packet = (yield* routed.packets).find((one) => one.guid === guid)
    if (packet === undefined) return yield* Effect.die(new Error("the payment has sent no message"))
    const { status } = yield* LayerZeroRelay.deliver(away, packet, second.accounts.stranger)
    if (status !== "success") return yield* Effect.die(new Error("the stranger's delivery reverted"))
  })
  return OnwardLaws.Subject.of({
    near: {
      payer: client(accounts.payers[0]),
      poor: client(accounts.stranger),
      facilitator,
      stranger: yield* facilitatorBy(otherSigner, rpcUrl),
      requirements: RoutedPayments.lasting(yield* routed.offer),
      otherPayTo: accounts.deployer.address,
      otherAsset: accounts.stranger.address,
      otherNetwork: "eip155:1",
      received: routed.received,
      whileDown: near.whileDown,
      finalise: () => first.mine(RoutedPayments.finalityDepth + 1)
    },
    far: deliveries,
    received: routed.received,
    restarted: routed.restarted,
    attest: routed.attest,
    attemptsDiffer: true,
    deliver: ({ authorization }) => deliver(authorization.nonce),
    finalise: second.mine(RoutedPayments.finalityDepth + 1),
    whileFarDown: far.whileDown
  })
})

describe("the laws of payments that go on to another network", () => {
  const kept = Layer.effect(OnwardLaws.Subject, subject)
  layer(kept, { excludeTestServices: true, concurrent: false })("kept by routes over LayerZero", (it) => {
    for (const law of OnwardLaws.all) it.effect(law.name, () => law.effect)
  })
})
