/** `pontage quote <url>`: what a request costs; nothing is signed, and no key is needed. */
import type { PaymentClient, Quote } from "@pontage/core"

import * as CommandLine from "../CommandLine.ts"
import * as ExitCode from "../ExitCode.ts"
import * as PayerSession from "../payer/PayerSession.ts"
import * as PayFailure from "../payer/PayFailure.ts"
import * as QuoteText from "../terminal/QuoteText.ts"
import * as SafeText from "../terminal/SafeText.ts"
import * as Screen from "../terminal/Screen.ts"
import type { CommandContext } from "./CommandContext.ts"
import * as PayerOptions from "./PayerOptions.ts"
import * as RequestOptions from "./RequestOptions.ts"

const { "password-file": _, ...payer } = PayerOptions.table

/** The options. */
export const table = { ...RequestOptions.table, ...payer } as const satisfies CommandLine.OptionTable

/** A quote tells the price, whatever it is. */
const noLimit = "$1000000000"

const never = () => Promise.resolve(false)

const write = (text: string) => void process.stdout.write(`${text}\n`)

/** Asks for the price. */
export const run = async (args: ReadonlyArray<string>, { signal: stop }: CommandContext): Promise<number> => {
  const { values, words } = CommandLine.read(table, args)
  const plan = RequestOptions.read(values, words, "quote")
  const screen = Screen.make(values.quiet === true || values.json === true)
  const signal = RequestOptions.withTime(stop, plan)
  const paying = PayerSession.make({ values, plan, screen, signal, journal: undefined, max: noLimit, agree: never })
  try {
    const quotation = await paying.quote(plan.url, { ...plan.init, signal })
    screen.wait(undefined)
    if (values.json === true) process.stdout.write(`${JSON.stringify(documentOf(quotation), null, 2)}\n`)
    else show(screen, plan, quotation)
    const isPayable = quotation === undefined || quotation.payable.length > 0
    return ExitCode.numberOf(isPayable ? "done" : "declined")
  } catch (error) {
    screen.wait(undefined)
    throw PayFailure.of(error, plan.url, undefined) ?? error
  }
}

const show = (
  screen: Screen.Screen,
  { init, url }: RequestOptions.RequestPlan,
  quotation: PaymentClient.Quotation | undefined
): void => {
  if (quotation === undefined) return write(`${init.method} ${url.href}: the response demands no payment`)
  const { declined, payable } = quotation
  const [first] = payable
  screen.say(`${init.method} ${SafeText.line(first?.url ?? url.href, 500)}`)
  const description = first?.requirements.description
  if (description !== undefined && description !== "") screen.row("sells", SafeText.line(description))
  for (const quote of payable) {
    write(`  ${quote.price.padEnd(10)}${QuoteText.inTokens(quote).padEnd(34)}to ${quote.requirements.payTo}`)
    if (quote.topUp !== undefined) screen.row("top-up", QuoteText.topUp(quote))
  }
  for (const { message } of declined) screen.row("not paid", SafeText.line(message, 400))
}

const quoteOf = ({ amount, asset, price, requirements, topUp }: Quote) => ({
  price,
  amount: `${amount}`,
  asset: asset.address,
  symbol: asset.symbol,
  network: asset.network,
  payTo: requirements.payTo,
  ...(topUp !== undefined && {
    topUp: {
      ...topUp,
      amount: `${topUp.amount}`,
      fee: `${topUp.fee}`,
      total: `${topUp.total}`,
      minimum: `${topUp.minimum}`
    }
  }),
  ...(requirements.description !== undefined && { description: requirements.description })
})

const documentOf = (quotation: PaymentClient.Quotation | undefined) =>
  quotation === undefined
    ? { payment: false, payable: [], declined: [] }
    : {
        payment: true,
        payable: quotation.payable.map(quoteOf),
        declined: quotation.declined.map(({ message, rule }) => ({ rule, message }))
      }
