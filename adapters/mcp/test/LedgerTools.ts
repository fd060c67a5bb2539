/**
 * A shop of tools over a ledger in memory with a real facilitator, and payers that count their signatures, on a clock that
 * does not wait.
 */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { LocalFacilitator, type Seller, type SigningRequest } from "@pontage/core"
import { TestLedger, TestScheme } from "@pontage/core/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import { type PayingTools, type PayingToolsOptions, sellTools, type ToolShop } from "../src/index.ts"
import { make as makePaying } from "../src/PayingTools.ts"
import * as HurriedClock from "./HurriedClock.ts"

export const terms = { network: TestScheme.network, price: "$0.01", payTo: "acct-shop" } as const

/** The sole payer of these tests. */
export const payer = "acct-alice"

export interface LedgerTools {
  readonly shop: ToolShop
  readonly ledger: TestLedger.TestLedger
  readonly options: Seller.SellerOptions
}

export const make = (): LedgerTools => {
  const ledger = TestLedger.make()
  ledger.deposit(payer, 10n ** 9n)
  const options: Seller.SellerOptions = {
    origin: "https://shop.example",
    facilitator: LocalFacilitator.layerMemory({ schemes: [Effect.succeed(TestScheme.facilitator(ledger))] }),
    schemes: [TestScheme.server(ledger)],
    secret: "s".repeat(32)
  }
  return { ledger, options, shop: sellTools(options) }
}

export interface TestPayer {
  readonly tools: PayingTools
  readonly signed: ReadonlyArray<SigningRequest>
}

interface PayerOptions extends Partial<PayingToolsOptions> {
  /** Whether the server has its name, `shop`. Default `true`. */
  readonly isNamed?: boolean
  readonly clock?: Clock.Clock
}

/** Pays for the tools of a client. */
export const pay = (
  client: Client,
  { clock = HurriedClock.make(), isNamed = true, ...options }: PayerOptions = {}
): TestPayer => {
  const signed: Array<SigningRequest> = []
  const schemeClient = TestScheme.client(payer)
  const counting = {
    ...schemeClient,
    sign: (request: SigningRequest) => {
      signed.push(request)
      return schemeClient.sign(request)
    }
  }
  const paying = makePaying(client, { ...(isNamed && { server: "shop" }), schemes: [counting], ...options })
  return { signed, tools: Effect.runSync(Effect.provideService(paying, Clock.Clock, clock)) }
}

/** The reason of a rejected promise. */
export const rejection = async (promise: Promise<unknown>): Promise<Error & Readonly<Record<string, unknown>>> => {
  const outcome = await promise.then(
    () => undefined,
    (error: unknown) => error
  )
  if (!(outcome instanceof Error)) throw new Error("expected a rejection with an error")
  return outcome as Error & Readonly<Record<string, unknown>>
}
