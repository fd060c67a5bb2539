/** Texts about the form of this page: that it is kept, or why it is not. Names in it are a stranger's, and stay text. */
import type { PageForm } from "../PageFacts.ts"
import { filled, texts } from "./PageContext.ts"
import { el, heading } from "./PageDom.ts"
import * as SentForm from "./SentForm.ts"

/** Limit on the files that are named, and on the characters of a name. */
const mostFiles = 5
const longestName = 60

const sizeOf = (bytes: number): string => (bytes < 1024 ? `${bytes} B` : `${Math.ceil(bytes / 1024)} KiB`)

const cut = (name: string): string => (name.length > longestName ? `${name.slice(0, longestName)}…` : name)

/** The number of fields, and the files, a line each. */
const linesOf = async (form: SentForm.SentForm): Promise<ReadonlyArray<HTMLElement>> => {
  const contents = await SentForm.contents(form)
  if (contents === undefined) return []
  const { fields, files } = contents
  const named = files
    .slice(0, mostFiles)
    .map(({ name, size }) => filled(texts.formFile, { name: cut(name), size: sizeOf(size) }))
  const lines = [filled(texts.formFields, { count: `${fields}` }), ...named, ...(files.length > mostFiles ? ["…"] : [])]
  return lines.map((line) => el("li", {}, line))
}

/** The note below the wallets. The counts come a moment later. */
export const kept = (form: SentForm.SentForm): HTMLElement => {
  const list = el("ul", {})
  void linesOf(form).then((lines) => list.append(...lines))
  return el("section", { class: "block form" }, el("p", {}, texts.form), list)
}

/** The card in place of the wallets. */
export const problem = ({ limit, problem: reason }: Extract<PageForm, { readonly problem: string }>): HTMLElement =>
  el(
    "section",
    { class: "card warn" },
    heading(texts.formProblem),
    el("p", {}, filled(texts[reason], { limit, host: location.host }))
  )
