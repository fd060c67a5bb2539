/**
 * The purchases of a simulation: the buyer, the goods, the signed payments, and whether the buyer's responses are true.
 */
import { Settlement } from "@pontage/core"

import * as RecordWatch from "./RecordWatch.ts"
import type { SimulationGround } from "./SimulationGround.ts"
import type { Purchase, SimulationPlan } from "./SimulationPlan.ts"
import * as SimulatedBuyer from "./world/SimulatedBuyer.ts"
import type { SimulatedChain } from "./world/SimulatedChain.ts"
import type { SimulatedRecords } from "./world/SimulatedRecords.ts"
import type { SimulatedShop } from "./world/SimulatedShop.ts"
import * as Wire from "./world/Wire.ts"

/** The price of everything, in the smallest unit: a cent. */
const price = 10_000n

/** A purchase, and what became of it. */
export interface PurchaseStory extends Purchase {
  readonly name: string
  /** The authorizations that were signed for it, by the chain's names, and when their validity ends (Unix seconds). */
  readonly signed: Array<{ readonly key: string; readonly validBefore: number }>
  served: boolean
  /** The goods came when it had hung up. */
  missed: boolean
  /** It was refused for a payment that is not bound to its request, since a stranger had sent it: a reorganisation does not change that. */
  overheard: boolean
  /** Charges beyond the first whose money it got back: others may buy with the same account. */
  compensated: number
}

/** Where things are bought. */
export interface Market extends SimulationGround {
  readonly chain: SimulatedChain
  readonly records: SimulatedRecords
  readonly shops: ReadonlyArray<SimulatedShop>
  readonly purchases: Array<PurchaseStory>
  /** An answer that was owed without a claim has left its facilitator, or was taken by one that is dead. */
  readonly isAnswerGone: (paymentId: string) => boolean
  /** Promises were made: they are to end before the next step. */
  promised: boolean
}

/** A buyer begins a purchase. */
export const buy = (world: Market, purchase: Purchase): void => {
  const { chain, plan, purchases, shops, story, time } = world
  const name = `buyer-${purchases.length + 1}`
  const shop = shops[purchase.shop % shops.length]
  if (shop === undefined) return
  const one: PurchaseStory = {
    ...purchase,
    name,
    signed: [],
    served: false,
    missed: false,
    overheard: false,
    compensated: 0
  }
  purchases.push(one)
  if (!purchase.isPoor) chain.deposit(purchase.buyer, price)
  const process = world.startProcess(name)
  const payer = chain.payer(purchase.buyer)
  const target = `/goods/${purchases.length}`
  const options: SimulatedBuyer.Options = {
    process,
    time,
    weather: Wire.fair(plan.setup.callLatency),
    shop: () => shop,
    wallet: chain.client(purchase.buyer),
    target,
    validitySeconds: plan.setup.validitySeconds,
    copies: purchase.copies,
    patienceMillis: purchase.patienceMillis,
    terms: {
      scheme: "exact",
      network: chain.network,
      maxAmountRequired: `${price}`,
      resource: shop.origin + target,
      payTo: chain.payee,
      asset: (purchase.paysInSecond === true ? chain.assets[1] : undefined) ?? chain.assets[0]
    },
    promised: () => {
      world.promised = true
    },
    reports: {
      signed: (nonce, validBefore) => {
        // The count of a buyer shows that it was charged twice; the others of its account must still have their money. A transfer that a
        // reorganisation has taken back may come again.
        if (one.signed.some(({ key }) => chain.truth.wasEverShown(key))) {
          chain.deposit(purchase.buyer, price)
          one.compensated++
        }
        one.signed.push({ key: chain.keyOf({ payer, nonce }), validBefore })
        story.tell(() => `${name} (${purchase.kind}) signs ${nonce}`)
      },
      refused: (words) => judgeRefusal(world, one, words),
      unanswered: (words) => story.tell(() => `${name} has no answer: ${words}`),
      missed: () => {
        one.missed = true
        story.tell(() => `${name} has hung up, and misses the goods`)
      },
      served: () => {
        one.served = true
        story.tell(() => `${name} is served`)
      }
    }
  }
  story.tell(() => `${name} (${purchase.kind}) goes to ${shop.process.name}`)
  process.run(buying[purchase.kind](options))
}

const buying = {
  ours: SimulatedBuyer.withOurs,
  x402: SimulatedBuyer.withX402,
  unclaimed: SimulatedBuyer.withUnclaimed
}

/** A verdict about an honest payment is right only when its validity is as good as over, and its money has not moved. */
const judgeRefusal = (world: Market, one: PurchaseStory, words: string): void => {
  const { chain, story, time, violate } = world
  story.tell(() => `${one.name} is refused: ${words}`)
  const { key, validBefore } = one.signed.at(-1) ?? { key: "", validBefore: 0 }
  const transfer = chain.truth.transferOf(key)
  const wasOverheard = isUsed(words) && chain.truth.wasStrangers(key)
  if (one.kind !== "ours" && (transfer?.isStrangers === true || wasOverheard)) one.overheard = true
  if (isUsed(words) && isOpenAtStrangers(world, key)) {
    const told = `${one.name} is told before a stranger's transfer of its payment is final: ${words}`
    return violate({ invariant: "no-false-verdict", words: told })
  }
  if (wasOverheard && !isOnRecord(world, key)) return
  if (isExcused(world, one)) return
  if (words.includes("INSUFFICIENT_BALANCE") && compensate(world, one.buyer)) return
  const isLate = time.now() + lateMillis >= validBefore * 1000
  if (transfer !== undefined) {
    const told = `${one.name} has paid (block ${transfer.block.number}) and is told: ${words}`
    violate({ invariant: "no-false-verdict", words: told })
  } else if (!isLate) {
    violate({ invariant: "no-false-verdict", words: `${one.name} paid honestly and is told: ${words}` })
  }
}

/**
 * Gives an account back what a stranger took: it has settled a payment whose buyer was refused for its age and has paid with another
 * one. Returns whether there was anything to give back.
 */
const compensate = ({ chain, purchases }: Market, buyer: number): boolean => {
  let isDue = false
  for (const one of purchases.filter((other) => other.buyer === buyer)) {
    const charges = one.signed.flatMap(({ key }) => chain.truth.transferOf(key) ?? [])
    const due = charges.length - 1 - one.compensated
    if (due <= 0 || !charges.some(({ isStrangers }) => isStrangers)) continue
    chain.deposit(buyer, price * BigInt(due))
    one.compensated += due
    isDue = true
  }
  return isDue
}

const isOnRecord = ({ chain, records }: Pick<Market, "chain" | "records">, key: string): boolean =>
  RecordWatch.all(records).some(({ authorization }) => chain.keyOf(authorization) === key)

/** A stranger has sent the payment, and its facilitator sends it once more if a reorganisation takes that back. */
const isOpenAtStrangers = ({ chain, records }: Market, key: string): boolean =>
  RecordWatch.all(records).some(
    ({ authorization, refusal, status }) =>
      chain.keyOf(authorization) === key && refusal !== undefined && status !== "final" && !Settlement.isDead(status)
  )

/** The refusal says that the authorization was used. A node that is behind may still show a transfer that was taken back. */
const isUsed = (words: string): boolean => /already_used|third party|nonce (?:is used )?already/u.test(words)

/**
 * Whether this purchase may end unserved: who hangs up while the goods are on their way misses them; who shares an account with
 * one that brought no money may find none; who pays in an asset that is not taken any more, and has not paid; and where settling has a ceiling it may be reached. A server without claims is told an end once: where those words are lost on their way,
 * they are lost. And a payment that is not bound to its request opens nothing when a stranger has sent it; nor does one that
 * was overheard and sent before it was on record.
 */
export const isExcused = (
  { chain, isAnswerGone, plan, purchases, records }: Market,
  { buyer, kind, missed, overheard, paysInSecond, signed }: PurchaseStory
): boolean =>
  missed ||
  overheard ||
  (paysInSecond === true && isWithoutSecond(plan) && signed.every(({ key }) => !chain.truth.wasEverShown(key))) ||
  plan.setup.gasCeiling > 0 ||
  purchases.some((one) => one.buyer === buyer && one.isPoor) ||
  signed.some(({ key }) => {
    if (chain.truth.transferOf(key)?.isStrangers !== true) return false
    return kind !== "ours" || !isOnRecord({ chain, records }, key)
  }) ||
  (kind === "unclaimed" &&
    RecordWatch.all(records).some(
      ({ authorization, paymentId }) =>
        isAnswerGone(paymentId) && signed.some(({ key }) => key === chain.keyOf(authorization))
    ))

/** Some facilitator does not take the second asset any more. */
const isWithoutSecond = ({ acts }: SimulationPlan): boolean =>
  acts.some((act) => act._tag === "Configure" && act.assets === 1)

/** Lower limit of a remaining validity, which is also the largest difference of clocks, in milliseconds. */
const lateMillis = 15_000
