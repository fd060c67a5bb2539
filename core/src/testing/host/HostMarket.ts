/**
 * A market in memory for the host laws: a ledger, a real facilitator on it, the options of a shop that sells through it,
 * and one buyer. It notes how executions ended, and can hold a settlement up.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

import { type ExecutionEnd, Facilitator } from "../../facilitator/Facilitator.ts"
import * as Binding from "../../protocol/Binding.ts"
import { sealPayload } from "../../protocol/PaymentPayload.ts"
import { PaymentRequired } from "../../protocol/PaymentRequired.ts"
import type { SellerOptions } from "../../server/Seller.ts"
import * as AsciiJson from "../../wire/http/AsciiJson.ts"
import type { ReceiptSigner } from "../../wire/pontage/TypedStatement.ts"
import { LawBroken } from "../Law.ts"
import type * as TestLedger from "../ledger/TestLedger.ts"
import * as TestScheme from "../ledger/TestScheme.ts"
import { testMarket } from "../TestMarket.ts"
import type { HostAnswer } from "./NodeWire.ts"

const payer = "acct-buyer"

/** One option at one price, for a route. */
export const terms = { network: TestScheme.network, payTo: "acct-shop", price: "$0.01" } as const

/** The market. */
export interface HostMarket {
  readonly shop: SellerOptions
  readonly ledger: TestLedger.TestLedger
  /** The next end of an execution that a host reports. */
  readonly nextEnd: () => Promise<ExecutionEnd>
  /** The number of transfers so far. */
  readonly transfers: () => number
  /** Waited for before anything is settled; a law may replace it. */
  pause: () => Promise<void>
  /** The header that pays for the offer of a refusal. */
  readonly pay: (refusal: HostAnswer) => Promise<Readonly<Record<string, string>>>
}

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(PaymentRequired))

/** Opens a market. */
export const open = (): HostMarket => {
  const { ledger, shop } = testMarket()
  const ends = makeEnds()
  const watched = Layer.effect(
    Facilitator,
    Effect.map(Facilitator, (real) =>
      Facilitator.of({
        ...real,
        settle: (request, claim) =>
          Effect.andThen(
            Effect.promise(() => market.pause()),
            real.settle(request, claim)
          ),
        finish: (paymentId, claimId, outcome) =>
          Effect.tap(real.finish(paymentId, claimId, outcome), () => Effect.sync(() => ends.push(outcome)))
      })
    )
  )
  const market: HostMarket = {
    ledger,
    shop: { ...shop, receipts: signer, facilitator: Layer.provide(watched, shop.facilitator) },
    nextEnd: ends.next,
    transfers: () => ledger.transfers.length,
    pause: () => Promise.resolve(),
    pay: (refusal) => Effect.runPromise(pay(refusal))
  }
  return market
}

/** A signer whose signatures have the form of one; hosts verify none. */
const signer: ReceiptSigner = {
  address: "0x1111111111111111111111111111111111111111",
  signTypedData: () => Promise.resolve(`0x${"ab".repeat(65)}`)
}

/** The ends of executions; each is taken once. */
const makeEnds = () => {
  const ends: Array<ExecutionEnd> = []
  const waiters: Array<(end: ExecutionEnd) => void> = []
  return {
    push: (end: ExecutionEnd) => {
      const waiter = waiters.shift()
      if (waiter === undefined) ends.push(end)
      else waiter(end)
    },
    next: (): Promise<ExecutionEnd> => {
      const end = ends.shift()
      return end === undefined ? new Promise((resolve) => waiters.push(resolve)) : Promise.resolve(end)
    }
  }
}

const pay = Effect.fnUntraced(function* ({ body, status }: HostAnswer) {
  if (status !== 402)
    return yield* Effect.fail(new LawBroken({ message: `expected a 402 with offers, got ${status} ${body}` }))
  const [offer] = decode(body).accepts
  const challenge = offer?.extra?.["challenge"]
  if (offer === undefined || typeof challenge !== "string") {
    return yield* Effect.fail(new LawBroken({ message: `expected an offer with a challenge, got ${body}` }))
  }
  const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
  const { payload } = yield* TestScheme.client(payer).sign({
    requirements: offer,
    asset: TestScheme.asset,
    validAfter: 0,
    validBefore: Math.floor(now / 1000) + 60,
    binding: yield* Binding.make(challenge)
  })
  return { "x-payment": AsciiJson.encode(sealPayload("exact", TestScheme.network, payload)) }
})
