/** Everything that the views share: the facts of the page, and its texts with facts in place. */
import type { PageFacts, PageOption } from "../PageFacts.ts"
import { readFacts } from "./PageDom.ts"

const isFacts = (value: unknown): value is PageFacts =>
  typeof value === "object" && value !== null && "options" in value

const read = (): PageFacts => {
  const facts = readFacts()
  if (isFacts(facts)) return facts
  throw new Error("the page lacks its facts")
}

/** The facts; the server of this very page wrote them. */
export const facts: PageFacts = read()

/** The texts. */
export const { texts } = facts

/** A text with its facts in place. */
export const filled = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)

/** An amount with its token: `0.01 USDC`. */
export const amountOf = ({ symbol, tokens }: PageOption): string => `${tokens} ${symbol}`
