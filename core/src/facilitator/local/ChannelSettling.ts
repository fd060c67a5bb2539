/**
 * Requests about payment channels: a payer's message is verified by the scheme, and a server's request to settle becomes a payment of
 * its own, whose transaction has every guarantee of a lane: it is recorded before it is sent, and answered when it is in a block.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"

import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { sealPayload } from "../../protocol/PaymentPayload.ts"
import { SettlementPending } from "../../protocol/ProtocolError.ts"
import { isDead } from "../../protocol/Settlement.ts"
import type { ChannelReport, ChannelRequest, JobRecords, SchemeChannels } from "../../scheme/SchemeChannels.ts"
import type { Payment, SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import * as Checkpoint from "../Checkpoint.ts"
import type { PaymentRequest, Settled, Verified } from "../Facilitator.ts"
import { isOver } from "../lane/TrackedTransaction.ts"
import type { StoredPayment } from "../store/PaymentStore.ts"
import * as Presentation from "../store/Presentation.ts"
import { type IntakeContext, present, type Presented, take, takeAnswer } from "./PaymentIntake.ts"
import { transfer } from "./PaymentTransfer.ts"
import * as Turns from "./Turns.ts"

/** The requests about channels of one facilitator. */
export interface ChannelSettling {
  /** Verifies a payer's message. It changes nothing. */
  readonly verify: (presented: Presented, channels: SchemeChannels<Payment>) => Effect.Effect<Verified, PaymentFailure>
  /** Settles a request, or finds that the chain shows all of it already; by another context than the others' if it is given. */
  readonly settle: (
    presented: Presented,
    channels: SchemeChannels<Payment>,
    by?: IntakeContext
  ) => Effect.Effect<Settled, PaymentFailure>
}

/** The name of the caller by which the facilitator's own claims are recorded and counted. */
export const claimsCaller = "claims of payment channels"

/** Begins without requests. */
export const make = (context: IntakeContext): ChannelSettling => {
  const turns = Turns.make()
  return {
    verify: (presented, channels) => verify(context, presented, channels),
    settle: Effect.fnUntraced(function* (presented, channels, by = context) {
      const progress: Progress = { last: undefined }
      const settling = channels.takesTurns(presented.payment)
        ? turns(
            turnOf(presented),
            Effect.andThen(awaitEarlier(by, presented), settleNow(by, presented, channels, progress))
          )
        : settleNow(by, presented, channels, progress)
      const settled = yield* Effect.timeoutOption(settling, by.patience)
      return Option.isSome(settled) ? settled.value : yield* pending(progress)
    })
  }
}

/** The last job of a request. */
interface Progress {
  last: StoredPayment | undefined
}

/**
 * The facilitator's own claims have a turn of their own: a withdrawal may end while they stand behind the refunds that buyers ask for.
 * Beside a refund they change nothing of it, because claims add up and a refund leaves all debts in the channel.
 */
const turnOf = ({ authorization: { asset, payer }, caller, facilitator: { network } }: Presented) =>
  `${network} ${asset} ${payer}${caller === claimsCaller ? " claims" : ""}`

/** The request of a presented message. The facilitator's own claims are signed for as for a caller without a name. */
export const requestOf = ({ caller, payload, request }: Presented): ChannelRequest => ({
  requirements: request.paymentRequirements,
  payload,
  caller: caller === claimsCaller ? "" : caller,
  ...(caller === claimsCaller && { isOwn: true })
})

const verify = Effect.fnUntraced(function* (
  context: IntakeContext,
  presented: Presented,
  channels: SchemeChannels<Payment>
) {
  if (presented.refusal !== undefined) return yield* presented.refusal
  const { facilitator } = presented
  yield* context.intake.passNew(facilitator.network)
  yield* context.clocks.demand(facilitator)
  const { facts, payer } = yield* channels.inspect(requestOf(presented), recordOf(context, presented))
  return { payer, extra: facts }
})

const recordOf =
  (context: IntakeContext, presented: Presented): JobRecords =>
  (job) =>
    Effect.gen(function* () {
      const planned = yield* present(context, jobRequest(presented, job))
      const known = yield* context.store.find(planned.paymentId)
      if (known === undefined) return "none"
      if (isDead(known.status) || known.refusal !== undefined) return "ended"
      return Presentation.isOf(planned, known) ? "kept" : "other"
    })

/** The request for a planned job. */
const jobRequest = ({ facilitator, request }: Presented, job: Schema.Json): PaymentRequest => ({
  paymentPayload: sealPayload(facilitator.scheme.name, facilitator.network, job),
  paymentRequirements: request.paymentRequirements
})

const settleNow = Effect.fnUntraced(function* (
  context: IntakeContext,
  presented: Presented,
  channels: SchemeChannels<Payment>,
  progress: Progress
): Effect.fn.Return<Settled, PaymentFailure> {
  if (presented.refusal !== undefined) return yield* presented.refusal
  const step = yield* channels.plan(requestOf(presented), recordOf(context, presented))
  if (step._tag === "Done") return settledOf(presented, undefined, step.report)
  const jobs = yield* Effect.forEach([step.payload, ...(step.apart ?? [])], (payload) =>
    present(context, jobRequest(presented, payload))
  )
  // A part that fails, or is not taken in, fails nothing else.
  const ends = yield* Effect.forEach(
    jobs,
    (job, index) => Effect.exit(settleJob(context, job, index === 0 ? progress : { last: undefined })),
    { concurrency: "unbounded" }
  )
  const [planned, end] = [jobs[0], ends[0]]
  if (planned === undefined || end === undefined) return yield* Effect.die("a plan without a job")
  const stored = yield* end
  const failed = jobs.filter((_, index) => ends[index]?._tag === "Failure")
  const report = yield* channels.report(
    planned.payment,
    stored.transaction,
    failed.map(({ payment }) => payment)
  )
  yield* Effect.forEach(
    ends.flatMap((one) => (one._tag === "Success" ? [one.value] : [])),
    ({ paymentId }) => takeAnswer(context, paymentId, Checkpoint.pass("responded")),
    { discard: true }
  )
  return settledOf(planned, stored, report)
})

const settleJob = Effect.fnUntraced(function* (context: IntakeContext, job: Presented, progress: Progress) {
  const stored = yield* context.engine.whileWaiting(job.paymentId, (update) =>
    Effect.gen(function* () {
      const taken = yield* take(context, job, undefined, true)
      progress.last = taken.stored
      return yield* transfer(context, taken, update)
    })
  )
  progress.last = stored
  return stored
})

/**
 * Waits for the jobs of the same account that are on their way, of any process; the facilitator's own claims wait for its own alone. A job whose transaction is in a block is not waited for:
 * its end may need a final block, and a withdrawal may end before that, ahead of the claims that wait.
 */
const awaitEarlier = Effect.fnUntraced(function* (context: IntakeContext, presented: Presented) {
  const { engine, store } = context
  const { amounts } = yield* store.openPayments(presented)
  for (const paymentId of amounts.keys()) {
    yield* engine.whileWaiting(paymentId, (update) =>
      Effect.gen(function* () {
        const stored = yield* store.find(paymentId)
        if (stored === undefined || !isUnderWay(presented.facilitator, stored)) return
        if (presented.caller === claimsCaller && stored.caller !== claimsCaller) return
        if (yield* isInBlock(context, stored)) return
        yield* Effect.ignore(engine.settle(presented.facilitator, { stored, update, isNew: false }))
      })
    )
  }
})

const isInBlock = ({ store }: IntakeContext, { lane, paymentId }: StoredPayment) =>
  Effect.map(lane === undefined ? Effect.succeed([]) : store.openTransactions(lane), (transactions) =>
    transactions.some(
      ({ inclusion, payments }) => inclusion !== undefined && payments.some((one) => one.paymentId === paymentId)
    )
  )

const isUnderWay = ({ scheme }: SchemeFacilitator, stored: StoredPayment): boolean =>
  stored.requirements.scheme === scheme.name && stored.lane !== undefined && !isOver(stored)

const settledOf = (
  { authorization: { asset, payTo }, facilitator }: Presented,
  stored: StoredPayment | undefined,
  { amount, facts, payer }: ChannelReport
): Settled => ({
  paymentId: stored?.paymentId ?? "",
  status: stored?.status ?? "included",
  execution: undefined,
  transaction: stored?.transaction ?? "",
  network: facilitator.network,
  payer,
  payTo,
  asset,
  amount,
  extra: facts
})

const pending = ({ last }: Progress) =>
  new SettlementPending({
    paymentId: last?.paymentId ?? "",
    status: last?.status ?? "accepted",
    ...(last !== undefined && last.transaction !== "" && { transaction: last.transaction }),
    message: "the transaction for the channel is not in a block yet; send the same request again"
  })
