/** `pontage top-up <amount>`: brings money of one's own from one network to another, and waits until it has arrived. */
import type { Quote, TopUps } from "@pontage/core"

import { misused } from "../CommandFailed.ts"
import * as CommandLine from "../CommandLine.ts"
import * as ExitCode from "../ExitCode.ts"
import * as PayerSession from "../payer/PayerSession.ts"
import * as PayFailure from "../payer/PayFailure.ts"
import * as WatchedJournal from "../payer/WatchedJournal.ts"
import * as QuoteText from "../terminal/QuoteText.ts"
import * as Screen from "../terminal/Screen.ts"
import * as WalletFolder from "../wallet/WalletFolder.ts"
import * as Agreement from "./Agreement.ts"
import type { CommandContext } from "./CommandContext.ts"
import * as PayerOptions from "./PayerOptions.ts"
import * as RequestOptions from "./RequestOptions.ts"

const { "at-least": _atLeast, "top-up": _topUp, network: _network, ...payer } = PayerOptions.table

/** The options. */
export const table = {
  to: { value: "name", help: "The network that the money goes to: polygon, eip155:137" },
  from: { value: "name", help: "The network that it comes from; default the one with the least fee" },
  asset: { value: "address", help: "The token that arrives, where several can" },
  facilitator: { value: "url", help: "The facilitator that sends it, for its fee" },
  max: { value: "price", help: "The most for the fee; default $0.10" },
  yes: { short: "y", help: "Bring it within the limit without a question" },
  ...payer
} as const satisfies CommandLine.OptionTable

/** Brings it. */
export const run = async (args: ReadonlyArray<string>, { signal }: CommandContext): Promise<number> => {
  const { values, words } = CommandLine.read(table, args)
  const [text, ...more] = words
  const amount = Agreement.priceOf("the amount", text)
  const { asset, facilitator, from, to } = values
  if (amount === undefined || more.length > 0 || to === undefined || facilitator === undefined) {
    throw misused("expected an amount and where it goes: pontage top-up 20 --to polygon --facilitator <url>")
  }
  const plan = RequestOptions.read({}, [facilitator], "top-up")
  const screen = Screen.make(values.quiet === true || values.json === true)
  const max = Agreement.priceOf("--max", values.max)
  const journal = await WatchedJournal.open(WalletFolder.journalPath(), signal, () =>
    screen.wait("Another pontage has the journal; waiting for it")
  )
  const agree = (quote: Quote) => {
    QuoteText.showTopUp(screen, quote)
    return Agreement.ask(values, screen, signal, quote)
  }
  const session = { values: { ...values, "top-up": facilitator }, plan, screen, signal, journal, agree }
  try {
    const order = { to, amount, ...(from !== undefined && { from }), ...(asset !== undefined && { asset }) }
    const paying = PayerSession.make({ ...session, ...(max !== undefined && { max }) })
    const receipt = await paying.topUp(order, { signal })
    screen.wait(undefined)
    show(receipt, values.json === true)
    return ExitCode.numberOf("done")
  } catch (error) {
    screen.wait(undefined)
    throw PayFailure.of(error, plan.url, journal.current()) ?? error
  } finally {
    await journal.close()
  }
}

const show = (receipt: TopUps.TopUpReceipt, isJson: boolean): void => {
  const { amount, arrived, departed, fee, from, isResumed, paymentId, to } = receipt
  const what = isResumed ? "was under way already, and has arrived" : "has arrived"
  const lines = isJson
    ? [JSON.stringify({ ...receipt, amount: `${amount}`, fee: `${fee}` }, undefined, 2)]
    : [`${paymentId} ${what} on ${to}`, `  left      ${departed} on ${from}`, `  arrived   ${arrived} on ${to}`]
  process.stdout.write(`${lines.join("\n")}\n`)
}
