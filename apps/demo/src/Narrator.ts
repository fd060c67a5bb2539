/** The demonstration's output for a person: headings, and rows of a name and texts, in lines that fit a terminal. */
import { styleText } from "node:util"

import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

import type { Purchase } from "./Purchase.ts"

/** Told what happens, as it happens. */
export interface Narrator {
  /** A heading, with an empty line above it. */
  readonly heading: (text: string) => Effect.Effect<void>
  /** A row: a name, a text, and notes to it, each on a line of its own. */
  readonly row: (name: string, text: string, ...notes: ReadonlyArray<string>) => Effect.Effect<void>
  /** A purchase that was made, on one line. */
  readonly bought: (purchase: Purchase) => Effect.Effect<void>
}

const nameWidth = 7

/** Plain text where the output is no terminal, or `NO_COLOR` is set. */
const styled = (style: "bold" | "dim", text: string) => styleText(style, text, { stream: process.stdout })

/** Lines for a person. */
export const forPeople: Narrator = {
  heading: (text) => Console.log(`\n${styled("bold", text)}`),
  row: (name, first, ...notes) =>
    Console.log([rowOf(name, first), ...notes.map((note) => rowOf("", styled("dim", note)))].join("\n")),
  bought: (purchase) => Console.log(purchaseLine(purchase))
}

/** One line of JSON for each purchase, and nothing else. */
export const forPrograms: Narrator = {
  heading: () => Effect.void,
  row: () => Effect.void,
  bought: (purchase) => Console.log(JSON.stringify(purchase))
}

const rowOf = (name: string, text: string): string => `  ${name.padEnd(nameWidth)} ${text}`

const purchaseLine = ({
  amount,
  buyer,
  delivery,
  milliseconds,
  network,
  shop,
  stream,
  transaction
}: Purchase): string =>
  rowOf(
    shop,
    [
      dollars(amount),
      network.padEnd("eip155:31337".length),
      `${milliseconds} ms`.padStart("1234 ms".length),
      shortened(transaction),
      stream === undefined ? (delivery === undefined ? buyer : arrivalOf(delivery)) : unitsOf(stream)
    ].join("  ")
  )

const arrivalOf = ({ amount, fee, network, transaction }: NonNullable<Purchase["delivery"]>): string =>
  `→ ${dollars(amount)} (fee ${dollars(fee)})  ${network}  ${shortened(transaction)}`

const unitsOf = ({ signed, unit, units }: NonNullable<Purchase["stream"]>): string =>
  `${units} ${unit}s, ${dollars(signed)} signed for`

/** The ends of a transaction's hash; `--json` prints it whole. */
const shortened = (hash: string) => `${hash.slice(0, 10)}…${hash.slice(-8)}`

const dollars = (amount: string) => {
  const digits = amount.padStart(7, "0")
  return `$${digits.slice(0, -6)}.${digits.slice(-6).replace(/0{1,4}$/, "")}`
}
