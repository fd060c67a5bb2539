/**
 * CCTP between the two chains of a trial: its attester, which does not respond for a while now and then, and attests some messages twice, and
 * strangers who deliver.
 */
import type { CctpChains, LocalAttester } from "@pontage/devnet/bridge"
import { LocalCctp } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import { encodeFunctionData, type Hex, parseAbiItem } from "viem"

import type { TrialRandom } from "../world/TrialRandom.ts"
import { oneByOne, type TrialCarrier } from "./TrialExecutor.ts"

const event = parseAbiItem("event MessageSent(bytes message)")

/** Rounds per thousand in which the attester begins to be silent, and in which it stays so. */
const silences = 150
const silentOn = 600
/** Rounds per thousand in which it begins to show the second attestation of every message, or the first one again. */
const repeats = 200

/** Makes it. */
export const make = (
  { first, second, source, target }: CctpChains.CctpChains,
  attester: LocalAttester.LocalAttester,
  random: TrialRandom
): TrialCarrier<Hex> => {
  const { terms } = attester
  const to = oneByOne(second)
  let round = 0
  return {
    chain: first,
    sentIn: (fromBlock, toBlock) =>
      Effect.map(
        Effect.promise(() => first.client.getLogs({ address: source, event, fromBlock, toBlock })),
        (logs) => logs.map(({ transactionHash }) => transactionHash)
      ),
    nameOf: (transaction) => transaction,
    attest: (_, upTo) => {
      const luck = random.branch(`${round++}`)
      terms.fails = luck.below(1_000) < (terms.fails ? silentOn : silences)
      if (luck.below(1_000) < repeats) terms.repeats = !terms.repeats
      return attester.attestUpTo(upTo)
    },
    deliver: Effect.fnUntraced(function* (transaction) {
      const attested = yield* attester.attested(transaction)
      if (attested === undefined) return yield* Effect.die(new Error(`${transaction} has sent no message`))
      const args = [attested.message, attested.attestation] as const
      const data = encodeFunctionData({ abi: LocalCctp.abi, functionName: "receiveMessage", args })
      return yield* to.send({ to: target, data, from: second.accounts.stranger.address })
    })
  }
}
