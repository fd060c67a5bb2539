/**
 * The settling half of `exact` on TON: reads and verifies what payers signed, has relayers bring it to their wallets, and
 * believes only the credit in the recipient's Jetton wallet.
 */
import {
  ChainUnavailable,
  type FacilitatorScheme,
  type PreparedTransaction,
  type SchemeFacilitator,
  type SubmitResult
} from "@pontage/core"
import * as Effect from "effect/Effect"

import * as TonConclusion from "../evidence/TonConclusion.ts"
import * as TonObservation from "../evidence/TonObservation.ts"
import * as TonBlocks from "../node/TonBlocks.ts"
import type * as TonRpc from "../node/TonRpc.ts"
import * as ExactTon from "../payment/ExactTon.ts"
import { type Held, read, recall } from "../payment/ExactTonReading.ts"
import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonRelayer from "../sending/TonRelayer.ts"
import * as TonWallet from "../wallet/TonWallet.ts"
import { connect, type ExactTonChain, type Options } from "./ExactTonChain.ts"
import * as ExactTonPreparation from "./ExactTonPreparation.ts"
import * as ExactTonVerification from "./ExactTonVerification.ts"

/**
 * The settling half. It comes to life once the RPC has shown that it serves the network and that the relayers are deployed
 * W5 wallets. The masterchain takes nothing back: what it shows is final.
 */
export const facilitator = (options: Options): FacilitatorScheme => Effect.map(connect(options), half)

const half = (chain: ExactTonChain): SchemeFacilitator<Held> => {
  const { network, relayers, rpc } = chain
  const verifications: ExactTonPreparation.Verifications = new WeakMap()
  const unsent = TonObservation.makeUnsent()
  const [responseDestination = ""] = chain.responseDestinations
  const [first = ""] = relayers.keys()
  return {
    scheme: ExactTon.scheme,
    network,
    lanes: [...relayers.keys()],
    extra: { kinds: chain.kinds, responseDestination, maxInnerTon: `${chain.maxInnerTon}` },
    capacity: 1,
    batches: chain.batches,
    read: (requirements, json) => read(chain, requirements, json),
    recall: (requirements, json) => recall(chain, requirements, json),
    verify: (payment) =>
      Effect.flatMap(ExactTonVerification.verify(chain, payment), (verified) => {
        if (verified.isCarriedOut) return Effect.fail(ExactTonVerification.carriedOutBefore)
        verifications.set(payment.payload, verified)
        return Effect.void
      }),
    balance: ({ payload: { jettonWallet, master } }) =>
      Effect.map(chain.jettons.holding(master, jettonWallet), ({ balance }) => balance),
    nextSlot: (lane) => seqnoOf(rpc, lane),
    time: Effect.map(accountOf(rpc, first), ({ head }) => head.time),
    chainHead: Effect.map(accountOf(rpc, first), ({ head }) => ({ head, final: head.number })),
    isCanonical: TonBlocks.make(rpc),
    prepare: (payments, slot, chainHead, maximumCost, replaced) =>
      ExactTonPreparation.prepare(chain, verifications, unsent, payments, slot, chainHead, maximumCost, replaced),
    release: (payments) =>
      Effect.forEach(payments, (payment) => TonObservation.over(chain, payment), { discard: true }),
    noop: (slot, chainHead) => ExactTonPreparation.noop(chain, slot, chainHead),
    submit: (prepared) => submit(rpc, prepared),
    observe: (observedPayments, attempts) => TonObservation.observe(chain, unsent, observedPayments, attempts),
    conclude: (observedPayment) => TonConclusion.conclude(chain, observedPayment),
    signers: Effect.forEach(
      [...relayers.keys()],
      (address) => Effect.map(accountOf(rpc, address), ({ balance }) => ({ address, balance })),
      { concurrency: "unbounded" }
    )
  }
}

const accountOf = (rpc: TonRpc.Shape, lane: string): Effect.Effect<TonRpc.Account, ChainUnavailable> => {
  const address = TonAddress.fromText(lane)
  return address === undefined ? noWallet(rpc, lane) : rpc.account(address)
}

const noWallet = (rpc: TonRpc.Shape, lane: string) =>
  Effect.fail(new ChainUnavailable({ network: rpc.network, message: `there is no wallet at ${lane}` }))

/** Nobody but blocks counts a wallet's messages: a pool is not to be seen. */
const seqnoOf = (rpc: TonRpc.Shape, lane: string): Effect.Effect<bigint, ChainUnavailable> =>
  Effect.flatMap(accountOf(rpc, lane), ({ code, data }) => {
    const wallet = code && data && TonWallet.read(code, data)
    return wallet === undefined ? noWallet(rpc, lane) : Effect.succeed(BigInt(wallet.seqno))
  })

/**
 * What a node says to payers' own messages, or does not say, the chain will show: none of them keeps the relayer's from being
 * sent. One that was lost is sent again where it is looked for.
 */
const submit = Effect.fnUntraced(function* (rpc: TonRpc.Shape, prepared: PreparedTransaction) {
  const messages = ExactTonPreparation.messagesOf(prepared.bytes)
  const relay = messages.at(-1) ?? ""
  const own = Effect.forEach(messages.slice(0, -1), (message) => Effect.ignore(rpc.send(message)), {
    concurrency,
    discard: true
  })
  const [sending] = yield* Effect.all([rpc.send(relay), own], { concurrency: "unbounded" })
  return sending._tag === "Taken" ? accepted : yield* explained(rpc, prepared, relay, sending.message)
})

/** How many payers' own messages are sent at once. */
const concurrency = 8

const accepted: SubmitResult = { _tag: "Accepted" }
const slotUsed: SubmitResult = { _tag: "SlotUsed" }

/** Nodes say in many words why they refuse; the relayer's own account says it in numbers. */
const explained = Effect.fnUntraced(function* (
  rpc: TonRpc.Shape,
  { cost, slot }: PreparedTransaction,
  relay: string,
  message: string
): Effect.fn.Return<SubmitResult, ChainUnavailable> {
  if (slot === undefined) return { _tag: "Refused", message }
  const { balance, code, data, head } = yield* accountOf(rpc, slot.lane)
  const wallet = code && data && TonWallet.read(code, data)
  if (wallet !== undefined && BigInt(wallet.seqno) > slot.number) return slotUsed
  if (TonRelayer.validUntil(relay) <= head.time) return { _tag: "Outdated", message }
  if (balance < cost) return { _tag: "Refused", message: `${slot.lane} has ${balance} nanotons: ${message}` }
  return /duplicate/i.test(message) ? accepted : { _tag: "Refused", message }
})
