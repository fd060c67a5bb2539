/**
 * One thing that has to be so for the service to do its work, and how it is looked at: in bounded time, and never twice at once.
 * A look that does not come back holds up nobody else's, and is told as a trouble of its own.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** A trouble in plain words: the fact, and the operator's mend. */
export interface Trouble {
  /** A stable word for programs, such as `disk_full`. A trouble whose words change from look to look keeps it. */
  readonly kind: string
  /** The fact, as half a sentence: "the disk is full". */
  readonly problem: string
  /** What mends it, as half a sentence: "free some space on it". */
  readonly mend: string
  /**
   * Which payments are not taken meanwhile: all, because the records are in doubt; or new ones on a network. Without it payments are
   * taken as ever.
   */
  readonly stops?: "all" | { readonly network: string }
}

/** What is shown of a chain. */
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

/** What is shown of a signer's lane. */
export interface LaneView {
  readonly network: string
  readonly address: string
  readonly waiting: number
  readonly flights: number
  readonly moving: boolean
  /** Numbers that the chain waits for, before the first transaction that is on its way, and no transaction takes: they are being filled. */
  readonly gap: number
  /** `false`: no signer of this process; its transactions are watched to their ends, and nothing is signed for it here. */
  readonly signer: boolean
}

/** What a look has found: troubles, and what the report shows whether there are any or not. */
export interface Finding {
  readonly troubles: ReadonlyArray<Trouble>
  readonly chains?: ReadonlyArray<ChainView>
  readonly lanes?: ReadonlyArray<LaneView>
}

/** A check. */
export interface ReadinessCheck {
  /** What is looked at, in a word or two; unique: "records", "chain eip155:8453". */
  readonly name: string
  readonly look: Effect.Effect<Finding, { readonly message: string }>
  /** What is to be said when the look failed, or did not come back in time. `why` tells which, as half a sentence. */
  readonly unseen: (why: string) => Finding
  /** Looked at all the time, though nobody asks; for what costs no question to a chain. */
  readonly watched?: true
}

/** A check with nothing wrong. */
export const fine: Finding = { troubles: [] }

/** How long each look may take. */
const patience = "2 seconds"

const silent = "there was no answer within 2 seconds"

/**
 * The check's look: it always answers, within two seconds. While an earlier look of this check hangs, no other one begins.
 */
export const looking = ({ look, unseen }: ReadinessCheck): Effect.Effect<Finding> => {
  let running: Deferred.Deferred<Finding> | undefined
  const begun = Effect.suspend(() => {
    const done = Deferred.makeUnsafe<Finding>()
    running = done
    const found = Effect.matchCause(Effect.timeoutOption(look, patience), {
      onFailure: (cause) => {
        const failure = cause.reasons.find((reason) => reason._tag === "Fail")?.error
        return unseen(failure?.message ?? "the look at it met a defect")
      },
      onSuccess: Option.getOrElse(() => unseen(silent))
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
        Effect.timeoutOption(Deferred.await(done), patience),
        Option.getOrElse(() => unseen(silent))
      )
  )
}
