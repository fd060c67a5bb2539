/**
 * The open descriptors that the system allows a process: each stream needs one at both of its ends.
 */
import * as Schema from "effect/Schema"

const Limit = Schema.Union([Schema.Number, Schema.Literal("unlimited")])
const Report = Schema.Struct({ userLimits: Schema.Struct({ open_files: Schema.Struct({ soft: Limit }) }) })

/** This process' limit. Node raises it to the hard one as it starts, and so do the processes that it starts. */
export const read = (): number => {
  const { userLimits } = Schema.decodeUnknownSync(Report)(process.report.getReport())
  const { soft } = userLimits.open_files
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : soft
}

/** Descriptors of a process beside its streams: files, the node's and the vouchers' connections. */
const others = 256

/** The reason why this number of streams cannot be opened under a limit, with the remedy; `undefined` if they can. */
export const refusal = (streams: number, limit: number): string | undefined =>
  streams + others <= limit
    ? undefined
    : `${streams} streams need ${streams + others} descriptors in one process, and this system allows ${limit}: run "ulimit -n ${streams + others}", or the bench with --streams ${Math.max(0, limit - others)}`
