/** The steps of a payment, the present one marked for the eye and said for the ear. */
import type * as Outcome from "./Outcome.ts"
import { texts } from "./PageContext.ts"
import { el, heading, say, show } from "./PageDom.ts"

const stages: ReadonlyArray<Outcome.Stage> = ["connect", "sign", "send", "wait"]

/** A view whose step can be moved. */
export interface ProgressView {
  readonly to: (stage: Outcome.Stage) => void
}

/** Shows the steps; once the payment waits for the chain, also that it must not be made again. */
export const open = (note = ""): ProgressView => {
  const items = stages.map((stage) => el("li", {}, el("i", { "aria-hidden": "true" }), el("span", {}, texts[stage])))
  const list = el("ol", { class: "steps", "aria-label": texts.steps }, ...items)
  const said = el("p", { class: "note" }, note)
  show(el("section", {}, heading(texts.steps), list, said))
  return {
    to: (stage) => {
      const at = stages.indexOf(stage)
      items.forEach((item, index) => {
        item.className = index < at ? "done" : index === at ? "now" : ""
        if (index === at) item.setAttribute("aria-current", "step")
        else item.removeAttribute("aria-current")
      })
      if (stage === "wait") said.textContent = note === "" ? `${texts.pending}. ${texts.pendingWhy}` : note
      say(texts[stage])
    }
  }
}

/** The view while an earlier payment is finished. */
export const resuming = (): void => {
  open(texts.resuming).to("wait")
  say(texts.resuming)
}
