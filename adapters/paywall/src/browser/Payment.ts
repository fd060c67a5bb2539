/** Pays with the product's own client: one journal for all tabs, the limits of this one offer, and the typed failures. */
import type { SchemeClient } from "@pontage/core"
import * as PaymentJournal from "@pontage/core/PaymentJournal"
import { settlementOf, wrapFetch, type FetchFunction, type PayingFetchOptions } from "@pontage/fetch"
import { indexedDbJournal } from "@pontage/fetch/browser"

import type { PageOption } from "../PageFacts.ts"
import type { KeptForm } from "./FormMemory.ts"
import * as Outcome from "./Outcome.ts"
import { requestOf, type SentForm } from "./SentForm.ts"

/** Milliseconds after which a sent payment counts as one that waits for the chain, for the eye alone. */
const untilWaiting = 1_200

/** The journal of this page alone, where the browser stores nothing: its next attempt sends the same payment. */
const inMemory = PaymentJournal.make(PaymentJournal.memoryLog())

/** The journal of this origin. */
const journalOf = (isStored: boolean): Pick<PayingFetchOptions, "journal"> => ({
  journal: isStored ? indexedDbJournal() : inMemory
})

/** Pays nothing: it finds what an earlier visit left open. */
const payingNothing: SchemeClient = {
  scheme: { name: "none", family: "none", network: () => undefined, address: () => undefined },
  network: undefined,
  asset: () => undefined,
  sign: () => {
    throw new Error("this client signs nothing")
  }
}

/** The limits that let exactly this option pass. */
const limitsOf = ({ amount, asset, dollar, tokens }: PageOption): NonNullable<PayingFetchOptions["limits"]> =>
  dollar ? { perRequest: `$${tokens}` } : { assets: { [asset]: amount } }

/** Facts about the way to the shop. */
interface Trail {
  isSent: boolean
  /** The address that the shop led on to, in response to the payment. */
  movedTo?: string
}

/**
 * A `fetch` that says when a payment leaves. It goes around the browser's cache, in which a request waits for an earlier one of the same
 * address that got no response. A shop that leads on to another page, as many do after a form, puts its receipt where no script can read
 * it: the payment is sent once more, and the shop says that it was used.
 */
const watched = (trail: Trail, onStage: (stage: Outcome.Stage) => void): FetchFunction => {
  let isWaiting = false
  const wait = () => {
    isWaiting = true
    onStage("wait")
  }
  return async (input, init) => {
    const direct: RequestInit = { ...init, cache: "no-store" }
    if (!new Headers(init?.headers).has("X-Payment")) return fetch(input, direct)
    trail.isSent = true
    if (!isWaiting) onStage("send")
    const timer = setTimeout(wait, untilWaiting)
    try {
      const response = await fetch(input, { ...direct, redirect: "follow" })
      // The outcome is not known yet: the client sends the same payment again.
      if (response.status === 503) wait()
      if (!response.redirected) return response
      trail.movedTo = response.url
      throw new Error(`the shop leads on to ${response.url}`)
    } finally {
      clearTimeout(timer)
    }
  }
}

const outcomeOf = (response: Response): Outcome.Outcome => {
  const receipt = settlementOf(response)
  if (response.ok) return { kind: "served", response, receipt }
  if (receipt !== undefined) return { kind: "unserved", response }
  const detail = `${response.status} ${response.statusText}`
  return { kind: "notCharged", reason: "connection", detail }
}

/** Pays for this page's address, or for a form sent to it, by one option. Never rejects. */
export const buy = async (
  option: PageOption,
  scheme: SchemeClient,
  form: SentForm | undefined,
  isStored: boolean,
  onStage: (stage: Outcome.Stage) => void
): Promise<Outcome.Outcome> => {
  const trail: Trail = { isSent: false }
  try {
    const paying = wrapFetch(watched(trail, onStage), {
      schemes: [scheme],
      limits: limitsOf(option),
      allow: { networks: [option.network], payees: [option.payTo] },
      choose: (quotes) =>
        quotes.find(({ amount, requirements }) => `${amount}` === option.amount && requirements.payTo === option.payTo),
      ...journalOf(isStored)
    })
    return outcomeOf(await paying(location.href, requestOf(form)))
  } catch (error) {
    return Outcome.ofFailure(error, trail.isSent, trail.movedTo)
  }
}

/**
 * Finishes what an earlier visit left open, for the address or a form; `undefined` if it left nothing. Signs nothing. Calls `onSent` once.
 * Never rejects.
 */
export const resume = async (form: SentForm | undefined, onSent: () => void): Promise<Outcome.Outcome | undefined> => {
  const trail: Trail = { isSent: false }
  let isSaid = false
  const onStage = () => {
    if (!isSaid) onSent()
    isSaid = true
  }
  try {
    const paying = wrapFetch(watched(trail, onStage), { schemes: [payingNothing], ...journalOf(true) })
    const response = await paying(location.href, requestOf(form))
    return trail.isSent ? outcomeOf(response) : undefined
  } catch (error) {
    return trail.isSent ? Outcome.ofFailure(error, true, trail.movedTo) : undefined
  }
}

/** Whether a payment for a kept form is under way or owed, by the journal of this origin; `true` if the journal cannot be read. */
export const isOpen = (form: KeptForm): Promise<boolean> =>
  wrapFetch(fetch, { schemes: [payingNothing], ...journalOf(true) })
    .isOpen(form.address, requestOf(form))
    .catch(() => true)
