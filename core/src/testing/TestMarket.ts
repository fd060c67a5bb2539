/**
 * A market in memory, for tests of one's own shop: a ledger, a real facilitator on it, the options of a shop that sells through
 * it, and a payer who owns money there. Nothing listens and nothing is waited for: a sale takes milliseconds.
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Result from "effect/Result"

import type { Facilitator } from "../facilitator/Facilitator.ts"
import * as LocalFacilitator from "../facilitator/local/LocalFacilitator.ts"
import * as OptionCheck from "../protocol/OptionCheck.ts"
import type { SchemeClient } from "../scheme/SchemeClient.ts"
import type { SchemeServer } from "../scheme/SchemeServer.ts"
import * as TestLedger from "./ledger/TestLedger.ts"
import * as TestScheme from "./ledger/TestScheme.ts"

/** Options of a market. */
export interface TestMarketOptions {
  /** The shop's public origin; default `https://shop.example`. A buyer that sends requests to it needs its real one. */
  readonly origin?: string
  /** The money of the payer, in the token's smallest unit; default 1,000 dollars. */
  readonly balance?: bigint
}

const check = OptionCheck.options<TestMarketOptions>({
  origin: OptionCheck.optional(OptionCheck.text),
  balance: OptionCheck.optional(OptionCheck.amount())
})

/** The options that a shop shares with its market. */
export interface TestMarketShop {
  readonly origin: string
  readonly secret: string
  readonly schemes: ReadonlyArray<SchemeServer>
  readonly facilitator: Layer.Layer<Facilitator, unknown>
}

/** A market. */
export interface TestMarket {
  /** For the shop: `paymentMiddleware({ ...market.shop, routes })`. */
  readonly shop: TestMarketShop
  /** For its routes: `{ ...market.terms, price: "$0.01" }`. */
  readonly terms: { readonly network: string; readonly payTo: string }
  /** For a buyer: `wrapFetch(fetch, market.payer)`. */
  readonly payer: {
    readonly schemes: readonly [SchemeClient]
    readonly limits: { readonly perRequest: string }
  }
  /** The money that the shop has earned, in the token's smallest unit: `10_000n` is one cent. */
  readonly earned: () => bigint
  /** The money that the payer has left. */
  readonly left: () => bigint
  /** The chain, with the faults of real ones on demand: `market.ledger.faults.down = true`. */
  readonly ledger: TestLedger.TestLedger
}

const payer = "acct-buyer"
const payTo = "acct-shop"

/** Opens a market. Throws `Misconfigured` for a mistake in the options. */
export const testMarket = (options: TestMarketOptions = {}): TestMarket => {
  const { balance = 1_000_000_000n, origin = "https://shop.example" } = Result.getOrThrow(
    OptionCheck.read(check, options, "testMarket")
  )
  const ledger = TestLedger.make()
  ledger.deposit(payer, balance)
  return {
    shop: {
      origin,
      secret: "the secret of a shop in a market in memory",
      schemes: [TestScheme.server(ledger)],
      facilitator: LocalFacilitator.layerMemory({
        schemes: [Effect.succeed(TestScheme.facilitator(ledger))],
        drainMillis: 0
      })
    },
    terms: { network: TestScheme.network, payTo },
    payer: { schemes: [TestScheme.client(payer)], limits: { perRequest: "$10" } },
    earned: () => ledger.balanceOf(payTo),
    left: () => ledger.balanceOf(payer),
    ledger
  }
}
