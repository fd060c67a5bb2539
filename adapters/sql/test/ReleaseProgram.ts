/**
 * The program that is packed for each release (`scripts/pack-release.ts`), to run beside later releases and before
 * them. It uses only store methods that every release has.
 * - `populate <database>`: makes payments in every state, and prints them.
 * - `work <database> <name> <first>`: claims payments that the other instances claim too, from this number on, and
 *   works the lanes, on a chain that includes every transaction; prints the results.
 */
import { LaneLeases, PaymentStore, refuse } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"

import { PostgresPaymentStore } from "../src/postgres.ts"
import { SqlitePaymentStore } from "../src/sqlite.ts"
import * as LaneTrial from "./LaneTrial.ts"
import * as TrialPayments from "./TrialPayments.ts"

type Store = PaymentStore.PaymentStore["Service"]

const [task = "", database = "", name = "", first = "0"] = process.argv.slice(2)
const { network, payment, prepared } = TrialPayments

const say = (line: unknown) =>
  Effect.sync(() =>
    process.stdout.write(
      `${JSON.stringify(line, (_, value: unknown) => (typeof value === "bigint" ? `${value}` : value))}\n`
    )
  )

/** A payment in the state that this path leads to, in a lane of its own. */
const populated = Effect.fnUntraced(function* (
  store: Store,
  id: string,
  way: ReadonlyArray<PaymentStore.StateChange["to"]>
) {
  const lane = `${network} lane of ${id}`
  const lease = { lane, epoch: 1, isValid: () => true }
  const paymentId = `pay_${id}`
  yield* store.claim({ ...payment(id), caller: "shop", notify: true }, { id: "claim", resource: "report" }, { lane })
  yield* store.openLane(lease, 5n)
  if (way.length === 0) return
  yield* store.plan(lease, [{ number: 5n, prepared: prepared(5n), paymentIds: [paymentId] }])
  let from: PaymentStore.StateChange["from"] = ["planned"]
  for (const to of way) {
    if (to === "planned") continue
    const inclusion = { transaction: "transaction 5", block: { number: 9n, hash: "block 9" }, cost: 7n }
    const { block, transaction } = inclusion
    yield* store.record(lease, {
      changes: [
        {
          paymentId,
          from,
          to,
          note: `to ${to}`,
          ...(to === "included" && { transaction, block }),
          ...(to === "failed" && { refusal: refuse("EXPIRED_PAYMENT", "a trial", "a trial") })
        }
      ],
      ...(to === "included" && { transaction: { number: 5n, inclusion } }),
      ...((to === "final" || to === "failed") && { transaction: { number: 5n, closed: true as const } })
    })
    from = [to]
  }
})

const populate = Effect.fnUntraced(function* (store: Store) {
  yield* store.claim(payment("unwanted"), undefined)
  yield* store.claim(payment("held"), { id: "claim", resource: "report" })
  yield* store.claim(payment("released"), { id: "claim", resource: "report" })
  yield* store.finish("pay_released", "claim", "failed")
  yield* populated(store, "queued", [])
  yield* populated(store, "planned", ["planned"])
  yield* populated(store, "sent", ["planned", "sent"])
  yield* populated(store, "replaced", ["planned", "sent"])
  yield* store.replace({ lane: `${network} lane of replaced`, epoch: 1, isValid: () => true }, 5n, {
    ...prepared(5n),
    transaction: "transaction 5 once more",
    fees: { maximum: 2n ** 70n, priority: 3n }
  })
  yield* populated(store, "included", ["planned", "sent", "included"])
  yield* populated(store, "final", ["planned", "sent", "included", "final"])
  yield* store.finish("pay_final", "claim", "served")
  yield* populated(store, "failed", ["planned", "sent", "failed"])
  yield* populated(store, "back", ["planned", "sent", "accepted"])
  for (const one of yield* store.page(0n, 100)) yield* say(one)
})

const again = <A, E>(effect: Effect.Effect<A, E>) => Effect.orDie(Effect.retry(effect, Schedule.spaced(20)))

const claims = Effect.fnUntraced(function* (store: Store) {
  for (let count = Number(first); ; count++) {
    const one = payment(`shared-${count}`)
    const claim = { id: `claim of ${name}`, resource: "report" }
    const lane = LaneTrial.lanes[count % LaneTrial.lanes.length]
    const result = yield* again(
      Effect.tapError(store.claim(one, claim, { lane }), ({ message }) => say({ fault: message, by: name }))
    )
    const execution = result._tag === "Claimed" ? result.execution : result._tag
    if (execution === "granted") {
      const settled = Effect.flatMap(store.find(one.paymentId), (found) =>
        found?.status === "included" ? Effect.void : Effect.fail("not yet")
      )
      yield* again(settled)
      yield* again(store.finish(one.paymentId, claim.id, "served"))
    }
    yield* say({ claimed: one.paymentId, count, execution, by: name })
  }
})

const program = Effect.gen(function* () {
  const store = yield* PaymentStore.PaymentStore
  if (task === "populate") return yield* populate(store)
  const leases = yield* LaneLeases.LaneLeases
  yield* say({ open: name })
  const work = leases.work(LaneTrial.lanes, (lease) =>
    Effect.matchEffect(
      LaneTrial.worked(store, lease, (line) => say({ ...line, by: name })),
      {
        onFailure: (error) => say({ left: lease.lane, why: error._tag, by: name }),
        onSuccess: () => Effect.void
      }
    )
  )
  return yield* Effect.raceFirst(work, claims(store))
})

const stop = new AbortController()
process.once("SIGTERM", () => stop.abort())
const layer = database.startsWith("postgres://")
  ? PostgresPaymentStore.layer({
      url: Redacted.make(database),
      connections: 3,
      leases: { ttl: "3 seconds", tick: "500 millis" }
    })
  : SqlitePaymentStore.layer({ filename: database })
await Effect.runPromise(
  Effect.provide(program, layer).pipe(
    Effect.catch((error) => say({ ended: error._tag, message: error.message, by: name }))
  ),
  { signal: stop.signal }
).catch((error: unknown) =>
  process.stdout.write(`${JSON.stringify({ stopped: name, why: String(error).slice(0, 200) })}\n`)
)
