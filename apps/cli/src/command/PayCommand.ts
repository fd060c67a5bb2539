/** `pontage pay <url>`: like curl, and pays if the server asks for it. */
import { type FollowedStream, type JournalEntry, OfferedStream, type Quote } from "@pontage/core"
import { streamOf } from "@pontage/fetch"

import { CommandFailed } from "../CommandFailed.ts"
import * as CommandLine from "../CommandLine.ts"
import * as ExitCode from "../ExitCode.ts"
import * as PayerNetworks from "../payer/PayerNetworks.ts"
import * as PayerSession from "../payer/PayerSession.ts"
import * as PayFailure from "../payer/PayFailure.ts"
import * as WatchedJournal from "../payer/WatchedJournal.ts"
import * as QuoteText from "../terminal/QuoteText.ts"
import * as ResponseOutput from "../terminal/ResponseOutput.ts"
import * as Screen from "../terminal/Screen.ts"
import * as StreamText from "../terminal/StreamText.ts"
import * as WalletFolder from "../wallet/WalletFolder.ts"
import * as Agreement from "./Agreement.ts"
import type { CommandContext } from "./CommandContext.ts"
import * as PayerOptions from "./PayerOptions.ts"
import * as RequestOptions from "./RequestOptions.ts"

/** The options. */
export const table = {
  ...RequestOptions.table,
  include: { short: "i", help: "Show the response's status and headers before its body" },
  output: { short: "o", value: "file", help: "Write the body to a file" },
  max: { value: "price", help: "The most to pay for this request; default $0.10" },
  "max-stream": {
    value: "price",
    help: "The most to pay for an answer that is sold by the unit as it comes; default --max"
  },
  "max-per-day": { value: "price", help: "The most to pay in 24 hours, by the journal" },
  yes: { short: "y", help: "Pay within the limits without a question" },
  ...PayerOptions.table
} as const satisfies CommandLine.OptionTable

type Values = CommandLine.Values<typeof table>

/** One run of the command. */
interface Run {
  readonly values: Values
  readonly plan: RequestOptions.RequestPlan
  readonly screen: Screen.Screen
  readonly signal: AbortSignal
  readonly journal: WatchedJournal.WatchedJournal
  readonly began: number
}

const questionOf = (values: Values, quote: Quote): string | undefined => {
  if (quote.deposit !== undefined) return `Deposit ${quote.deposit.price}?`
  if (OfferedStream.of(quote) === undefined) return undefined
  return `Pay ${quote.price} ahead, and up to ${values["max-stream"] ?? values.max ?? "$0.10"} for the whole stream?`
}

/** Pays. */
export const run = async (args: ReadonlyArray<string>, { signal: stop }: CommandContext): Promise<number> => {
  const { values, words } = CommandLine.read(table, args)
  const plan = RequestOptions.read(values, words, "pay")
  const limits = {
    max: Agreement.priceOf("--max", values.max),
    maxPerDay: Agreement.priceOf("--max-per-day", values["max-per-day"]),
    maxStream: Agreement.priceOf("--max-stream", values["max-stream"])
  }
  if (values.output !== undefined) ResponseOutput.demandWritable(values.output)
  const screen = Screen.make(values.quiet === true || values.json === true)
  const signal = RequestOptions.withTime(stop, plan)
  const journal = await WatchedJournal.open(WalletFolder.journalPath(), signal, () =>
    screen.wait("Another pontage has the journal; waiting for it")
  )
  const one: Run = { values, plan, screen, signal, journal, began: performance.now() }
  try {
    const agree = (quote: Quote, payer: string) => {
      QuoteText.show(screen, quote, payer)
      return Agreement.ask(values, screen, signal, quote, questionOf(values, quote))
    }
    const paying = PayerSession.make({ values, plan, screen, signal, journal, ...limits, agree })
    const response = await paying(plan.url, { ...plan.init, signal })
    screen.wait(undefined)
    const stream = streamOf(response)
    return await (stream === undefined ? finish(one, response) : finishStream(one, response, stream))
  } catch (error) {
    screen.wait(undefined)
    return report(one, error)
  } finally {
    await journal.close()
  }
}

/** The entry, if it is not the top-up before the purchase. */
const purchaseOf = (entry: JournalEntry | undefined): JournalEntry | undefined =>
  entry?.topUp === undefined ? entry : undefined

const openStates: ReadonlySet<string> = new Set(["pending", "refused"])

/** The payment of this run, if it may still move money. */
const openOf = (entry: JournalEntry | undefined): JournalEntry | undefined =>
  entry?.state === "pending" ? entry : undefined

/** Writes the response, and what was paid for it. */
const finish = async (one: Run, response: Response): Promise<number> => {
  const { began, journal, screen, signal, values } = one
  const entry = purchaseOf(journal.current())
  const open = openOf(entry)
  const seconds = (performance.now() - began) / 1000
  const exit: ExitCode.ExitName = open !== undefined ? "pending" : response.status >= 400 ? "status" : "done"
  if (entry !== undefined && entry.state !== "released" && open === undefined) {
    if (journal.isResumed())
      screen.say("This is the answer to a payment that was sent earlier; nothing new was signed.")
    QuoteText.showReceipt(screen, entry, seconds)
    if (entry.state === "owed")
      screen.say("The shop owes its answer still: the same command asks for it and pays nothing.")
    const isRedirect = response.status >= 300 && response.status < 400
    const location = isRedirect ? response.headers.get("location") : null
    if (location !== null) screen.say(`What was bought is at ${location}: open that without a payment.`)
  }
  if (values.json === true) {
    const content = values.output === undefined ? await ResponseOutput.forDocument(response) : { file: values.output }
    if (values.output !== undefined) await ResponseOutput.write(response, values.output, signal)
    await journal.arrived()
    const { status, url } = response
    const headers = Object.fromEntries(response.headers)
    print({ url, status, headers, ...content, payment: documentOf(entry, journal), exit: ExitCode.numberOf(exit) })
    return ExitCode.numberOf(exit)
  }
  if (entry === undefined) screen.say(unpaidText(response))
  else if (process.stdout.isTTY && values.output === undefined) screen.say("")
  if (values.include === true) process.stdout.write(ResponseOutput.head(response))
  await ResponseOutput.write(response, values.output, signal)
  await journal.arrived()
  if (process.stdout.isTTY && values.output === undefined) process.stdout.write("\n")
  if (open !== undefined) sayPending(one, open)
  return ExitCode.numberOf(exit)
}

/** Writes a metered stream as it comes, and then what it cost. */
const finishStream = async (one: Run, response: Response, stream: FollowedStream): Promise<number> => {
  const { began, journal, screen, signal, values } = one
  const { headers, status, url } = response
  const isDocument = values.json === true
  if (values.include === true && !isDocument) process.stdout.write(ResponseOutput.head(response))
  const content = isDocument && values.output === undefined ? await ResponseOutput.forDocument(response) : undefined
  if (content === undefined) await ResponseOutput.write(response, values.output, signal)
  const end = await stream.ended
  const entry = journal.current()
  const exit = StreamText.exitOf(end)
  if (isDocument) {
    const payment = entry && { ...documentOf(entry, journal), stream: StreamText.documentOf(entry, stream, end) }
    const body = content ?? { file: values.output }
    print({ url, status, headers: Object.fromEntries(headers), ...body, payment, exit: ExitCode.numberOf(exit) })
    return ExitCode.numberOf(exit)
  }
  if (process.stdout.isTTY && values.output === undefined) process.stdout.write("\n")
  if (entry !== undefined) StreamText.show(screen, entry, stream, end, (performance.now() - began) / 1000)
  return ExitCode.numberOf(exit)
}

const unpaidText = ({ headers, status }: Response): string => {
  if (status === 402) return "402, and nothing was paid: the response is no payment request that pontage reads"
  if (status >= 300 && status < 400)
    return `${status}: redirected to ${headers.get("location") ?? "nowhere"}; -L follows`
  if (status === 503) return "503: the shop cannot serve or sell now, and its own log says why; nothing was paid"
  return `${status}, and nothing was asked for`
}

/** Ends a run that failed or was stopped, and says what may still happen to its money. */
const report = (one: Run, error: unknown): number => {
  const { journal, plan, screen, signal, values } = one
  const broken = journal.broken()
  const entry = broken ?? journal.current()
  const open = openOf(entry)
  const failure =
    PayFailure.of(error, plan.url, entry) ??
    (signal.aborted ? stopped(signal) : undefined) ??
    (broken && PayFailure.brokenOff(error, plan.url))
  if (failure === undefined && open === undefined) throw error
  const exit = open !== undefined ? "pending" : (failure?.exit ?? "failed")
  const message = failure?.message ?? (error instanceof Error ? error.message : String(error))
  if (values.json === true) {
    const { kind = "Stopped", rule } = failure ?? {}
    const document = { error: { kind, message, ...(rule !== undefined && { rule }) } }
    print({ ...document, payment: documentOf(entry, journal), exit: ExitCode.numberOf(exit) })
    return ExitCode.numberOf(exit)
  }
  process.stderr.write(`${Screen.message(message)}\n`)
  if (open !== undefined) sayPending(one, open)
  else if (entry?.topUp !== undefined) return ExitCode.numberOf(exit)
  else if (entry?.state === "refused") {
    screen.say("Until it expires, the same command sends the refused payment again, and signs no other one.")
  } else if (entry?.state === "settled" || entry?.state === "owed") {
    process.stderr.write(`The payment ${entry.paymentId ?? ""} of ${QuoteText.priceOf(entry)} was made.\n`)
    process.stderr.write(entry.state === "owed" ? owedText(entry) : endedText)
  }
  return ExitCode.numberOf(exit)
}

const owedText = ({ owedUntil = 0 }: JournalEntry): string =>
  `Its response has not arrived as a whole. Until ${new Date(owedUntil).toISOString()} the same command asks for it again with the same payment, and signs no other one.\n`

const endedText = "The shop gives nothing more for it: the same command buys anew, and asks before it pays.\n"

const stopped = (signal: AbortSignal): CommandFailed => {
  const message = signal.reason instanceof Error ? signal.reason.message : "stopped"
  return new CommandFailed({ exit: "interrupted", kind: "Stopped", message })
}

/** Told even by a quiet command: money may move. */
const sayPending = ({ screen }: Run, entry: JournalEntry): void => {
  if (entry.topUp !== undefined) {
    const what = screen.bold(`A top-up from ${entry.network} may be on its way: ${entry.paymentId ?? ""}.`)
    process.stderr.write(`${what}\nThe same command waits for it, and signs no other one.\n`)
    return
  }
  const until = new Date(entry.validBefore * 1000)
  const seconds = Math.max(0, Math.round((until.getTime() - Date.now()) / 1000))
  const rows = [
    screen.bold(`A payment of ${QuoteText.priceOf(entry)} to ${entry.host} may still go through.`),
    `  payment   ${entry.paymentId ?? ""}`,
    `  valid     ${seconds} s more, until ${until.toISOString()}`,
    "The same command sends this payment again, and signs no other one."
  ]
  process.stderr.write(`${rows.join("\n")}\n`)
}

const documentOf = (entry: JournalEntry | undefined, journal: WatchedJournal.WatchedJournal) => {
  if (entry === undefined || entry.state === "released") return null
  const { amount, asset, network, paymentId, payer, payTo, receipt, state, validBefore } = entry
  const explorer = receipt && PayerNetworks.explorerLink(receipt.network, receipt.transaction)
  return {
    id: paymentId,
    state,
    price: QuoteText.priceOf(entry),
    network,
    asset,
    amount,
    payTo,
    payer,
    ...(receipt !== undefined && { transaction: receipt.transaction }),
    ...(explorer !== undefined && { explorer }),
    ...(openStates.has(state) && { validBefore }),
    resumed: journal.isResumed()
  }
}

const print = (document: unknown): void => void process.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
