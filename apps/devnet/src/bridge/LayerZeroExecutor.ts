/**
 * LayerZero's verifier network and its executor between two local chains, as a process that runs: it attests and delivers each message
 * that the first chain's endpoint sends, in their order. A test or a demonstration can let it stop delivering, as the real one does
 * when gas is dear or its balance is used up; what it has left out stays deliverable by anybody.
 */
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import type { PrivateKeyAccount } from "viem"

import type { LayerZero } from "./LayerZero.ts"
import * as LayerZeroRelay from "./LayerZeroRelay.ts"

/** The parts of its work that the executor can do for the next messages. */
export const behaviours = ["deliver", "attest", "ignore"] as const

/** One of them: `deliver` is the usual; `attest` leaves the delivery to others; `ignore` leaves messages unattested until it changes. */
export type Behaviour = (typeof behaviours)[number]

/** A running executor. */
export interface LayerZeroExecutor {
  readonly behave: (behaviour: Behaviour) => Effect.Effect<void>
}

/** Gas for the token's contract on the second chain. */
const receiverGas = 200_000n
const pollInterval = "200 millis"

/** Starts it; it ends with the scope. */
export const make = Effect.fnUntraced(function* (
  from: LayerZero,
  to: LayerZero,
  key: Pick<PrivateKeyAccount, "signMessage">
) {
  const behaviour = yield* Ref.make<Behaviour>("deliver")
  let next = 0n
  const relay = Effect.gen(function* () {
    const head = yield* Effect.promise(() => from.chain.client.getBlockNumber())
    if (head < next) return
    const fromBlock = next
    const logs = yield* Effect.promise(() =>
      from.chain.client.getLogs({ address: from.endpoint, fromBlock, toBlock: head })
    )
    for (const packet of LayerZeroRelay.packetsIn(logs)) {
      // Behind the message: a message that was sent after a change is carried as the change says.
      const how = yield* Ref.get(behaviour)
      // The same messages are read again later. To attest or to deliver one twice has no effect.
      if (how === "ignore") return
      yield* LayerZeroRelay.attest(to, packet, key)
      yield* LayerZeroRelay.commit(to, packet)
      if (how === "deliver") yield* LayerZeroRelay.execute(to, packet, receiverGas)
    }
    next = head + 1n
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(relay, Effect.sleep(pollInterval))))
  return { behave: (how: Behaviour) => Ref.set(behaviour, how) } satisfies LayerZeroExecutor
})
