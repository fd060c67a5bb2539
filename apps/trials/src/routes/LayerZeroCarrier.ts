/** LayerZero's verifiers between the two chains of a trial, and the deliveries of its executor. */
import { type BridgedChains, LayerZeroRelay } from "@pontage/devnet/bridge"
import * as Effect from "effect/Effect"

import { oneByOne, type TrialCarrier } from "./TrialExecutor.ts"

/** Gas for the token's contract. */
const receiverGas = 200_000n

/** Makes it. */
export const make = ({ attester, away, home }: BridgedChains.BridgedChains): TrialCarrier<LayerZeroRelay.Packet> => {
  const to = { ...away, chain: oneByOne(away.chain) }
  const all = { concurrency: "unbounded", discard: true } as const
  return {
    chain: home.chain,
    sentIn: (fromBlock, toBlock) =>
      Effect.map(
        Effect.promise(() => home.chain.client.getLogs({ address: home.endpoint, fromBlock, toBlock })),
        LayerZeroRelay.packetsIn
      ),
    nameOf: ({ guid }) => guid,
    // A message can be delivered once all earlier ones of its channel are attested.
    attest: (packets) =>
      Effect.andThen(
        Effect.forEach(packets, (packet) => LayerZeroRelay.attest(to, packet, attester), all),
        Effect.forEach(packets, (packet) => LayerZeroRelay.commit(to, packet), all)
      ),
    deliver: (packet) => LayerZeroRelay.execute(to, packet, receiverGas)
  }
}
