/**
 * The audit of payment channels: the shop's ledger, the buyers' vouchers and calls, and the chain are laid side by side, at every moment
 * and at the end. It knows what a channel promises and nothing of how that is kept.
 */

/** Numbers of tokens of the ledger's record of a channel. `used`: the highest voucher that was charged. */
export interface ChannelBooks {
  readonly charged: bigint
  readonly reserved: bigint
  readonly used: bigint
  readonly signed: bigint
}

/**
 * A look at a channel while it is in use. Sums only rise, and the look reads the smaller ones first: the chain's claims, the ledger,
 * then the chain's balance and the payer's highest voucher.
 */
export interface ChannelLook {
  readonly channelId: string
  /** When the ledger was read, in milliseconds of the monotonic clock. */
  readonly at: number
  readonly claimed: bigint
  readonly books: ChannelBooks
  readonly balance: bigint
  /** Tokens that the payer has taken out of the channel again; none if left out. */
  readonly withdrawn?: bigint
  readonly signedByPayer: bigint
}

/** A channel when nothing of it is under way any more. */
export interface ChannelEnd extends ChannelLook {
  readonly payer: string
  /** Tokens that have left the payer's account. */
  readonly spent: bigint
  /** The sum of the calls that were served, and of those that may have been. */
  readonly served: bigint
  readonly lost: bigint
  /**
   * The sum that the shop may lose by its deaths: a charge that is written when the head of the response has left is not written by
   * a process that dies between.
   */
  readonly mercy: bigint
}

/** All testimony. */
export interface ChannelTestimony {
  readonly looks: ReadonlyArray<ChannelLook>
  readonly ends: ReadonlyArray<ChannelEnd>
  /** Tokens of the shop's payee. */
  readonly paidOut: bigint
}

type Look<A> = (seen: A) => string | false

const looks = {
  /** The chain shows a claim of money that was not charged. */
  "claimed-above-charged": ({ books: { charged }, claimed }) =>
    claimed > charged && `has ${claimed} claimed and ${charged} charged`,
  /** The ledger owes more than its vouchers cover. */
  "charged-above-signed": ({ books: { charged, reserved, signed, used } }) =>
    (charged > used || used > signed || charged + reserved > signed) &&
    `has ${charged} charged and ${reserved} reserved, by vouchers for ${used} and ${signed}`,
  /** The ledger keeps a voucher that its payer has not signed. */
  "signed-above-vouchers": ({ books: { signed }, signedByPayer }) =>
    signed > signedByPayer && `has a voucher for ${signed}, and its payer signed ${signedByPayer}`,
  /** A voucher was accepted that the channel's money does not cover. Money that was withdrawn since has covered it. */
  "signed-above-balance": ({ balance, books: { signed }, withdrawn = 0n }) =>
    signed > balance + withdrawn && `has a voucher for ${signed}, a balance of ${balance}, and ${withdrawn} withdrawn`
} satisfies Record<string, Look<ChannelLook>>

const ends = {
  /** A charge was not claimed: an accepted voucher was worth nothing. */
  unclaimed: ({ books: { charged }, claimed }) => claimed < charged && `has ${charged} charged and ${claimed} claimed`,
  /** The payer has lost another sum than it was charged. */
  "loss-differs": ({ balance, books: { charged }, claimed, spent }) =>
    spent - (balance - claimed) !== charged &&
    `has cost its payer ${spent - (balance - claimed)}, charged are ${charged}`,
  /** Served calls were not charged. */
  "served-uncharged": ({ books: { charged }, mercy, served }) =>
    charged + mercy < served && `has ${charged} charged, and calls of ${served} were served`,
  /** Calls were charged that were not served. */
  "charged-unserved": ({ books: { charged }, lost, served }) =>
    charged > served + lost && `has ${charged} charged, calls of ${served} were served and of ${lost} lost`
} satisfies Record<string, Look<ChannelEnd>>

/** The names of the checks. */
export type ChannelCheck = keyof typeof looks | keyof typeof ends | "charge-forgotten" | "not-paid-out"

/** All checks. Each is shown to find its planted difference. */
export const channelChecks: ReadonlyArray<string> = [
  ...Object.keys(looks),
  ...Object.keys(ends),
  "charge-forgotten",
  "not-paid-out"
]

/** A difference. */
export interface ChannelFinding {
  readonly check: ChannelCheck
  readonly detail: string
}

/** Differences that time may mend while charges are written and claims are on their way. */
const mending: ReadonlySet<ChannelCheck> = new Set<ChannelCheck>([
  "unclaimed",
  "loss-differs",
  "not-paid-out",
  "served-uncharged"
])

/** Whether time cannot mend it. */
export const isLasting = ({ check }: ChannelFinding): boolean => !mending.has(check)

/** The differences of the looks alone, each kind once a channel. */
export const duringLooks = (seen: ReadonlyArray<ChannelLook>): ReadonlyArray<ChannelFinding> => {
  const found = new Map<string, ChannelFinding>()
  const charged = new Map<string, bigint>()
  const note = (check: ChannelCheck, { channelId }: ChannelLook, detail: string) => {
    const key = `${check} ${channelId}`
    if (!found.has(key)) found.set(key, { check, detail: `${channelId} ${detail}` })
  }
  for (const look of seen) {
    for (const { check, wrong } of judged(looks, look)) note(check, look, wrong)
    const before = charged.get(look.channelId) ?? 0n
    if (look.books.charged < before)
      note("charge-forgotten", look, `had ${before} charged, and now ${look.books.charged}`)
    charged.set(look.channelId, look.books.charged)
  }
  return [...found.values()]
}

/** All differences. */
export const findings = ({ ends: channels, looks: seen, paidOut }: ChannelTestimony): ReadonlyArray<ChannelFinding> => {
  const claimed = channels.reduce((sum, one) => sum + one.claimed, 0n)
  return [
    ...duringLooks([...seen, ...channels]),
    ...channels.flatMap((end) =>
      judged(ends, end).map(({ check, wrong }) => ({ check, detail: `${end.channelId} of ${end.payer} ${wrong}` }))
    ),
    ...(paidOut === claimed
      ? []
      : [{ check: "not-paid-out" as const, detail: `${claimed} were claimed, and the payee has ${paidOut}` }])
  ]
}

const judged = <A, K extends ChannelCheck>(table: Readonly<Record<K, Look<A>>>, seen: A) => {
  const isKey = (key: string): key is K => Object.hasOwn(table, key)
  return Object.keys(table)
    .filter(isKey)
    .flatMap((check) => {
      const wrong = table[check](seen)
      return wrong === false ? [] : [{ check, wrong }]
    })
}
