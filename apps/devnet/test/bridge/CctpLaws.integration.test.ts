/** The laws of a scheme, and those of payments that go on to another network, kept by routes over CCTP. */
import { describe, layer } from "@effect/vitest"
import { OnwardLaws, SchemeLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { encodeFunctionData, isHash, parseAbi, type Hex } from "viem"

import * as CctpPayments from "./CctpPayments.ts"
import * as RoutedPayments from "./RoutedPayments.ts"

const abi = parseAbi(["function receiveMessage(bytes message, bytes attestation) returns (bool)"])

const subjectOf = Effect.fnUntraced(function* (payments: CctpPayments.CctpPayments) {
  const { client, facilitator, facilitatorBy, first, near, offer, source } = payments
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
    // On the first network the money is with the issuer, and the fee with the facilitator.
    received: Effect.map(Effect.all([balanceOf(source), balanceOf(feeTo.address)]), ([sent, fees]) => sent + fees),
    whileDown: near.whileDown,
    finalise: Effect.fnUntraced(function* (time) {
      const { timestamp } = yield* Effect.promise(() => first.client.getBlock())
      yield* setNextBlockTimestamp(BigInt(time) > timestamp ? BigInt(time) : timestamp + 1n)
      yield* mine(RoutedPayments.finalityDepth + 1)
    })
  })
})

const onwardSubject = Effect.gen(function* () {
  const payments = yield* CctpPayments.make
  const { attester, deliveries, far, first, received, second, target } = payments
  const deliver = Effect.fnUntraced(function* (nonce: string) {
    const logs = yield* Effect.promise(() => first.client.getLogs({ fromBlock: 0n }))
    const by = logs.find(({ topics }) => topics.length === 4 && topics[2] === nonce)?.transactionHash
    const attested = by && (yield* attester.attested(by))
    if (attested === undefined || attested === null) return yield* Effect.die(new Error("the message is not attested"))
    const args: readonly [Hex, Hex] = [attested.message, attested.attestation]
    const data = encodeFunctionData({ abi, functionName: "receiveMessage", args })
    const { status, transactionHash } = yield* second.send({ to: target, data, from: second.accounts.stranger.address })
    if (status !== "success" || !isHash(transactionHash)) {
      return yield* Effect.die(new Error("the stranger's delivery reverted"))
    }
  })
  return OnwardLaws.Subject.of({
    near: { ...(yield* subjectOf(payments)), received, finalise: () => first.mine(RoutedPayments.finalityDepth + 1) },
    far: deliveries,
    received,
    restarted: payments.restarted,
    attest: attester.attest,
    attemptsDiffer: true,
    deliver: ({ authorization }) => deliver(authorization.nonce),
    finalise: second.mine(RoutedPayments.finalityDepth + 1),
    whileFarDown: far.whileDown
  })
})

describe("payments over CCTP", () => {
  const kept = Layer.effect(SchemeLaws.Subject, Effect.flatMap(CctpPayments.make, subjectOf))
  layer(kept, { excludeTestServices: true, concurrent: false })("keep the laws of a scheme", (it) => {
    for (const law of SchemeLaws.all) it.effect(law.name, () => law.effect)
  })

  const onward = Layer.effect(OnwardLaws.Subject, onwardSubject)
  layer(onward, { excludeTestServices: true, concurrent: false })("keep the laws of deliveries", (it) => {
    for (const law of OnwardLaws.all) it.effect(law.name, () => law.effect)
  })
})
