/** The choice of a network and a wallet. Wallets appear as they are found, without moving what is already there. */
import type { AnyWallet } from "@pontage/wallets"

import type { PageOption } from "../PageFacts.ts"
import * as FormView from "./FormView.ts"
import * as OwnForm from "./OwnForm.ts"
import { amountOf, facts, filled, texts } from "./PageContext.ts"
import { button, el, heading, show } from "./PageDom.ts"

/** Makes the choice. */
export type Choose = (wallet: AnyWallet, option: PageOption) => void

/** The view: wallets are added to it as they are found. */
export class ChoiceView {
  readonly #choose: Choose
  readonly #list = el("div", { class: "wallets" })
  readonly #note = el("p", { class: "note", role: "status" })
  readonly #wallets: Array<AnyWallet> = []
  readonly #radios: ReadonlyArray<HTMLInputElement>
  /** Families with a wallet in this browser. */
  readonly #families = new Set<PageOption["family"]>()
  #selected = 0
  #isTouched = false

  constructor(choose: Choose) {
    this.#choose = choose
    this.#radios = facts.options.map((_, index) => this.#radio(index))
  }

  /** Shows the view; `focused` unless the page has just loaded. */
  open(focused: boolean): void {
    if (OwnForm.problem !== undefined) return show(FormView.problem(OwnForm.problem), focused)
    const labels = facts.options.map((option, index) => labelOf(option, this.#radios[index]))
    const networks = el(
      "fieldset",
      { class: "block" },
      el("legend", {}, texts.chooseNetwork),
      el("div", { class: "networks" }, ...labels)
    )
    const wallets = el("section", { class: "block" }, heading(texts.wallets), this.#list, this.#note)
    this.#render()
    const form = OwnForm.own === undefined ? [] : [FormView.kept(OwnForm.own)]
    show(el("div", {}, ...(labels.length > 1 ? [networks] : []), wallets, ...form), focused)
  }

  /**
   * Adds a wallet. Before a person has chosen, a network with a wallet in this browser is selected rather than one without; a wallet on
   * another device, which is not known to be there, selects none.
   */
  add(wallet: AnyWallet, isHere = true): void {
    this.#wallets.push(wallet)
    if (isHere) this.#families.add(wallet.family)
    const first = facts.options.findIndex(({ family }) => this.#families.has(family))
    if (!this.#isTouched && first !== -1) this.#select(first)
    else this.#render()
  }

  #walletsOf(family: PageOption["family"]): ReadonlyArray<AnyWallet> {
    return this.#wallets.filter((wallet) => wallet.family === family)
  }

  #radio(index: number): HTMLInputElement {
    const radio = el("input", { type: "radio", name: "network", value: `${index}`, checked: index === 0 })
    radio.addEventListener("change", () => {
      this.#isTouched = true
      this.#select(index)
    })
    return radio
  }

  #select(index: number): void {
    this.#selected = index
    const radio = this.#radios[index]
    if (radio !== undefined) radio.checked = true
    this.#render()
  }

  #render(): void {
    const option = facts.options[this.#selected]
    const found = option === undefined ? [] : this.#walletsOf(option.family)
    this.#list.replaceChildren(...(option === undefined ? [] : found.map((wallet) => this.#button(wallet, option))))
    this.#note.textContent =
      found.length === 0
        ? filled(texts.noWallet, { network: option?.networkName ?? "" })
        : option?.family === "tron"
          ? texts.payerFee
          : ""
  }

  #button(wallet: AnyWallet, option: PageOption): HTMLElement {
    const { features, icon, name } = wallet
    if (!features.includes("sign"))
      return button({ disabled: true }, () => undefined, filled(texts.cannotSign, { wallet: name }))
    const image = icon === undefined ? [] : [el("img", { src: icon, alt: "" })]
    const label = filled(texts.payWith, { amount: amountOf(option), wallet: name })
    return button({}, () => this.#choose(wallet, option), ...image, el("span", {}, label))
  }
}

const labelOf = ({ networkName, symbol, tokens }: PageOption, radio: HTMLInputElement | undefined): HTMLElement =>
  el(
    "label",
    {},
    ...(radio === undefined ? [] : [radio]),
    el("span", {}, networkName),
    el("span", {}, `${tokens} ${symbol}`)
  )
