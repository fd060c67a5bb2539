/** Claims payments in a file without end, and prints each once the store has answered. */
import { PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"

import { SqlitePaymentStore } from "../src/sqlite.ts"
import * as TrialPayments from "./TrialPayments.ts"

const [filename = "", prefix = ""] = process.argv.slice(2)

const claimant = Effect.gen(function* () {
  const store = yield* PaymentStore.PaymentStore
  process.stdout.write("open\n")
  for (let count = 0; ; count++) {
    const batch = Array.from({ length: 5 }, (_, index) => TrialPayments.payment(`${prefix}-${count}-${index}`))
    yield* Effect.forEach(
      batch,
      (payment) =>
        Effect.map(store.claim(payment, { id: "claim", resource: "report" }), () =>
          process.stdout.write(`answered ${payment.paymentId}\n`)
        ),
      { concurrency: "unbounded" }
    )
  }
})

await Effect.runPromise(
  Effect.provide(claimant, SqlitePaymentStore.layer({ filename })).pipe(
    Effect.catch((error) => Effect.sync(() => process.stdout.write(`${error._tag}: ${error.message}\n`)))
  )
)
