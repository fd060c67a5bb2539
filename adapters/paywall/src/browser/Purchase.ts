/** One attempt, from the click to its outcome: loads the family's script, connects the wallet, and pays. */
import { WalletError, type AnyWallet } from "@pontage/wallets"

import type { PageOption } from "../PageFacts.ts"
import * as Outcome from "./Outcome.ts"
import { facts } from "./PageContext.ts"

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

const attempt = async (given: Attempt): Promise<Outcome.Outcome> => {
  given.onStage("connect")
  try {
    const [{ buy }, scheme] = await Promise.all([import("./Payment.ts"), connected(given)])
    given.onStage("sign")
    return await buy(given.option, scheme, given.isStored, given.onStage)
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

/** Finishes what an earlier visit left open; `undefined` if it left nothing. `onSent` is called when something is sent. */
export const resume = async (onSent: () => void): Promise<Outcome.Outcome | undefined> => {
  const { resume: resumeEarlier } = await import("./Payment.ts")
  let outcome: Outcome.Outcome | undefined
  await alone(async () => {
    outcome = await resumeEarlier(onSent)
    return elsewhere
  })
  return outcome
}
