/** A quote and a receipt as rows for a person. Names of assets are this program's own, never the shop's. */
import { type JournalEntry, OfferedStream, type Quote } from "@pontage/core"
import { exactEvm } from "@pontage/evm"

import * as PayerNetworks from "../payer/PayerNetworks.ts"
import * as SafeText from "./SafeText.ts"
import type { Screen } from "./Screen.ts"

/** An amount in the token's unit: `0.01`. */
export const decimal = (amount: bigint, decimals: number): string => {
  const digits = amount.toString().padStart(decimals + 1, "0")
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "")
  const whole = digits.slice(0, digits.length - decimals)
  return decimals === 0 || fraction === "" ? whole : `${whole}.${fraction}`
}

/** The amount of the token: `0.01 USDC on eip155:8453`. */
export const inTokens = ({ amount, asset }: Pick<Quote, "amount" | "asset">): string =>
  `${decimal(amount, asset.decimals)} ${asset.symbol} on ${asset.network}`

/** The top-up of a quote: `$14.20 leave eip155:42161, $4.20 of it as a fee; 10 USDT0 on eip155:137 arrive in about 3 min`. */
export const topUp = ({ asset, topUp: quoted }: Quote): string => {
  if (quoted === undefined) return "none"
  const { amount, expectedSeconds, feePrice, from, paymentId, totalPrice } = quoted
  const arriving = inTokens({ amount, asset })
  if (paymentId !== undefined) return `${arriving}, under way from ${from.network} (${paymentId})`
  const minutes = Math.ceil(expectedSeconds / 60)
  return `${totalPrice} leave ${from.network}, ${feePrice} of it as a fee; ${arriving} arrive in about ${minutes} min`
}

/** Shows a top-up that is ordered for itself. */
export const showTopUp = (screen: Screen, quote: Quote): void => {
  screen.row("top-up", screen.bold(topUp(quote)))
  screen.row("account", quote.topUp?.from.account ?? "")
}

/** The price with its token: `$0.01 (0.01 USDC on eip155:8453)`. */
export const price = (quote: Quote): string => `${quote.price} (${inTokens(quote)})`

/** The dollars of an amount of a quote's token, where it has a dollar price. */
const priceIn = ({ asset }: Quote, amount: bigint): string =>
  asset.dollar ? dollarsOf(amount, asset.decimals) : `${decimal(amount, asset.decimals)} ${asset.symbol}`

const streamText = (quote: Quote, { tick, unit, window }: OfferedStream.MeteredTerms): string =>
  `${priceIn(quote, tick)} each ${SafeText.line(unit)}, paid ahead by ${priceIn(quote, window)} at a time`

const depositText = ({ price: amount, withdrawDelay }: NonNullable<Quote["deposit"]>): string =>
  `${amount} into a payment channel; what is not spent can be withdrawn after ${withdrawDelay} s without the shop`

/** Shows what would be bought and what it costs. */
export const show = (screen: Screen, quote: Quote, payer: string | undefined): void => {
  const { description } = quote.requirements
  screen.say(`${screen.bold(quote.method)} ${SafeText.line(quote.url, 500)}`)
  if (description !== undefined && description !== "") screen.row("sells", SafeText.line(description))
  screen.row("price", screen.bold(price(quote)))
  const stream = OfferedStream.of(quote)
  if (stream !== undefined) screen.row("stream", streamText(quote, stream))
  if (quote.deposit !== undefined) screen.row("deposit", depositText(quote.deposit))
  screen.row("pays to", SafeText.line(quote.requirements.payTo))
  if (payer !== undefined) screen.row("from", payer)
  if (quote.topUp !== undefined) screen.row("top-up", topUp(quote))
}

/** The amount that an entry of the journal counts, for people. */
export const priceOf = ({ amount, asset, spendings }: JournalEntry): string => {
  const dollars = spendings.find(({ unit }) => unit === "$")
  return dollars === undefined ? `${amount} of ${asset}` : dollarsOf(BigInt(dollars.digits), dollars.scale)
}

const dollarsOf = (digits: bigint, scale: number): string =>
  `$${decimal(digits, scale)
    .replace(/^(\d+)$/, "$1.00")
    .replace(/\.(\d)$/, ".$10")}`

/** An amount of an entry's token, for people. */
export const amountOf = ({ asset, spendings }: JournalEntry, amount: bigint): string => {
  const dollars = spendings.find(({ unit }) => unit === "$")
  return dollars === undefined ? `${amount} of ${asset}` : dollarsOf(amount, dollars.scale)
}

/** Shows a payment that was made. */
export const showReceipt = (screen: Screen, entry: JournalEntry, seconds: number): void => {
  const { host, paymentId = "", receipt, signedReceipt } = entry
  if (screen.isInteractive) screen.say("")
  screen.say(`${screen.bold(`Paid ${priceOf(entry)}`)} to ${host} in ${seconds.toFixed(1)} s`)
  screen.row("payment", paymentId)
  if (receipt === undefined) return screen.row("receipt", "none: the shop served without one")
  if (receipt.transaction === "") return screen.row("moved by", "a voucher of your payment channel")
  screen.row("moved by", `${SafeText.line(receipt.transaction)} on ${receipt.network}`)
  const link = PayerNetworks.explorerLink(receipt.network, receipt.transaction)
  if (link !== undefined) screen.row("look it up", link)
  if (signedReceipt !== undefined)
    screen.row("receipt", `signed by ${exactEvm.receiptSignerOf(signedReceipt) ?? "nobody: the signature is none"}`)
}
