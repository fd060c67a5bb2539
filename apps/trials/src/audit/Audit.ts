/**
 * The audit: the callers' journal, the facilitator's books and the chain are laid side by side, and whatever one of them
 * says that another denies is a finding. It knows the promises of a facilitator and nothing of how they are kept.
 */
import * as PaymentStory from "./PaymentStory.ts"
import * as RunGrants from "./RunGrants.ts"

/** The rules in which trials differ. */
export interface Rules {
  /** Number of reverted transactions that one authorization may cost; default none. */
  readonly reverted?: number
  /** Codes and reasons that payments of this trial may be refused with; default none: all of them are good. */
  readonly refusals?: ReadonlyArray<string>
  /** Payers who try to cheat, in lower case: they may be refused and may stay without a verdict. */
  readonly hostile?: ReadonlySet<string>
  /** Whether a payment may be left without a record whose caller received a time to retry; default no. */
  readonly turnsAway?: boolean
  /** Wei for a unit of gas that no transaction of a signer may have paid more than. */
  readonly gasPrice?: bigint
}

/** A difference. */
export interface Finding {
  readonly check: AuditCheck
  readonly detail: string
}

type Story = PaymentStory.PaymentStory
type Look = (story: Story, rules: Rules, testimony: PaymentStory.Testimony) => string | false | undefined

const { isOver, isSettled, verdicts } = PaymentStory

/** Verdicts that the payment is settled or on its way. */
const isTakenIn = ({ execution, refusal }: PaymentStory.Verdict): boolean =>
  refusal === undefined && execution !== "held" && execution !== "conflict" && execution !== "spent"

const isBy = ({ payment }: Story, payers: Rules["hostile"]): boolean =>
  payment !== undefined && payers?.has(payment.payer) === true

const takenIn = (story: Story) => verdicts(story, "settle").filter(isTakenIn)

/** The story of a caller that was never notified: its last request to settle, the response, and the record. */
const toldLast = ({ exchanges, records }: Story): string => {
  const asked = exchanges.filter(({ sent: { operation } }) => operation === "settle")
  const last = asked.at(-1)?.received
  const record = records.map(({ paymentId, status }) => `${paymentId} is ${status}`).join(", ")
  return `${asked.length} requests, the last one ${last === undefined ? "without a response" : `got ${JSON.stringify(last.told)}`}; ${record || "no record"}`
}

/** Each check returns the fault of a story, if there is one. */
const looks = {
  /** A caller was notified that its payment is taken in, but the books have no record of it. */
  forgotten: (story) => story.records.length === 0 && takenIn(story).length > 0 && "taken in, without a record",
  /** A record is not at its end, though a caller requested its settlement. */
  unfinished: (story) => {
    const open = story.records.find((record) => !isOver(record))
    const wanted = takenIn(story).length > 0 || (open !== undefined && open.status !== "accepted")
    return open !== undefined && wanted && `is still ${open.status}`
  },
  /** A caller that requested a settlement never received its outcome. */
  untold: (story, { hostile, turnsAway = false }) => {
    if (turnsAway && PaymentStory.isTurnedAway(story)) return undefined
    const asked = !isBy(story, hostile) && story.exchanges.some(({ sent: { operation } }) => operation === "settle")
    const told = verdicts(story, "settle").some((one) => one.success || one.refusal !== undefined || !isTakenIn(one))
    return asked && !told && `its caller was never told the outcome: ${toldLast(story)}`
  },
  /** One authorization has two records. */
  "double-record": ({ records }) => records.length > 1 && `has ${records.length} records`,
  /** A record of a payment that no caller brought. */
  invented: ({ payment, records }) =>
    payment === undefined && records.length > 0 && "has a record that no caller requested",
  /** One authorization moved money more than once. */
  "double-transfer": ({ transfers }) => transfers.length > 1 && `was transferred ${transfers.length} times`,
  /** A record says settled, and the chain does not show that transfer. */
  "unpaid-settlement": ({ records, transfers }) =>
    records
      .filter(isSettled)
      .filter(
        ({ amount, payTo, transaction }) =>
          !transfers.some(
            (one) =>
              one.value === amount && one.to === payTo.toLowerCase() && one.transaction === transaction.toLowerCase()
          )
      )
      .map(({ status, transaction }) => `is ${status} by ${transaction || "no transaction"}, which did not pay it`)[0],
  /** A signer of ours moved money to a payee without a record, or against a record that rules the transfer out. */
  "unbooked-transfer": ({ records, transfers }, _, { chain }) =>
    transfers
      .filter(({ sender }) => chain.standings.some(({ signer }) => signer === sender))
      .filter(() => records.every((record) => isOver(record) && !isSettled(record)))
      .map(({ transaction }) => `was paid by ${transaction}, and its record is ${records[0]?.status ?? "missing"}`)[0],
  /** A signer of ours sent a transaction for something that has no record. */
  "unbooked-broadcast": ({ records, transactions }) =>
    records.length === 0 && transactions[0] !== undefined && `was sent in ${transactions[0].hash} without a record`,
  /** An authorization cost more reverted transactions than allowed. */
  reverted: ({ transactions }, { reverted = 0 }) => {
    const count = transactions.filter((one) => one.reverted).length
    return count > reverted && `cost ${count} reverted transactions, allowed are ${reverted}`
  },
  /** A caller was notified that the money has moved, and it has not. */
  "told-settled": (story) =>
    story.transfers.length === 0 &&
    verdicts(story, "settle").some(({ success }) => success) &&
    "its caller was told that it is paid, and it is not",
  /** A caller was notified of a refusal, asked no more, and the money moved. */
  "told-refused": (story) => {
    const refusal = verdicts(story, "settle").find((one) => one.refusal !== undefined && one.refusal !== "already_used")
    const again = story.exchanges.some(
      ({ sent }) => sent.operation !== "finish" && sent.order > (refusal?.received.order ?? 0)
    )
    const moved = story.transfers[0]?.transaction
    return (
      refusal !== undefined && !again && moved !== undefined && `was refused (${refusal.refusal}) and paid by ${moved}`
    )
  },
  /** A good payment was refused. A used authorization that paid is reported as used. */
  "false-refusal": (story, { hostile, refusals = [] }) => {
    if (isBy(story, hostile)) return undefined
    const wrong = [...verdicts(story, "settle"), ...verdicts(story, "claim")].find(
      ({ refusal }) =>
        refusal !== undefined &&
        !refusals.includes(refusal) &&
        !(refusal === "already_used" && story.transfers.length > 0)
    )
    return wrong !== undefined && `is good and was refused: ${wrong.refusal} ${wrong.detail}`
  },
  /** Two claims were granted runs of one payment that exclude each other (`RunGrants`). */
  "granted-twice": (story) => {
    const claims = RunGrants.conflicting(story)
    return claims.size > 0 && `its run was granted to ${claims.size} claims`
  }
} satisfies Record<string, Look>

/** Checks of the signers, independent of their transactions. */
const signerLooks = {
  /** Something waits in the pool: for a number that is missing, or for a fee that it does not offer. */
  "slot-gap": ({ chain }: PaymentStory.Testimony) =>
    chain.standings
      .filter(({ pooled }) => pooled.length > 0)
      .map(({ included, pooled, signer }) => `${signer} is at ${included}, and ${pooled.join(", ")} wait in the pool`),
  /** A transaction paid more for gas than allowed. */
  overpriced: ({ chain }: PaymentStory.Testimony, { gasPrice }: Rules) =>
    chain.transactions
      .filter((one) => gasPrice !== undefined && one.gasPrice > gasPrice)
      .map((one) => `${one.hash} paid ${one.gasPrice} wei a unit, allowed are ${gasPrice}`)
}

/** The names of the checks. */
export type AuditCheck = keyof typeof looks | keyof typeof signerLooks

/** All checks. Each is shown to find its planted difference. */
export const auditChecks: ReadonlyArray<string> = [...Object.keys(looks), ...Object.keys(signerLooks)]

const lasting: ReadonlySet<string> = new Set<AuditCheck>([
  "forgotten",
  "double-record",
  "invented",
  "double-transfer",
  "unbooked-transfer",
  "unbooked-broadcast",
  "reverted",
  "told-refused",
  "false-refusal",
  "granted-twice",
  "overpriced"
])

/** Whether time cannot mend it. */
export const isLasting = ({ check }: { readonly check: string }): boolean => lasting.has(check)

/** Lays the testimony side by side; nothing found means that all three say the same. */
export const findings = (testimony: PaymentStory.Testimony, rules: Rules = {}): ReadonlyArray<Finding> => {
  const stories = PaymentStory.all(testimony)
  const found: Array<Finding> = []
  const note = (check: AuditCheck, detail: string) => void found.push({ check, detail })
  for (const story of stories) {
    for (const [check, look] of entries(looks)) {
      const wrong = look(story, rules, testimony)
      if (typeof wrong === "string") note(check, `${story.key} ${wrong}`)
    }
  }
  for (const [check, look] of entries(signerLooks)) for (const detail of look(testimony, rules)) note(check, detail)
  return found
}

/** The entries of a table whose keys are all its own. */
const entries = <K extends string, A>(table: Readonly<Record<K, A>>): ReadonlyArray<readonly [K, A]> => {
  const keys: ReadonlyArray<string> = Object.keys(table)
  const isKey = (key: string): key is K => Object.hasOwn(table, key)
  return keys.filter(isKey).map((key) => [key, table[key]])
}
