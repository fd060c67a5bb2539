/** The page's script: offers the wallets, pays, and shows what was bought. */
import { type AnyWallet, discover } from "@pontage/wallets"

import type { PageOption } from "../PageFacts.ts"
import * as BrowserStorage from "./BrowserStorage.ts"
import { ChoiceView } from "./ChoiceView.ts"
import type { Outcome } from "./Outcome.ts"
import * as OutcomeView from "./OutcomeView.ts"
import { facts, texts } from "./PageContext.ts"
import * as ProgressView from "./ProgressView.ts"
import * as Purchase from "./Purchase.ts"
import * as RemoteWallet from "./RemoteWallet.ts"
import { isSame, own } from "./SentForm.ts"

const storing = BrowserStorage.isStored()

const pay = async (wallet: AnyWallet, option: PageOption): Promise<void> => {
  const isStored = await storing
  await looked
  const progress = ProgressView.open(isStored ? "" : texts.keepOpen)
  await end(await Purchase.pay({ wallet, option, isStored, onStage: progress.to }), wallet, option)
}

const again = () => choice.open(true)

/** Shows an outcome. Where the payment stays good, the next attempt sends the same one. */
const end = (outcome: Outcome, wallet?: AnyWallet, option?: PageOption, isOfOtherForm = false): Promise<void> => {
  return OutcomeView.open(outcome, option, {
    again,
    check: () => void (wallet === undefined || option === undefined ? resume(true) : pay(wallet, option)),
    ...(isOfOtherForm && { next: again })
  })
}

/** Finishes what an earlier visit left open. Its progress is shown once there is something to send, or if it is asked for. */
const resume = async (isAsked: boolean): Promise<void> => {
  if (isAsked) ProgressView.resuming()
  const resumed = await Purchase.resume(isAsked ? () => undefined : ProgressView.resuming)
  if (resumed !== undefined) {
    const isOther = facts.form !== undefined && resumed.form !== undefined && !isSame(resumed.form, own)
    return end(resumed.outcome, undefined, undefined, isOther)
  }
  if (isAsked) choice.open(true)
}

const choice = new ChoiceView((wallet, option) => void pay(wallet, option))
choice.open(false)
discover({ families: [...new Set(facts.options.map(({ family }) => family))], found: (wallet) => choice.add(wallet) })
for (const wallet of facts.options.some(({ family }) => family === "ton") ? facts.tonWallets : [])
  choice.add(RemoteWallet.of(wallet), false)
const looked = BrowserStorage.hasJournal().then((has) => (has ? resume(false) : undefined))
