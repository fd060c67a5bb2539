/**
 * Works lanes: while it holds one it prints an act, if its lease is valid, and raises the lane's number, whether its
 * lease is valid or not. The number's millions are the lease's epoch.
 */
import { LaneLeases, PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

import { PostgresPaymentStore } from "../src/postgres.ts"

const [url = "", lanes = "", ttl = "", tick = ""] = process.argv.slice(2)

const say = (text: string) => Effect.sync(() => void process.stdout.write(`${text}\n`))

const holder = Effect.gen(function* () {
  const store = yield* PaymentStore.PaymentStore
  const leases = yield* LaneLeases.LaneLeases
  yield* leases.work(lanes.split(","), (lease) => {
    let number = 1_000_000n * BigInt(lease.epoch)
    const beat = Effect.gen(function* () {
      yield* Effect.sleep(20)
      if (lease.isValid()) yield* say(`act ${lease.lane} ${lease.epoch}`)
      yield* Effect.matchEffect(store.skipTo(lease, ++number), {
        onFailure: (error) => say(`refused ${lease.lane} ${lease.epoch} ${error._tag}`),
        onSuccess: () => say(`wrote ${lease.lane} ${lease.epoch}`)
      })
    })
    // The worst of workers: it completes everything it has begun, even after an interruption.
    return Effect.ensuring(
      Effect.forever(Effect.andThen(Effect.uninterruptible(beat), Effect.yieldNow)),
      say(`ended ${lease.lane} ${lease.epoch}`)
    )
  })
})

const stop = new AbortController()
process.once("SIGTERM", () => stop.abort())
await Effect.runPromise(
  Effect.provide(
    holder,
    PostgresPaymentStore.layer({
      url: Redacted.make(url),
      leases: { ttl: Number(ttl), tick: Number(tick) }
    })
  ),
  { signal: stop.signal }
).catch(() => {})
