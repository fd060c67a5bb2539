/** The options of a shop over a ledger in memory, with a real facilitator in its process, for the tests of hosts. */
import { Binding, LocalFacilitator, PaymentPayload, AsciiJson, type Seller } from "@pontage/core"
import { TestLedger, TestScheme } from "@pontage/core/testing"
import * as Effect from "effect/Effect"

export const payee = "acct-shop"

export const open = () => {
  const ledger = TestLedger.make()
  const options: Seller.SellerOptions = {
    origin: "https://shop.example",
    secret: "s".repeat(32),
    schemes: [TestScheme.server(ledger)],
    facilitator: LocalFacilitator.layerMemory({ schemes: [Effect.succeed(TestScheme.facilitator(ledger))] })
  }
  const terms = { network: TestScheme.network, price: "$0.01", payTo: payee } as const
  return { ledger, options, terms, transfers: () => ledger.balanceOf(payee) / 10_000n }
}

/** The header that pays the first offer of a refusal's body, bound to its request. */
export const payFor = (payer: string, body: string): Promise<Readonly<Record<string, string>>> => {
  const { accepts } = JSON.parse(body)
  return Effect.runPromise(
    Effect.gen(function* () {
      const { payload } = yield* TestScheme.client(payer).sign({
        requirements: accepts[0],
        asset: TestScheme.asset,
        validAfter: 0,
        validBefore: Math.floor(Date.now() / 1000) + 60,
        binding: yield* Binding.make(accepts[0].extra.challenge)
      })
      return { "x-payment": AsciiJson.encode(PaymentPayload.sealPayload("exact", TestScheme.network, payload)) }
    })
  )
}
