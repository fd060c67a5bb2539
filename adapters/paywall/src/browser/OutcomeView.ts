/** The end of an attempt: a receipt and the resource, or whether money moved and what to do. */
import type { Settlement } from "@pontage/core"

import type { PageOption } from "../PageFacts.ts"
import type { Outcome } from "./Outcome.ts"
import { amountOf, facts, filled, texts } from "./PageContext.ts"
import { button, el, heading, say, show } from "./PageDom.ts"
import * as ResourceView from "./ResourceView.ts"

/** Ways on from an end that is not the good one. */
export interface Ways {
  /** Back to the choice of wallets. */
  readonly again: () => void
  /** The same payment once more. */
  readonly check: () => void
}

/** Shows an outcome. */
export const open = async (outcome: Outcome, option: PageOption | undefined, ways: Ways): Promise<void> => {
  switch (outcome.kind) {
    case "served": {
      const resource = await ResourceView.of(outcome.response)
      show(el("div", {}, receiptCard(outcome.receipt, option), resource))
      return say(`${texts.paid}. ${texts.yours}.`)
    }
    case "notCharged": {
      const why = filled(texts[outcome.reason], { network: option?.networkName ?? "" })
      return card("bad", texts.notCharged, why, outcome.detail, button({}, ways.again, texts.again))
    }
    case "pending":
      return card("warn", texts.pending, texts.pendingWhy, outcome.detail, button({}, ways.check, texts.check))
    case "unserved": {
      const why = filled(texts.unservedWhy, { status: `${outcome.status}` })
      return card("warn", texts.unserved, why, "", button({}, ways.check, texts.again))
    }
  }
}

const card = (kind: string, title: string, why: string, detail: string, act: HTMLElement): void => {
  const more = detail === "" ? [] : [el("details", {}, el("summary", {}, texts.details), el("p", {}, detail))]
  show(el("section", { class: `card ${kind}` }, heading(title), el("p", {}, why), act, ...more))
  say(`${title}. ${why}`)
}

const receiptCard = (receipt: Settlement.Receipt | undefined, chosen: PageOption | undefined): HTMLElement => {
  const option = chosen ?? facts.options.find(({ network }) => network === receipt?.network)
  const rows: ReadonlyArray<readonly [string, string | Node]> = [
    [texts.amount, option === undefined ? facts.price : amountOf(option)],
    [texts.network, option?.networkName ?? receipt?.network ?? ""],
    [texts.payer, receipt?.payer ?? ""],
    [texts.transaction, receipt === undefined ? "" : transactionOf(receipt.transaction, option?.explorer ?? "")]
  ]
  const list = rows.flatMap(([name, value]) => (value === "" ? [] : [el("dt", {}, name), el("dd", {}, value)]))
  return el(
    "section",
    { class: "card good" },
    heading(texts.paid),
    el("dl", { class: "receipt", "aria-label": texts.receipt }, ...list)
  )
}

const transactionOf = (transaction: string, explorer: string): string | Node => {
  if (explorer === "" || transaction === "") return transaction
  const href = explorer.replace("{tx}", () => encodeURIComponent(transaction))
  return el(
    "a",
    { href, rel: "noopener noreferrer", target: "_blank" },
    transaction,
    el("span", { class: "away" }, ` (${texts.explorer})`)
  )
}
