/** One attempt, from the click to its outcome: loads the family's script, connects the wallet, and pays. */
import { WalletError, type AnyWallet } from "@pontage/wallets"

import type { PageOption } from "../PageFacts.ts"
import * as Outcome from "./Outcome.ts"
import { facts } from "./PageContext.ts"
import * as SentForm from "./SentForm.ts"

/** The parts of an attempt: a wallet, an option of its family, and the progress. */
export interface Attempt {
  readonly wallet: AnyWallet
  readonly option: PageOption
  readonly isStored: boolean
  readonly onStage: (stage: Outcome.Stage) => void
}

/** The lock that a tab holds while it pays for an address. */
const lockName = () => `pontage-page ${location.href}`

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

/** Keeps this page's form before anything is signed for it; `undefined` where there is none to keep. */
const keptForm = async ({ isStored }: Attempt): Promise<number | "failed" | undefined> => {
  if (!isStored || SentForm.own === undefined) return undefined
  const FormMemory = await import("./FormMemory.ts")
  const before = (await FormMemory.unfinished()).find((form) => SentForm.isSame(form, SentForm.own))
  return before?.id ?? FormMemory.keep(SentForm.own).catch(() => "failed" as const)
}

const attempt = async (given: Attempt): Promise<Outcome.Outcome> => {
  given.onStage("connect")
  try {
    const [{ buy }, scheme] = await Promise.all([import("./Payment.ts"), connected(given)])
    const kept = await keptForm(given)
    if (kept === "failed") return { kind: "notCharged", reason: "storage", detail: "" }
    given.onStage("sign")
    const outcome = await buy(given.option, scheme, SentForm.own, given.isStored, given.onStage)
    if (kept !== undefined && Outcome.isOver(outcome)) await (await import("./FormMemory.ts")).drop(kept)
    return outcome
  } catch (error) {
    return Outcome.ofFailure(error instanceof Error ? error : new WalletError("failed", String(error)), false)
  }
}

const elsewhere: Outcome.Outcome = { kind: "notCharged", reason: "otherTab", detail: "" }

/** Alone among the tabs of this address, where the browser can tell. */
const alone = async (work: () => Promise<Outcome.Outcome>): Promise<Outcome.Outcome> => {
  const { locks }: { readonly locks?: LockManager } = navigator
  if (locks === undefined) return work()
  return locks.request(lockName(), { ifAvailable: true }, (lock) => (lock === null ? elsewhere : work()))
}

/** Pays. Never rejects. */
export const pay = (given: Attempt): Promise<Outcome.Outcome> => alone(() => attempt(given))

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
  const [{ resume: resumeEarlier }, FormMemory] = await Promise.all([import("./Payment.ts"), import("./FormMemory.ts")])
  let resumed: Resumed | undefined
  await alone(async () => {
    for (const form of await FormMemory.unfinished()) {
      // oxlint-disable-next-line no-await-in-loop -- one payment is finished after another
      const outcome = await resumeEarlier(form, onSent)
      // oxlint-disable-next-line no-await-in-loop -- one payment is finished after another
      if (outcome === undefined || Outcome.isOver(outcome)) await FormMemory.drop(form.id)
      if (outcome !== undefined) {
        resumed = { outcome, form }
        return elsewhere
      }
    }
    const outcome = facts.form === undefined ? await resumeEarlier(undefined, onSent) : undefined
    if (outcome !== undefined) resumed = { outcome, form: undefined }
    return elsewhere
  })
  return resumed
}
