/** A buyer's purchases through a payment channel, at a shop and a node that play the responses they are given. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as ChannelPurchase from "../../src/client/ChannelPurchase.ts"
import type { PurchasingClient } from "../../src/client/OwnPurchase.ts"
import type { ChannelSigner, ChannelStanding, DrawRequest } from "../../src/scheme/ChannelSigner.ts"
import { buy, buyText, demand, failure } from "./Payer.ts"
import * as Payer from "./Payer.ts"
import * as Shop from "./Shop.ts"
import * as Wallet from "./Wallet.ts"

/** The first refusal of a request, with its price. */
const priced = (price: bigint) => Shop.refusal(402, { accepts: [Wallet.offer({ maxAmountRequired: `${price}` })] })

/** A payer through one channel; its node says what `node.standing` is at the time, and `drawn` holds what it has signed. */
const payerOf = Effect.fnUntraced(function* (standing: Omit<ChannelStanding, "isClosing">) {
  const node = { standing }
  const drawn: Array<Pick<DrawRequest, "ceiling" | "deposit">> = []
  const signer: ChannelSigner = {
    channelOf: () => ({ id: "0xa", terms: {}, withdrawDelay: 900, leastDeposit: 0n, wantedDeposit: 0n }),
    read: () => Effect.sync(() => ({ ...node.standing, isClosing: false })),
    sign: ({ ceiling, deposit }) =>
      Effect.sync(() => {
        drawn.push({ ceiling, deposit })
        return { payer: Shop.receipt.payer, payload: { ceiling: `${ceiling}` }, deposit: deposit && {} }
      }),
    signRefund: ({ charged }) =>
      Effect.sync(() => {
        drawn.push({ ceiling: charged, deposit: undefined })
        return { payer: Shop.receipt.payer, payload: { refund: `${charged}` }, deposit: undefined }
      }),
    chargeOf: () => undefined,
    correctionOf: () => undefined
  }
  const schemeClient: PurchasingClient = { ...Wallet.make().schemeClient, purchase: ChannelPurchase.make(signer) }
  const payer = yield* Payer.make({ limits: { perChannel: "$5" } }, { schemeClient, signed: [] })
  return { ...payer, node, drawn, ceilings: () => drawn.map(({ ceiling }) => ceiling) }
})

describe("a node that shows claims which the payer has not signed for", () => {
  const lie = { balance: 1_000_000n, claimed: 1_000_000n }

  it.effect("gets neither a deposit nor a voucher nor a refund signed", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf({ balance: 100n, claimed: 0n })
      const shop = Shop.make(Shop.paid())
      assert.strictEqual(yield* buyText(payer, shop.request(), priced(100n)), "the report")
      payer.node.standing = lie
      const declined = yield* failure(buy(payer, shop.request(), priced(10n)))
      assert.deepInclude(declined, { _tag: "PaymentDeclined", rule: "terms_unsupported" })
      const demanded = yield* demand(payer.client, priced(10n))
      assert.deepInclude(yield* failure(payer.client.refund(shop.request(), demanded)), { _tag: "PaymentDeclined" })
      assert.deepStrictEqual(payer.drawn, [{ ceiling: 100n, deposit: undefined }])
      const [book] = [...(yield* payer.journal.channels).values()]
      assert.deepInclude(book, { balance: "100", claimed: "0", charged: "100", signed: "100" })
    })
  )

  it.effect("is followed where the journal does not know the channel", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf({ balance: 1000n, claimed: 500n })
      assert.strictEqual(yield* buyText(payer, Shop.make(Shop.paid()).request(), priced(100n)), "the report")
      assert.deepStrictEqual(payer.ceilings(), [600n])
    })
  )
})
