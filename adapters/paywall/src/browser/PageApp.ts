/** The page's script: offers the wallets, pays, and shows what was bought. */
import { type AnyWallet, discover } from "@pontage/wallets"

import type { PageOption } from "../PageFacts.ts"
import * as BrowserStorage from "./BrowserStorage.ts"
import { ChoiceView } from "./ChoiceView.ts"
import type { Outcome } from "./Outcome.ts"
import * as OutcomeView from "./OutcomeView.ts"
import * as OwnForm from "./OwnForm.ts"
import { facts, texts } from "./PageContext.ts"
import * as ProgressView from "./ProgressView.ts"
import * as Purchase from "./Purchase.ts"
import * as RemoteWallet from "./RemoteWallet.ts"
import { isSame } from "./SentForm.ts"

const storing = BrowserStorage.isStored()

let isBusy = false

/** Does one thing at a time in this page: while it pays, another click changes nothing. */
const once = async (work: () => Promise<unknown>): Promise<void> => {
  if (isBusy) return
  isBusy = true
  try {
    await work()
  } finally {
    isBusy = false
  }
}

const pay = (wallet: AnyWallet, option: PageOption): Promise<void> =>
  once(async () => {
    const isStored = await storing
    // The outcome of an earlier payment came after the click, and is shown: its payer did not know of it.
    if (await looking) return
    const progress = ProgressView.open(isStored ? "" : texts.keepOpen)
    await end(await Purchase.pay({ wallet, option, isStored, onStage: progress.to }), wallet, option)
  })

const again = () => choice.open(true)

/** Shows an outcome. Where the payment stays good, the next attempt sends the same one. */
const end = (outcome: Outcome, wallet?: AnyWallet, option?: PageOption, isOfOtherForm = false): Promise<void> => {
  return OutcomeView.open(outcome, option, {
    again,
    check: () => void (wallet === undefined || option === undefined ? once(() => resume(true)) : pay(wallet, option)),
    ...(isOfOtherForm && { next: again })
  })
}

/**
 * Finishes what an earlier visit left open, and returns whether it shows an outcome. Its progress is shown once there is something to
 * send, or if the person asks for it.
 */
const resume = async (isAsked: boolean): Promise<boolean> => {
  if (isAsked) ProgressView.resuming()
  const resumed = await Purchase.resume(isAsked ? () => undefined : ProgressView.resuming)
  if (resumed !== undefined) {
    const isOther = facts.form !== undefined && resumed.form !== undefined && !isSame(resumed.form, OwnForm.own)
    await end(resumed.outcome, undefined, undefined, isOther)
    return true
  }
  if (isAsked) choice.open(true)
  return false
}

const choice = new ChoiceView((wallet, option) => void pay(wallet, option))
choice.open(false)
discover({ families: [...new Set(facts.options.map(({ family }) => family))], found: (wallet) => choice.add(wallet) })
for (const wallet of facts.options.some(({ family }) => family === "ton") ? facts.tonWallets : [])
  choice.add(RemoteWallet.of(wallet), false)
/** Whether the first look at what was left open shows an outcome; a click after it is a new one. */
let looking = BrowserStorage.hasJournal().then((has) => has && resume(false))
void looking.then(() => (looking = Promise.resolve(false)))
