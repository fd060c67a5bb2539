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
  /** To the form of this page, where the outcome is that of another one. */
  readonly next?: () => void
}

/** Shows an outcome. */
export const open = async (outcome: Outcome, option: PageOption | undefined, ways: Ways): Promise<void> => {
  switch (outcome.kind) {
    case "served": {
      const resource = await ResourceView.of(outcome.response)
      show(el("div", {}, receiptCard(outcome.receipt, option), resource, ...nextOf(ways)))
      return say(`${texts.paid}. ${texts.yours}.`)
    }
    case "notCharged": {
      const why = filled(texts[outcome.reason], { network: option?.networkName ?? "" })
      const detail = detailsOf(outcome.detail)
      return card("bad", texts.notCharged, why, ways, [button({}, ways.again, texts.again), ...detail])
    }
    case "pending": {
      const act = button({}, ways.check, texts.check)
      return card("warn", texts.pending, texts.pendingWhy, ways, [act, ...detailsOf(outcome.detail)])
    }
    case "used":
      return usedCard(outcome.url, ways)
    case "unserved":
      return unservedCard(outcome.response, ways)
  }
}

const card = (
  kind: string,
  title: string,
  why: string,
  ways: Ways,
  acts: ReadonlyArray<HTMLElement>,
  more: ReadonlyArray<HTMLElement> = []
): void => {
  const section = el("section", { class: `card ${kind}` }, heading(title), el("p", {}, why), ...acts)
  show(el("div", {}, section, ...more, ...nextOf(ways)))
  say(`${title}. ${why}`)
}

const detailsOf = (detail: string): ReadonlyArray<HTMLElement> =>
  detail === "" ? [] : [el("details", {}, el("summary", {}, texts.details), el("p", {}, detail))]

/** The way to the form of this page, below the outcome of another one. */
const nextOf = ({ next }: Ways): ReadonlyArray<HTMLElement> =>
  next === undefined
    ? []
    : [
        el(
          "section",
          { class: "block" },
          el("p", { class: "note" }, texts.formBefore),
          button({ class: "second" }, next, texts.formNext)
        )
      ]

/** A failure after the payment. A refusal says what is wrong with the request, which a person has to read. */
const unservedCard = async (response: Response, ways: Ways): Promise<void> => {
  const isRefused = response.status < 500
  const isFormRefused = isRefused && facts.form !== undefined
  const why = filled(isFormRefused ? texts.refusedForm : texts.unservedWhy, { status: `${response.status}` })
  const said = isRefused ? await ResourceView.shown(response, texts.answer) : undefined
  const act = isFormRefused ? button({}, () => history.back(), texts.back) : button({}, ways.check, texts.again)
  return card("warn", texts.unserved, why, ways, [act], said === undefined ? [] : [said])
}

/** A payment that was used. The page that the shop leads on to is of its own origin: the browser followed no other. */
const usedCard = (url: string | undefined, ways: Ways): void => {
  const link = url === undefined ? [] : [el("a", { class: "button", href: url }, texts.go)]
  return card(
    "good",
    url === undefined ? texts.used : texts.paid,
    url === undefined ? texts.usedWhy : texts.moved,
    ways,
    link
  )
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
