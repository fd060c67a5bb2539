/** Pays with the product's own client: one journal for all tabs, the limits of this one offer, and the typed failures. */
import type { SchemeClient } from "@pontage/core"
import { settlementOf, wrapFetch, type FetchFunction, type PayingFetchOptions } from "@pontage/fetch"
import { indexedDbJournal } from "@pontage/fetch/browser"

import type { PageOption } from "../PageFacts.ts"
import * as Outcome from "./Outcome.ts"

/** Milliseconds after which a sent payment counts as one that waits for the chain, for the eye alone. */
const untilWaiting = 1_200

/** The journal of this origin; none where the browser stores nothing. */
const journalOf = (isStored: boolean): Pick<PayingFetchOptions, "journal"> =>
  isStored ? { journal: indexedDbJournal() } : {}

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

/**
 * A `fetch` that says when a payment leaves. It goes around the browser's cache, in which a request waits for an earlier one of the same
 * address that got no response.
 */
const watched = (onStage: (stage: Outcome.Stage) => void): FetchFunction => {
  let isWaiting = false
  const wait = () => {
    isWaiting = true
    onStage("wait")
  }
  return async (input, init) => {
    const direct: RequestInit = { ...init, cache: "no-store" }
    if (!new Headers(init?.headers).has("X-Payment")) return fetch(input, direct)
    if (!isWaiting) onStage("send")
    const timer = setTimeout(wait, untilWaiting)
    try {
      const response = await fetch(input, direct)
      // The outcome is not known yet: the client sends the same payment again.
      if (response.status === 503) wait()
      return response
    } finally {
      clearTimeout(timer)
    }
  }
}

const outcomeOf = (response: Response): Outcome.Outcome => {
  const receipt = settlementOf(response)
  if (response.ok) return { kind: "served", response, receipt }
  if (receipt !== undefined) return { kind: "unserved", status: response.status }
  const detail = `${response.status} ${response.statusText}`
  return { kind: "notCharged", reason: "connection", detail }
}

/** Pays for this page's address by one option. Never rejects. */
export const buy = async (
  option: PageOption,
  scheme: SchemeClient,
  isStored: boolean,
  onStage: (stage: Outcome.Stage) => void
): Promise<Outcome.Outcome> => {
  let isSent = false
  const staged = (stage: Outcome.Stage) => {
    isSent ||= stage === "send"
    onStage(stage)
  }
  try {
    const paying = wrapFetch(watched(staged), {
      schemes: [scheme],
      limits: limitsOf(option),
      allow: { networks: [option.network], payees: [option.payTo] },
      choose: (quotes) =>
        quotes.find(({ amount, requirements }) => `${amount}` === option.amount && requirements.payTo === option.payTo),
      ...journalOf(isStored)
    })
    return outcomeOf(await paying(location.href, { headers: { Accept: "*/*" } }))
  } catch (error) {
    return Outcome.ofFailure(error, isSent)
  }
}

/** Finishes what an earlier visit left open; `undefined` if it left nothing. Signs nothing. Calls `onSent` once. Never rejects. */
export const resume = async (onSent: () => void): Promise<Outcome.Outcome | undefined> => {
  let isSent = false
  const onStage = () => {
    if (!isSent) onSent()
    isSent = true
  }
  try {
    const paying = wrapFetch(watched(onStage), { schemes: [payingNothing], ...journalOf(true) })
    const response = await paying(location.href, { headers: { Accept: "*/*" } })
    return isSent ? outcomeOf(response) : undefined
  } catch (error) {
    return isSent ? Outcome.ofFailure(error, true) : undefined
  }
}
