/** The question whether to pay, and prices in arguments. */
import { Price, type Quote } from "@pontage/core"
import * as Result from "effect/Result"

import { CommandFailed, misused } from "../CommandFailed.ts"
import * as Question from "../terminal/Question.ts"
import type { Screen } from "../terminal/Screen.ts"

/** Prices may be written without the dollar, which shells would read as a variable. */
export const priceOf = (name: string, text: string | undefined): string | undefined => {
  if (text === undefined) return undefined
  const price = text.startsWith("$") ? text : `$${text}`
  if (Result.isFailure(Price.parse(price))) throw misused(`${name}: expected a price such as 0.05, got "${text}"`)
  return price
}

const sumOf = ({ price, topUp }: Quote): string =>
  topUp === undefined ? price : `${price} and the fee of ${topUp.feePrice}`

/** The options that decide without a question. */
export interface Given {
  readonly yes?: boolean
  readonly max?: string
}

/** Asks, or decides by the options without a terminal. */
export const ask = async (
  { max, yes }: Given,
  screen: Screen,
  signal: AbortSignal,
  quote: Quote,
  question = `Pay ${sumOf(quote)}?`
): Promise<boolean> => {
  if (yes === true) return true
  if (screen.isInteractive) return Question.isYes(question, signal)
  if (max !== undefined) return true
  const { price } = quote
  const message = `nobody can be asked whether to pay ${sumOf(quote)}: give --max ${price.slice(1)}, or --yes`
  throw new CommandFailed({ exit: "declined", kind: "PaymentDeclined", rule: "confirm_refused", message })
}
