/**
 * Restored faults, which the product is built to prevent: a trial that stays green with its mutation proves
 * nothing. Each is put around a service of the facilitator from the outside; nothing in the product knows of them.
 */
import type { LaneLeases, PaymentStore, SchemeFacilitator } from "@pontage/core"

import type { SourceMutation } from "./attacks/SourceMutation.ts"
import { answerNeverOwed } from "./mutations/AnswerNeverOwed.ts"
import { broadcastBeforePersist } from "./mutations/BroadcastBeforePersist.ts"
import * as ChannelMutations from "./mutations/ChannelMutations.ts"
import { claimAlwaysGranted } from "./mutations/ClaimAlwaysGranted.ts"
import { claimsLapse } from "./mutations/ClaimsLapse.ts"
import { commitBeforeSync } from "./mutations/CommitBeforeSync.ts"
import { deliveriesForgotten } from "./mutations/DeliveriesForgotten.ts"
import { feesFrozen } from "./mutations/FeesFrozen.ts"
import { fileUnwatched } from "./mutations/FileUnwatched.ts"
import { leaseForEver } from "./mutations/LeaseForEver.ts"
import { memoryLeak } from "./mutations/MemoryLeak.ts"
import { noReceiptIsFailure } from "./mutations/NoReceiptIsFailure.ts"
import { payoutsRenamed } from "./mutations/PayoutsRenamed.ts"
import { probeOnlyReads } from "./mutations/ProbeOnlyReads.ts"
import { pushesRepeated } from "./mutations/PushesRepeated.ts"
import { queueUncounted } from "./mutations/QueueUncounted.ts"
import { recordsKept } from "./mutations/RecordsKept.ts"
import { reorganisationUnseen } from "./mutations/ReorganisationUnseen.ts"
import { rpcErrorIsVerdict } from "./mutations/RpcErrorIsVerdict.ts"
import { assetForgotten, maximumObeyed, signerForgotten } from "./mutations/SettingsForgotten.ts"
import { tablesUnlookedAt } from "./mutations/TablesUnlookedAt.ts"

/** The services that a mutation may wrap. */
export interface MutableParts {
  readonly store: PaymentStore.PaymentStore["Service"]
  readonly leases: LaneLeases.LaneLeases["Service"]
  readonly scheme: SchemeFacilitator
}

/** A mutation: wrappers of the services that it breaks. */
export interface Mutation {
  readonly store?: (store: MutableParts["store"]) => MutableParts["store"]
  readonly leases?: (leases: MutableParts["leases"]) => MutableParts["leases"]
  readonly scheme?: (scheme: MutableParts["scheme"]) => MutableParts["scheme"]
  /** The ceilings of gas are not given to the engine. */
  readonly ignoresCeilings?: true
  /** The ledger of payment channels is in memory alone. */
  readonly forgetsLedger?: true
  /** The database answers a commit before it is on the disk. */
  readonly commitsLater?: true
  /** Pieces of the product's sources, for faults outside every service. */
  readonly sources?: SourceMutation
}

/** Their names. */
export const mutationNames = [
  "broadcast-before-persist",
  "claim-always-granted",
  "claims-lapse",
  "answer-never-owed",
  "lease-for-ever",
  "no-receipt-is-failure",
  "rpc-error-is-verdict",
  "reorganisation-unseen",
  "fees-frozen",
  "no-gas-ceiling",
  "commit-before-sync",
  "probe-only-reads",
  "file-unwatched",
  "tables-unlooked-at",
  "records-kept",
  "memory-leak",
  "queue-uncounted",
  "asset-forgotten",
  "signer-forgotten",
  "maximum-obeyed",
  "open-draws-claimed",
  "charged-twice",
  "charges-lost",
  "deposits-unneeded",
  "claims-forgotten",
  "withdrawals-unseen",
  "failures-charged",
  "ledger-forgotten",
  "deliveries-forgotten",
  "pushes-repeated",
  "payouts-renamed"
] as const

export type MutationName = (typeof mutationNames)[number]

/** All of them. */
export const mutations: Readonly<Record<MutationName, Mutation>> = {
  "broadcast-before-persist": broadcastBeforePersist,
  "claim-always-granted": claimAlwaysGranted,
  "claims-lapse": claimsLapse,
  "answer-never-owed": answerNeverOwed,
  "lease-for-ever": leaseForEver,
  "no-receipt-is-failure": noReceiptIsFailure,
  "rpc-error-is-verdict": rpcErrorIsVerdict,
  "reorganisation-unseen": reorganisationUnseen,
  "fees-frozen": feesFrozen,
  "no-gas-ceiling": { ignoresCeilings: true },
  "commit-before-sync": commitBeforeSync,
  "probe-only-reads": probeOnlyReads,
  "file-unwatched": fileUnwatched,
  "tables-unlooked-at": tablesUnlookedAt,
  "records-kept": recordsKept,
  "memory-leak": memoryLeak,
  "queue-uncounted": queueUncounted,
  "asset-forgotten": assetForgotten,
  "signer-forgotten": signerForgotten,
  "maximum-obeyed": maximumObeyed,
  "open-draws-claimed": ChannelMutations.openDrawsClaimed,
  "charged-twice": ChannelMutations.chargedTwice,
  "charges-lost": ChannelMutations.chargesLost,
  "deposits-unneeded": ChannelMutations.depositsUnneeded,
  "claims-forgotten": ChannelMutations.claimsForgotten,
  "withdrawals-unseen": ChannelMutations.withdrawalsUnseen,
  "failures-charged": ChannelMutations.failuresCharged,
  "ledger-forgotten": ChannelMutations.ledgerForgotten,
  "deliveries-forgotten": deliveriesForgotten,
  "pushes-repeated": pushesRepeated,
  "payouts-renamed": payoutsRenamed
}
