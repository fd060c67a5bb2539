/**
 * The arithmetic of a payment through a channel: the most that the next voucher allows to claim, and the deposit that it needs,
 * within the payer's limits. Amounts are in the smallest unit of the asset.
 */
import * as Result from "effect/Result"

import type { Asset } from "../protocol/Asset.ts"
import type { ChannelStanding, OfferedChannel, SentDeposit } from "../scheme/ChannelSigner.ts"
import type { ChannelEntry } from "./ChannelEntry.ts"
import { isExpired } from "./JournalLedger.ts"
import { decline, type PaymentDeclined } from "./PaymentDeclined.ts"
import type { Allowed } from "./PaymentPolicy.ts"
import { spendingsOf } from "./PaymentPolicy.ts"
import * as Spending from "./Spending.ts"

/** The deposit that goes with the next voucher. */
export type Funding =
  /** The balance is enough. */
  | { readonly _tag: "Enough" }
  /** The deposit that was signed before goes out again. */
  | { readonly _tag: "Again"; readonly amount: bigint }
  | { readonly _tag: "Deposit"; readonly amount: bigint }

/** The next voucher. */
export interface Plan {
  readonly ceiling: bigint
  /** The part of the ceiling that no earlier voucher has allowed to claim: the amount that counts against the limits. */
  readonly increase: bigint
  readonly funding: Funding
}

export const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/** The balance with the open deposit, if the deposit is reported as made. */
const funds = ({ balance, deposit }: ChannelEntry): bigint =>
  BigInt(balance) + (deposit?.isReported === true ? BigInt(deposit.amount) : 0n)

/** The amount that lies in a channel, or may soon, and is not spent. */
const unspent = ({ balance, charged, deposit }: ChannelEntry): bigint =>
  larger(BigInt(balance) + BigInt(deposit?.amount ?? 0n) - BigInt(charged), 0n)

/** Whether the next voucher needs to know the chain: it needs money, or an earlier deposit has an unknown outcome. */
export const needsChain = (book: ChannelEntry | undefined, amount: bigint): boolean =>
  book === undefined ||
  (book.deposit !== undefined && !book.deposit.isReported) ||
  BigInt(book.charged) + amount > funds(book)

/** The open deposit of a book, as its scheme reads it. */
export const sentDeposit = (book: ChannelEntry | undefined): SentDeposit | undefined =>
  book?.deposit?.signed === undefined
    ? undefined
    : { terms: book.terms, amount: BigInt(book.deposit.amount), signed: book.deposit.signed }

/**
 * The book after the chain was read. A deposit is over when the chain shows it, or can show it no more: by the time of the block that
 * was read, because a node that hangs shows an old one. The balance may be lower than with it, where a refund or a withdrawal has taken
 * money out since; then the token says that it was made. A reading of an earlier block than the last one changes nothing. Claims prove
 * that the payer has signed for them, and that they are charged.
 */
export const afterReading = (
  book: ChannelEntry,
  { balance, claimed, isDepositOver = false, time }: ChannelStanding
): ChannelEntry => {
  const { deposit, readAt, ...rest } = book
  if (readAt !== undefined && time < readAt) return book
  const isOver =
    deposit === undefined ||
    isDepositOver ||
    balance >= BigInt(deposit.onTopOf) + BigInt(deposit.amount) ||
    isExpired({ validBefore: deposit.validBefore }, time * 1000)
  return {
    ...(isOver ? rest : { ...rest, deposit }),
    balance: `${balance}`,
    claimed: `${claimed}`,
    readAt: time,
    ...lostIn(book, claimed),
    charged: `${larger(BigInt(book.charged), claimed)}`,
    signed: `${larger(BigInt(book.signed), claimed)}`
  }
}

/** The mark of a sum of charges that no response has shown, if it is above the books. */
export const lostIn = ({ charged, lost = "0" }: ChannelEntry, shown: bigint): Pick<ChannelEntry, "lost"> =>
  shown > BigInt(charged) ? { lost: `${larger(BigInt(lost), shown)}` } : {}

/**
 * Whether the chain's word, by a node, shows claims above every voucher that the payer has signed, by the journal or by a proof. A
 * contract accepts no such claim, so the node may lie. A channel that the journal does not know may have any claims.
 */
export const isUnsigned = (known: ChannelEntry | undefined, { claimed }: ChannelStanding, proven = 0n): boolean =>
  known !== undefined && claimed > larger(BigInt(known.signed), proven)

/** The decline of claims that the payer has not signed for. */
export const unsigned = ({ host, signed }: ChannelEntry, { claimed }: ChannelStanding): PaymentDeclined =>
  decline(
    "terms_unsupported",
    `the node says that ${claimed} is claimed from the payment channel with ${host}, and this journal knows vouchers for at most ${signed}; nothing more was signed: check the node, or whether another device or an earlier journal has paid through the same channel`
  )

/** The books without a deposit that is not signed: it never left, so another one takes its place. */
export const withoutUnsigned = (book: ChannelEntry): ChannelEntry => {
  if (book.deposit === undefined || book.deposit.signed !== undefined) return book
  const { deposit: _, ...rest } = book
  return rest
}

/** Plans the next voucher, for the quote's amount; declines a deposit that the limits do not allow. */
export const plan = (
  book: ChannelEntry,
  { limits, quote }: Pick<Allowed, "limits" | "quote">,
  offered: OfferedChannel,
  channels: ReadonlyMap<string, ChannelEntry>
): Result.Result<Plan, PaymentDeclined> => {
  const ceiling = BigInt(book.charged) + quote.amount
  const increase = larger(ceiling - BigInt(book.signed), 0n)
  const planned = (funding: Funding) => Result.succeed({ ceiling, increase, funding })
  if (ceiling <= funds(book)) return planned({ _tag: "Enough" })
  const { deposit } = book
  if (deposit !== undefined) {
    const amount = BigInt(deposit.amount)
    if (!deposit.isReported && ceiling <= BigInt(book.balance) + amount) {
      return planned({ _tag: "Again", amount })
    }
    return Result.fail(waiting(book, deposit))
  }
  if (book.unproven !== undefined) return Result.fail(unproven(book))
  const needed = larger(ceiling - BigInt(book.balance), offered.leastDeposit)
  const room = roomFor(book, limits, quote.asset, channels)
  if (needed > room.amount) return Result.fail(tooMuch(book, needed, quote.asset, room))
  const wanted = larger(needed, offered.wantedDeposit)
  return planned({ _tag: "Deposit", amount: wanted < room.amount ? wanted : room.amount })
}

interface Room {
  readonly amount: bigint
  /** The limit that leaves no more, for messages. */
  readonly limit: string
}

/** The largest deposit that the limits allow. */
const roomFor = (
  book: ChannelEntry,
  limits: Allowed["limits"],
  asset: Asset,
  channels: ReadonlyMap<string, ChannelEntry>
): Room => {
  const spaces = limits.flatMap(({ counts, inChannels, network, option, perChannel }): ReadonlyArray<Room> => {
    const [own, dollars = own] = spendingsOf({ amount: unspent(book), asset })
    const here = counts === "asset" ? own : dollars
    const isOpen = limits.some((one) => one.counts === counts && one.perChannel !== undefined)
    if (!isOpen) return [{ amount: 0n, limit: `${option}.perChannel` }]
    const others = [...channels.values()].filter(
      (one) => one.id !== book.id && (network ?? one.network) === one.network
    )
    const total = others.flatMap((one) => unspentIn(here.unit, one)).reduce(Spending.add, here)
    return [
      ...roomIn(perChannel, here, `${option}.perChannel`),
      ...roomIn(inChannels, total, `${option}.inChannels`, here.scale)
    ]
  })
  return spaces.reduce((one, other) => (other.amount < one.amount ? other : one))
}

const roomIn = (
  limit: Spending.Spending | undefined,
  used: Spending.Spending,
  option: string,
  scale = used.scale
): ReadonlyArray<Room> => (limit === undefined ? [] : [{ amount: left(limit, used, scale), limit: option }])

const unspentIn = (unit: string, channel: ChannelEntry): ReadonlyArray<Spending.Spending> =>
  channel.units.filter((one) => one.unit === unit).map(({ scale }) => ({ unit, digits: unspent(channel), scale }))

/** A limit less an amount, in units of the scale, rounded down. */
export const left = (limit: Spending.Spending, used: Spending.Spending, scale = used.scale): bigint => {
  const { digits, scale: found } = Spending.subtract({ ...limit, unit: used.unit }, used)
  if (digits <= 0n) return 0n
  return found <= scale ? digits * 10n ** BigInt(scale - found) : digits / 10n ** BigInt(found - scale)
}

const tooMuch = ({ host }: ChannelEntry, needed: bigint, asset: Asset, { amount, limit }: Room): PaymentDeclined => {
  const message = `${host} needs a deposit of ${priceOf(needed, asset)} into a payment channel, and ${limit} leaves ${priceOf(amount, asset)}; raise it, or have an earlier channel refunded`
  return decline("over_channel_limit", message)
}

const unproven = ({ host, unproven }: ChannelEntry): PaymentDeclined =>
  decline(
    "over_channel_limit",
    `the payment channel with ${host} needs a deposit, and had claims of ${unproven} before this journal knew it: earlier vouchers, which it does not know, could claim the deposit too; pay through another channel: give the client another salt`
  )

const waiting = (
  { host }: ChannelEntry,
  { amount, validBefore }: NonNullable<ChannelEntry["deposit"]>
): PaymentDeclined =>
  decline(
    "over_channel_limit",
    `the deposit of ${amount} into the payment channel with ${host} is not on the chain yet and valid until ${validBefore} (Unix seconds); another one is signed when the chain shows it, or a block later than that: repeat the request later`
  )

/** A price for people. */
export const priceOf = (amount: bigint, asset: Asset): string => {
  const [own, dollars = own] = spendingsOf({ amount, asset })
  return Spending.format(dollars)
}
