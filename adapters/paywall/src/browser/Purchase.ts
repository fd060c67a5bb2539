/** One attempt, from the click to its outcome: loads the family's script, connects the wallet, and pays. */
import { WalletError, type AnyWallet } from "@pontage/wallets"

import type { PageOption } from "../PageFacts.ts"
import type { KeptForm } from "./FormMemory.ts"
import * as Outcome from "./Outcome.ts"
import * as OwnForm from "./OwnForm.ts"
import { facts } from "./PageContext.ts"
import type * as Payment from "./Payment.ts"
import * as SentForm from "./SentForm.ts"
import * as TabLock from "./TabLock.ts"

/** The parts of an attempt: a wallet, an option of its family, and the progress. */
export interface Attempt {
  readonly wallet: AnyWallet
  readonly option: PageOption
  readonly isStored: boolean
  readonly onStage: (stage: Outcome.Stage) => void
}

/** Connects, and makes the scheme client; scripts load while the owner looks at the wallet. */
const connected = async ({ option, wallet }: Attempt) => {
  const { chain, network } = option
  const options = { manifestUrl: facts.manifestUrl, ...(chain && { chain }) }
  switch (wallet.family) {
    case "evm": {
      const [{ schemeFor }, { signer }] = await Promise.all([
        import("./families/EvmFamily.ts"),
        wallet.connect(network, options)
      ])
      return schemeFor(option, signer)
    }
    case "ton": {
      const [{ schemeFor }, { signer }] = await Promise.all([
        import("./families/TonFamily.ts"),
        wallet.connect(network, options)
      ])
      return schemeFor(option, signer)
    }
    case "tron": {
      const [{ schemeFor }, { signer }] = await Promise.all([
        import("./families/TronFamily.ts"),
        wallet.connect(network, options)
      ])
      return schemeFor(option, signer)
    }
  }
}

type Payments = typeof Payment

/** Keeps this page's form before anything is signed for it; `undefined` where there is none to keep, an outcome where it cannot be kept. */
const keptForm = async (
  { isStored }: Attempt,
  { isOpen }: Payments
): Promise<KeptForm | Outcome.Outcome | undefined> => {
  if (!isStored || OwnForm.own === undefined) return undefined
  const FormMemory = await import("./FormMemory.ts")
  const before = (await FormMemory.unfinished()).find((form) => SentForm.isSame(form, OwnForm.own))
  if (before !== undefined) return before
  try {
    const kept = await FormMemory.keep(OwnForm.own, isOpen)
    return "id" in kept ? kept : { kind: "notCharged", reason: "formsFull", detail: kept.addresses.join("\n") }
  } catch {
    return { kind: "notCharged", reason: "storage", detail: "" }
  }
}

/**
 * Forgets a form that is needed no more, and returns whether a payment for it is open. The journal is asked after a failure before
 * anything was sent, which says nothing about an earlier payment, and after a refusal: its signature may still be settled, so that the
 * same form gets no second one before that has expired.
 */
const release = async (
  form: KeptForm,
  outcome: Outcome.Outcome | undefined,
  { isOpen }: Payments
): Promise<boolean> => {
  const isUnsaid = outcome === undefined || outcome.kind === "notCharged"
  if (isUnsaid ? await isOpen(form) : !Outcome.isOver(outcome)) return true
  await (await import("./FormMemory.ts")).drop(form.id)
  return false
}

const attempt = async (given: Attempt): Promise<Outcome.Outcome> => {
  given.onStage("connect")
  try {
    const [payments, scheme] = await Promise.all([import("./Payment.ts"), connected(given)])
    const kept = await keptForm(given, payments)
    if (kept !== undefined && "kind" in kept) return kept
    given.onStage("sign")
    // The kept form, whose boundary may be another one: the journal knows its payment by its bytes.
    const outcome = await payments.buy(given.option, scheme, kept ?? OwnForm.own, given.isStored, given.onStage)
    const isOpen = kept !== undefined && (await release(kept, outcome, payments))
    const isUnsaid = isOpen && outcome.kind === "notCharged" && outcome.isRefused !== true
    return isUnsaid ? { kind: "pending", detail: outcome.detail } : outcome
  } catch (error) {
    return Outcome.ofFailure(error instanceof Error ? error : new WalletError("failed", String(error)), false)
  }
}

const elsewhere: Outcome.Outcome = { kind: "notCharged", reason: "otherTab", detail: "" }

/** Pays. Never rejects. */
export const pay = async (given: Attempt): Promise<Outcome.Outcome> =>
  (await TabLock.alone(TabLock.address(), () => attempt(given))) ?? elsewhere

/** Outcome of an earlier visit's payment; `form` is the one that it was for, if it was for one. */
export interface Resumed {
  readonly outcome: Outcome.Outcome
  readonly form: SentForm.SentForm | undefined
}

/**
 * Finishes what earlier visits left open: forms first, the oldest of them at first; `undefined` if they left nothing. `onSent` is called
 * when something is sent. The form of this page is not sent, unless it was paid for before.
 */
export const resume = async (onSent: () => void): Promise<Resumed | undefined> => {
  const [payments, FormMemory] = await Promise.all([import("./Payment.ts"), import("./FormMemory.ts")])
  return TabLock.alone(TabLock.address(), async () => {
    for (const form of await FormMemory.unfinished()) {
      // oxlint-disable-next-line no-await-in-loop -- one payment is finished after another
      const outcome = await payments.resume(form, onSent)
      // oxlint-disable-next-line no-await-in-loop -- one payment is finished after another
      await release(form, outcome, payments)
      // A refusal of another form was shown when it came: this page's form need not wait for it.
      const isTold = outcome?.kind === "notCharged" && OwnForm.own !== undefined && !SentForm.isSame(form, OwnForm.own)
      if (outcome !== undefined && !isTold) return { outcome, form }
    }
    const outcome = facts.form === undefined ? await payments.resume(undefined, onSent) : undefined
    return outcome && { outcome, form: undefined }
  })
}
