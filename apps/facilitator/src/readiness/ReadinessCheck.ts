/**
 * One condition of the service's readiness and its check, which takes bounded time and never runs twice at once. A check that
 * hangs delays no other check, and is reported as a trouble of its own.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** A trouble: the fact, and its remedy by the operator. */
export interface Trouble {
  /** Stable identifier for programs, such as `records_unwritable`; the sentences may differ from check to check. */
  readonly kind: string
  /** Part of the subject that has the trouble, such as a signer's address, where several can have it at once. */
  readonly subject?: string
  /** The fact, as half a sentence: "the disk is full". */
  readonly problem: string
  /** The remedy, as half a sentence: "free some space on it". */
  readonly mend: string
  /**
   * Payments that are refused meanwhile: all of them, because the records are in doubt, or new ones on a network. Absent where
   * the trouble refuses none.
   */
  readonly stops?: "all" | { readonly network: string }
  /** It is shown and logged, and the service counts as ready with it: restarting it or sending it no requests would mend nothing. */
  readonly tolerated?: true
}

/** A chain in the report. */
export interface ChainView {
  readonly scheme: string
  readonly network: string
  readonly reachable: boolean
  readonly signers: ReadonlyArray<{
    readonly address: string
    readonly balance: string
    readonly sufficient: boolean
  }>
}

/** A signer's lane in the report. */
export interface LaneView {
  readonly network: string
  readonly address: string
  /** Payments in the queue. */
  readonly waiting: number
  /** Transactions that are not final. */
  readonly transactions: number
  readonly moving: boolean
  /** Numbers before the last pending transaction that the chain expects and no transaction has; noops fill them. */
  readonly gap: number
  /** `false` for a lane whose signer this process does not have: its transactions are watched to their ends, nothing is signed. */
  readonly signer: boolean
}

/** The deliveries from one network to another in the report, as far as they have not arrived for good. */
export interface DeliveryView {
  readonly from: string
  readonly to: string
  readonly pending: number
  readonly stuck: number
}

/** Result of a check: its troubles, and its parts of the report. */
export interface Finding {
  readonly troubles: ReadonlyArray<Trouble>
  readonly chains?: ReadonlyArray<ChainView>
  readonly lanes?: ReadonlyArray<LaneView>
  readonly deliveries?: ReadonlyArray<DeliveryView>
}

/** Finding of one run. `isAnswered` is false when the run failed or timed out, so that it says nothing about earlier troubles. */
export interface BoundedFinding extends Finding {
  readonly isAnswered: boolean
}

/** A check. */
export interface ReadinessCheck {
  /** Unique name in a word or two: "records", "chain eip155:8453". */
  readonly name: string
  readonly run: Effect.Effect<Finding, { readonly message: string }>
  /** Finding when the check failed or timed out. `why` is the reason, as half a sentence. */
  readonly failed: (why: string) => Finding
  /** Runs all the time, even without requests; for a check that sends no request to a chain. */
  readonly watched?: true
}

/** A finding without troubles. */
export const fine: Finding = { troubles: [] }

/** Longest duration of a check. */
const timeout = "2 seconds"

const timedOut = "there was no response within 2 seconds"

/** Runs the check within two seconds; it never fails. While an earlier run of this check hangs, no other run begins. */
export const bounded = ({ failed, run }: ReadinessCheck): Effect.Effect<BoundedFinding> => {
  let running: Deferred.Deferred<BoundedFinding> | undefined
  const unanswered = (why: string): BoundedFinding => ({ ...failed(why), isAnswered: false })
  const answered = Effect.map(run, (finding): BoundedFinding => ({ ...finding, isAnswered: true }))
  const begun = Effect.suspend(() => {
    const done = Deferred.makeUnsafe<BoundedFinding>()
    running = done
    const found = Effect.matchCause(Effect.timeoutOption(answered, timeout), {
      onFailure: (cause) => {
        const failure = cause.reasons.find((reason) => reason._tag === "Fail")?.error
        return unanswered(failure?.message ?? "the check itself has a defect")
      },
      onSuccess: Option.getOrElse(() => unanswered(timedOut))
    })
    const ended = Effect.flatMap(found, (finding) =>
      Effect.suspend(() => {
        running = undefined
        return Deferred.succeed(done, finding)
      })
    )
    return Effect.as(Effect.forkDetach(ended), done)
  })
  return Effect.flatMap(
    Effect.suspend(() => (running === undefined ? begun : Effect.succeed(running))),
    (done) =>
      Effect.map(
        Effect.timeoutOption(Deferred.await(done), timeout),
        Option.getOrElse(() => unanswered(timedOut))
      )
  )
}
