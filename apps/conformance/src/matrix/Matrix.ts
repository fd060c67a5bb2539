/**
 * Every buyer at every shop at every facilitator. A cell is a purchase that has to come off, except where a rule says why it
 * cannot; what then happens instead is part of the rule, so that a peer that changes its ways is noticed.
 */
import { isDeepStrictEqual } from "node:util"

import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { initialBalance } from "@pontage/devnet/BaseSepoliaChain"

import * as Goods from "../shops/Goods.ts"
import type { Cell, Sight } from "./CellTrial.ts"
import type { Sells } from "./Market.ts"
import {
  buyerNames,
  buyers,
  facilitatorNames,
  facilitators,
  shopNames,
  shops,
  type BuyerName,
  type FacilitatorName,
  type ShopName
} from "./Parties.ts"

/** Why some cells cannot work, and what is seen in them instead. */
export interface Rule {
  readonly buyers?: ReadonlyArray<BuyerName>
  readonly shops?: ReadonlyArray<ShopName>
  readonly facilitators?: ReadonlyArray<FacilitatorName>
  readonly because: string
  /** Matches the status, or "none", and the text that the buyer got or threw. */
  readonly shows: RegExp
}

const ours: ReadonlyArray<ShopName> = ["koa", "nest"]
const twos: ReadonlyArray<ShopName> = ["peer", "hono", "t402Scheme"]

/** The first that fits a cell holds. */
export const rules: ReadonlyArray<Rule> = [
  {
    shops: ours,
    facilitators: ["t402"],
    because: `${facilitators.t402.title} lists its kinds under t402Version, and our shops sell nothing`,
    shows: /^503 .*not_ready/
  },
  {
    shops: twos,
    facilitators: ["legacy"],
    because: `${facilitators.legacy.title} knows version 1 alone, ${shops.peer.title} version 2 alone: it does not open`,
    shows: /does not open.*Facilitator does not support scheme "exact" on network "eip155:84532"/s
  },
  {
    shops: twos,
    facilitators: ["t402"],
    because: `${facilitators.t402.title} lists its kinds under t402Version, and ${shops.peer.title} does not open`,
    shows: /does not open.*no supported payment kinds/s
  },
  {
    shops: ["t402"],
    facilitators: facilitatorNames.filter((name) => name !== "t402"),
    because: `${shops.t402.title} looks for kinds under t402Version, finds none, and does not open`,
    shows: /does not open.*Facilitator does not support scheme "exact" on network "eip155:84532"/s
  },
  {
    buyers: ["t402"],
    shops: shopNames.filter((name) => name !== "t402"),
    because: `${buyers.t402.title} looks for t402Version in a refusal that says x402Version, and throws`,
    shows: /^none Error: (No client registered for t402 version: undefined|Invalid payment required response)/
  },
  {
    buyers: ["legacy"],
    shops: [...twos, "t402"],
    because: `${buyers.legacy.title} reads the options from the body, where version 2 (${shops.peer.title}) has none, and throws`,
    shows: /^none TypeError: Cannot read properties of undefined \(reading 'map'\)/
  },
  {
    buyers: ["peer", "t402Scheme"],
    shops: ["t402"],
    because: `${buyers.peer.title} looks for x402Version in a refusal that says t402Version, and throws`,
    shows: /^none Error: Failed to create payment payload: No client registered for x402 version: undefined/
  },
  {
    buyers: ["ours"],
    shops: ["t402"],
    because: `a refusal that says t402Version (${shops.t402.title}) is none that our client can read`,
    shows: /^none ValidationError: the server's refusal is not a payment request/
  },
  {
    shops: ["legacy"],
    facilitators: ["t402"],
    because: `${facilitators.t402.title} looks for t402Version in a payment that says x402Version, and responds with 500`,
    shows: /^(402 |none SettlementPending: ).*Failed to verify payment: 500/
  }
]

/** All the cells, facilitator by facilitator. */
export const cells: ReadonlyArray<Cell> = facilitatorNames.flatMap((facilitator) =>
  shopNames.flatMap((shop) => buyerNames.map((buyer) => ({ buyer, shop, facilitator })))
)

const fits = <Name>(names: ReadonlyArray<Name> | undefined, name: Name) => names === undefined || names.includes(name)

/** The rule of a cell that cannot work. */
export const ruleOf = ({ buyer, facilitator, shop }: Cell): Rule | undefined =>
  rules.find((rule) => fits(rule.buyers, buyer) && fits(rule.shops, shop) && fits(rule.facilitators, facilitator))

/** Whether a shop sells to anybody with a facilitator. */
export const sells: Sells = (shop, facilitator) =>
  rules.every((rule) => rule.buyers !== undefined || !fits(rule.shops, shop) || !fits(rule.facilitators, facilitator))

/** The expected observation in a cell. A purchase shows in its response, its handler and its chain, and all three count. */
export interface Expected {
  readonly answer: RegExp
  readonly facts: Facts
}

/** The counts of a purchase. */
export interface Facts {
  readonly runs: number
  readonly transfers: ReadonlyArray<{ readonly to: string; readonly value: bigint }>
  readonly balance: bigint
  /** Whether the receipt names the one transaction that moved the money; without a receipt, whether nothing moved. */
  readonly receipted: boolean
}

/** The expected observation in a cell. */
export const expected = (cell: Cell, payTo: string): Expected => {
  const rule = ruleOf(cell)
  if (rule !== undefined) {
    return { answer: rule.shows, facts: { runs: 0, transfers: [], balance: initialBalance, receipted: true } }
  }
  return {
    answer: new RegExp(`^200 ${escaped(JSON.stringify({ report: Goods.text }))}$`),
    facts: {
      runs: 1,
      transfers: [{ to: payTo, value: BaseSepolia.amount }],
      balance: initialBalance - BaseSepolia.amount,
      receipted: true
    }
  }
}

const escaped = (text: string): string => text.replaceAll(/[{}.()]/g, String.raw`\$&`)

/** The response in one line, as rules look at it. */
export const answerOf = ({ status, text }: Pick<Sight, "status" | "text">): string => `${status ?? "none"} ${text}`

/** The counts of an observation. */
export const factsOf = ({ balance, receipt, runs, transfers }: Sight): Facts => ({
  runs,
  transfers: transfers.map(({ to, value }) => ({ to, value })),
  balance,
  receipted: receipt === transfers[0]?.transaction
})

/** Whether everything that was seen is as it should be. */
export const isMet = ({ answer, facts }: Expected, sight: Sight): boolean =>
  answer.test(answerOf(sight)) && isDeepStrictEqual(factsOf(sight), facts)
