/**
 * The scheme facilitator of `exact` on TON: reads and verifies signed requests, sends them to the payers' wallets through
 * relayers, and accepts only the credit in the recipient's Jetton wallet as proof.
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
import { read, recall, type SignedJettonTransfer } from "../payment/ExactTonReading.ts"
import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonRelayer from "../sending/TonRelayer.ts"
import * as TonWallet from "../wallet/TonWallet.ts"
import { connect, type ExactTonChain, type Options } from "./ExactTonChain.ts"
import * as ExactTonPreparation from "./ExactTonPreparation.ts"
import * as ExactTonVerification from "./ExactTonVerification.ts"

/**
 * The scheme facilitator. It starts when the RPC serves the network and the relayers are deployed W5 wallets. The masterchain
 * reverts nothing: every block that it shows is final.
 */
export const facilitator = (options: Options): FacilitatorScheme => Effect.map(connect(options), over)

/** The scheme facilitator over a connected context. */
const over = (chain: ExactTonChain): SchemeFacilitator<SignedJettonTransfer> => {
  const { network, relayers, rpc } = chain
  const verifications: ExactTonPreparation.Verifications = new WeakMap()
  const unsent = TonObservation.makeUnsentPayments()
  const [responseDestination = ""] = chain.responseDestinations
  const [first = ""] = relayers.keys()
  return {
    scheme: ExactTon.scheme,
    network,
    lanes: [...relayers.keys()],
    extra: {
      kinds: chain.kinds,
      responseDestination,
      maxInnerTon: `${chain.maxInnerTon}`,
      ...(chain.kinds.includes("w5-internal") && { areFeesSponsored: true })
    },
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
      Effect.forEach(payments, (payment) => TonObservation.putBack(chain, payment), { discard: true }),
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

const accountOf = (rpc: TonRpc.TonRpc, lane: string): Effect.Effect<TonRpc.Account, ChainUnavailable> => {
  const address = TonAddress.fromText(lane)
  return address === undefined ? noWallet(rpc, lane) : rpc.account(address)
}

const noWallet = (rpc: TonRpc.TonRpc, lane: string) =>
  Effect.fail(new ChainUnavailable({ network: rpc.network, message: `no wallet at ${lane}` }))

/** The wallet's number in blocks: nodes do not show their pools, so every count is the same. */
const seqnoOf = (rpc: TonRpc.TonRpc, lane: string): Effect.Effect<bigint, ChainUnavailable> =>
  Effect.flatMap(accountOf(rpc, lane), ({ code, data }) => {
    const wallet = code && data && TonWallet.read(code, data)
    return wallet === undefined ? noWallet(rpc, lane) : Effect.succeed(BigInt(wallet.seqno))
  })

/**
 * Submits payers' own messages and the relayer's. A node's response to a payer's own message is ignored: the chain shows the
 * result, and the relayer's message does not wait for it. Observation sends a lost message again.
 */
const submit = Effect.fnUntraced(function* (rpc: TonRpc.TonRpc, prepared: PreparedTransaction) {
  const messages = ExactTonPreparation.messagesOf(prepared.bytes)
  const relay = messages.at(-1) ?? ""
  const own = Effect.forEach(messages.slice(0, -1), (message) => Effect.ignore(rpc.send(message)), {
    concurrency,
    discard: true
  })
  const [sending] = yield* Effect.all([rpc.send(relay), own], { concurrency: "unbounded" })
  return sending._tag === "Taken" ? accepted : yield* resultOf(rpc, prepared, relay, sending.message)
})

/** Payers' own messages that are sent at the same time. */
const concurrency = 8

const accepted: SubmitResult = { _tag: "Accepted" }
const slotUsed: SubmitResult = { _tag: "SlotUsed" }

/** The result of a refused message, by the relayer's account: nodes state their reasons in many different texts. */
const resultOf = Effect.fnUntraced(function* (
  rpc: TonRpc.TonRpc,
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
