/** `pontage journal`: the payments of this person, newest first. It only reads, also while another command pays. */
import { createReadStream, existsSync } from "node:fs"
import { createInterface } from "node:readline"

import { ChannelEntry, JournalEntry, PaymentJournal } from "@pontage/core"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import { misused } from "../CommandFailed.ts"
import * as CommandLine from "../CommandLine.ts"
import * as ExitCode from "../ExitCode.ts"
import * as QuoteText from "../terminal/QuoteText.ts"
import * as SafeText from "../terminal/SafeText.ts"
import * as WalletFolder from "../wallet/WalletFolder.ts"

/** The options. */
export const table = {
  json: { help: "Print each payment as one line of JSON" },
  open: { help: "Those alone that may still move money, or whose answer is still owed" }
} as const satisfies CommandLine.OptionTable

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(JournalEntry))

/** The last state of each entry, oldest first. A line that is being written at this moment is left out. */
const read = async (path: string): Promise<ReadonlyArray<JournalEntry>> => {
  const latest = new Map<string, JournalEntry>()
  if (!existsSync(path)) return []
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    const entry = Option.getOrUndefined(decode(line))
    const standing = entry && PaymentJournal.merged(latest.get(entry.id), entry)
    if (standing !== undefined && !ChannelEntry.isChannel(standing)) latest.set(standing.id, standing)
  }
  return [...latest.values()]
}

const meanings: Readonly<Record<JournalEntry["state"], string>> = {
  reserved: "reserved",
  pending: "not known yet: the same command sends it again",
  refused: "refused by the shop; the same command sends it again until it expires",
  owed: "paid; the shop owes its answer: the same command asks for it",
  settled: "paid",
  released: "not paid"
}

const open: ReadonlySet<string> = new Set(["pending", "refused", "owed"])

/** Shows the journal. */
export const run = async (args: ReadonlyArray<string>): Promise<number> => {
  const { values, words } = CommandLine.read(table, args)
  if (words.length > 0) throw misused("pontage journal takes options alone")
  const path = WalletFolder.journalPath()
  const all = await read(path)
  const entries = all.filter(({ state }) => values.open !== true || open.has(state)).toReversed()
  if (values.json !== true && entries.length === 0) process.stderr.write(`No payment in ${path}.\n`)
  for (const entry of entries) {
    // The headers are the payment itself, which could be sent by whoever reads them.
    const { headers: _, ...told } = entry
    process.stdout.write(values.json === true ? `${JSON.stringify(told)}\n` : `${linesOf(entry).join("\n")}\n`)
  }
  return ExitCode.numberOf("done")
}

const linesOf = (entry: JournalEntry): ReadonlyArray<string> => {
  const at = new Date(entry.at).toISOString().slice(0, 19).replace("T", " ")
  return [
    `${at}  ${QuoteText.priceOf(entry).padEnd(9)} ${meanings[entry.state]}`,
    `  ${entry.method} ${SafeText.line(entry.url, 200)}`,
    `  ${entry.paymentId ?? ""} on ${entry.network}`,
    ...(entry.receipt === undefined ? [] : [`  ${SafeText.line(entry.receipt.transaction)}`])
  ]
}
