/**
 * The payer's books of a channel after a shop's word. A shop's numbers count as far as the chain or this payer's own signature
 * proves them: a receipt by at most the request's amount, a correction by at most a voucher that this payer has signed.
 */
import type { ChannelStanding, Correction } from "../scheme/ChannelSigner.ts"
import type { ChannelEntry } from "./ChannelEntry.ts"
import { afterReading, isUnsigned, larger, lostIn } from "./ChannelFunds.ts"

/** The vouchers of one purchase. */
export interface Drawn {
  /** The highest one that it has signed; `undefined` if no higher one counts as an earlier purchase's. */
  readonly ceiling: bigint | undefined
  /** The most that earlier vouchers allowed to claim when it began. */
  readonly floor: bigint
  /** Whether the books were lost, so that earlier vouchers are unknown: a correction counts them, but for one like its own. */
  readonly isRecovered: boolean
}

/** A correction, judged. */
export type Judgement =
  /** The next voucher may start from it. */
  | { readonly _tag: "Accepted"; readonly book: ChannelEntry; readonly floor: bigint }
  /** It says that the voucher of this very purchase is charged: a higher one would pay the request twice. */
  | { readonly _tag: "Charged"; readonly book: ChannelEntry }
  /** Neither the chain nor a signature proves it. */
  | { readonly _tag: "Unproven"; readonly charged: bigint }

/** Judges a correction by the channel's state on the chain. `now` dates the book, in Unix milliseconds. */
export const judge = (
  known: ChannelEntry,
  { charged: said, proven: voucher = 0n }: Correction,
  standing: ChannelStanding,
  drawn: Drawn,
  now: number
): Judgement => {
  const charged = said ?? standing.claimed
  const proven = larger(standing.claimed, voucher)
  const isAbove = charged > larger(proven, BigInt(known.charged))
  if (charged < standing.claimed || isAbove || isUnsigned(known, standing, voucher)) {
    return { _tag: "Unproven", charged }
  }
  const read = withProof(afterReading(known, standing), voucher)
  const mark = lostIn(known, charged)
  const book = { ...read, ...mark, charged: `${charged}`, signed: `${larger(BigInt(read.signed), voucher)}`, at: now }
  // A proven voucher above all of this purchase's own is an earlier one, or one of another device.
  const earlier = drawn.ceiling !== undefined && proven > drawn.ceiling ? larger(drawn.floor, proven) : drawn.floor
  // After lost books a voucher as high as this purchase's own is either: an earlier one would be paid once more, so it counts as this one.
  const isOwn = drawn.ceiling !== undefined && proven === drawn.ceiling
  const floor = drawn.isRecovered && !isOwn ? larger(earlier, charged) : earlier
  return charged > floor ? { _tag: "Charged", book } : { _tag: "Accepted", book, floor }
}

/** The book without the mark of claims that this voucher of the payer's own proves. */
const withProof = (book: ChannelEntry, voucher: bigint): ChannelEntry => {
  const { unproven, ...rest } = book
  return unproven !== undefined && voucher >= BigInt(unproven) ? rest : book
}

/**
 * The vouchers of a purchase whose voucher of this ceiling, for a request of this amount, is sent again. Where the books were
 * corrected above its beginning meanwhile, by another request, its voucher may be the reason: then all above it counts as its own
 * charge. Else everything above the books is the charge of a voucher whose response was lost: that of this one.
 */
export const sentAgain = (book: ChannelEntry | undefined, ceiling: bigint, amount: bigint): Drawn => {
  const floor = ceiling - amount
  return BigInt(book?.lost ?? 0n) > floor
    ? { ceiling: undefined, floor, isRecovered: false }
    : { ceiling, floor: BigInt(book?.charged ?? 0n), isRecovered: false }
}

/**
 * The books after a response to the voucher of this ceiling, for a request of this amount of which `charged` was charged.
 * `isDeposited` says that its receipt names the transaction of a deposit.
 */
export const afterResponse = (
  book: ChannelEntry,
  { ceiling, amount, charged }: { readonly ceiling: bigint; readonly amount: bigint; readonly charged: bigint },
  isDeposited: boolean,
  now: number
): ChannelEntry => ({
  ...book,
  charged: `${larger(BigInt(book.charged), ceiling - amount + charged)}`,
  ...(book.deposit !== undefined && isDeposited && { deposit: { ...book.deposit, isReported: true } }),
  at: now
})
