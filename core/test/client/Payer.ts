import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import type { PayableRequest } from "../../src/client/PayableRequest.ts"
import * as PaymentClient from "../../src/client/PaymentClient.ts"
import * as PaymentJournal from "../../src/client/PaymentJournal.ts"
/**
 * A payer for tests: a client over a journal in memory and a wallet that counts its signatures.
 */
import * as ClientSchemeRegistry from "../../src/scheme/ClientSchemeRegistry.ts"
import * as Shop from "./Shop.ts"
import * as Wallet from "./Wallet.ts"

/** The clock's time when a payer is made, in milliseconds. */
export const start = 1_000_000

export const make = Effect.fnUntraced(function* (
  options: PaymentClient.Options = {},
  wallets: Wallet.Wallet | readonly [Wallet.Wallet, ...ReadonlyArray<Wallet.Wallet>] = Wallet.make(),
  journal: PaymentJournal.PaymentJournal["Service"] = PaymentJournal.make(PaymentJournal.memoryLog())
) {
  yield* TestClock.setTime(start)
  const [wallet, ...others] = "signed" in wallets ? [wallets] : wallets
  const client = yield* PaymentClient.make(options).pipe(
    Effect.provide(ClientSchemeRegistry.layer([wallet, ...others].map(({ schemeClient }) => schemeClient))),
    Effect.provideService(PaymentJournal.PaymentJournal, journal)
  )
  const spent = Effect.map(journal.spent, (spent) => spent("$").digits)
  return { client, journal, wallet, spent }
})

export type Payer = Effect.Success<ReturnType<typeof make>>

export const buy = ({ client }: Payer, request: PayableRequest, refusal = Shop.refusal(402)) =>
  Effect.flatMap(demand(client, refusal), (demanded) => client.pay(request, demanded))

/** The demand of a refusal; a refusal without one is a defect. */
export const demand = (client: PaymentClient.PaymentClient["Service"], refusal: Response) =>
  Effect.flatMap(client.demandOf(refusal), (demanded) =>
    demanded === undefined ? Effect.die(new Error("expected a payment request")) : Effect.succeed(demanded)
  )

export const buyText = (payer: Payer, request: PayableRequest, refusal = Shop.refusal(402)) =>
  Effect.flatMap(buy(payer, request, refusal), (response) => Effect.promise(() => response.text()))

/** The failure of the effect; success is a defect. */
export const failure = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.flatMap(Effect.result(effect), (result) =>
    Result.isFailure(result) ? Effect.succeed(result.failure) : Effect.die(new Error("expected a failure"))
  )

/** Lets every wait of the effect pass. */
export const waitingOut = Effect.fnUntraced(function* <A, E>(effect: Effect.Effect<A, E>) {
  const fiber = yield* Effect.forkChild(effect)
  yield* TestClock.adjust("10 minutes")
  return yield* Fiber.join(fiber)
})
