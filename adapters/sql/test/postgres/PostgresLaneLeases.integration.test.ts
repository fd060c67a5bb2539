import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import { type LaneLeases } from "@pontage/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"

import { PostgresServer } from "../../src/testing/index.ts"
import * as ChildProcess from "../ChildProcess.ts"
import * as PostgresServers from "../PostgresServers.ts"

const { database, instance } = PostgresServers

/** Short, so that a takeover takes a second. */
const leases = { ttl: 900, tick: 250 } as const

type Holding = ReadonlyMap<string, LaneLeases.Lease>
type Leases = LaneLeases.LaneLeases["Service"]

/** Works lanes and reports the ones it holds at any time. */
const working = Effect.fnUntraced(function* (service: Leases, lanes: ReadonlyArray<string>, of?: "orphaned") {
  const holding = yield* SubscriptionRef.make<Holding>(new Map())
  const fiber = yield* Effect.forkScoped(
    service.work(
      lanes,
      (lease) =>
        Effect.ensuring(
          Effect.andThen(
            SubscriptionRef.update(holding, (before) => new Map(before).set(lease.lane, lease)),
            Effect.never
          ),
          SubscriptionRef.update(holding, (before) => {
            const after = new Map(before)
            after.delete(lease.lane)
            return after
          })
        ),
      of
    )
  )
  const until = (wanted: (holding: Holding) => boolean) =>
    Effect.flatMap(Stream.runHead(Stream.filter(SubscriptionRef.changes(holding), wanted)), Effect.fromOption)
  return { until, now: SubscriptionRef.get(holding), stop: Fiber.interrupt(fiber) }
})

const lanesOf = (count: number) => Array.from({ length: count }, (_, index) => `test:sql signer-${index}`)

layer(PostgresServer.layer, { timeout: 900_000, excludeTestServices: true })("leases on PostgreSQL", (it) => {
  it.effect("are shared fairly, and every lane has one holder", () =>
    Effect.gen(function* () {
      const url = yield* database
      const lanes = lanesOf(8)
      const [a, b, c] = yield* Effect.all([
        instance(url, { leases }),
        instance(url, { leases }),
        instance(url, { leases })
      ])
      const first = yield* working(a.leases, lanes)
      yield* first.until(({ size }) => size === 8)
      const second = yield* working(b.leases, lanes)
      yield* Effect.all([first.until(({ size }) => size === 4), second.until(({ size }) => size === 4)])
      const third = yield* working(c.leases, lanes)
      yield* third.until(({ size }) => size >= 2)
      yield* Effect.all([first, second].map(({ until }) => until(({ size }) => size <= 3)))
      const held = (yield* Effect.all([first.now, second.now, third.now])).flatMap((holding) =>
        Array.from(holding.keys())
      )
      assert.strictEqual(new Set(held).size, held.length)
    })
  )

  it.effect("pass on at once when their holder stops, under a higher epoch", () =>
    Effect.gen(function* () {
      const url = yield* database
      // A lease long enough that only the release at the stop explains the handover.
      const patient = { ttl: "1 hour", tick: "10 minutes" } as const
      const [a, b] = yield* Effect.all([instance(url, { leases: patient }), instance(url, { leases: patient })])
      const [lane = ""] = lanesOf(1)
      const first = yield* working(a.leases, [lane])
      const before = yield* first.until(({ size }) => size === 1)
      const second = yield* working(b.leases, [lane])
      yield* first.stop
      const after = yield* second.until(({ size }) => size === 1)
      assert.isAbove(after.get(lane)?.epoch ?? 0, before.get(lane)?.epoch ?? Infinity)
      assert.isFalse(before.get(lane)?.isValid())
      assert.isTrue(after.get(lane)?.isValid())
    })
  )

  it.effect("are lost by a holder that is killed, to whoever is there", () =>
    Effect.gen(function* () {
      const url = yield* database
      const [lane = ""] = lanesOf(1)
      const owner = yield* ChildProcess.run("LaneHolder.ts", Redacted.value(url), lane, "900", "250")
      yield* owner.line(`wrote ${lane} 1`)
      const other = yield* working((yield* instance(url, { leases })).leases, [lane])
      yield* owner.signal("SIGKILL")
      const holding = yield* other.until(({ size }) => size === 1)
      assert.strictEqual(holding.get(lane)?.epoch, 2)
    })
  )

  it.effect("pass on at once when their holder is killed: the database has seen its sessions end", () =>
    Effect.gen(function* () {
      const url = yield* database
      const lanes = lanesOf(2)
      const hour = 3_600_000
      const owner = yield* ChildProcess.run("LaneHolder.ts", Redacted.value(url), lanes.join(","), `${hour}`, "250")
      yield* Effect.forEach(lanes, (lane) => owner.line(`wrote ${lane} 1`), { concurrency: "unbounded" })
      yield* owner.signal("SIGKILL")
      const next = yield* instance(url, { leases: { ttl: hour, tick: 250 } })
      const other = yield* working(next.leases, lanes)
      // All of them: a dead instance has no share.
      const holding = yield* other.until(({ size }) => size === 2)
      assert.deepStrictEqual(
        Array.from(holding.values(), ({ epoch }) => epoch),
        [2, 2]
      )
    })
  )

  it.effect("a holder that was frozen does nothing more once it wakes, and writes nothing", () =>
    Effect.gen(function* () {
      const url = yield* database
      const lanes = lanesOf(4)
      const { leases: service } = yield* instance(url, { leases })
      const sql = yield* Effect.provide(PgClient.makeClient({ url }), Reactivity.layer)
      const owner = yield* ChildProcess.run("LaneHolder.ts", Redacted.value(url), lanes.join(","), "900", "250")
      yield* Effect.forEach(lanes, (lane) => owner.line(`wrote ${lane} 1`), { concurrency: "unbounded" })
      const other = yield* working(service, lanes)
      yield* owner.signal("SIGSTOP")
      const holding = yield* other.until(({ size }) => size === 4)
      // The frozen holder's earlier writes are in; from here on it may write under newer leases alone, which it gets once it is awake.
      const numbers = Effect.map(
        sql.unsafe<{ name: string; next: string }>("SELECT name, next FROM lane"),
        (rows) => new Map(rows.map(({ name, next }) => [name, BigInt(next)]))
      )
      const before = yield* numbers
      const asleep = owner.lines.length
      yield* owner.signal("SIGCONT")
      yield* Effect.forEach([...holding.keys()], (lane) => owner.line(`ended ${lane}`, asleep), {
        concurrency: "unbounded"
      })
      const after = yield* numbers
      const said = owner.lines.slice(asleep)
      for (const { epoch, lane } of holding.values()) {
        const acts = said.filter((line) => line.startsWith(`act ${lane} `))
        assert.isTrue(acts.every((line) => Number(line.split(" ").at(-1)) > epoch))
        const [earlier = 0n, now = 0n] = [before.get(lane), after.get(lane)]
        assert.isAbove(Number(earlier), 1_000_000)
        if (now !== earlier) assert.isAbove(Number(now), 1_000_000 * (epoch + 1))
      }
    })
  )

  it.effect("a stale epoch is refused, however good the lease was", () =>
    Effect.gen(function* () {
      const url = yield* database
      const [lane = ""] = lanesOf(1)
      const [a, b] = yield* Effect.all([instance(url, { leases }), instance(url, { leases })])
      const first = yield* working(a.leases, [lane])
      const lease = (yield* first.until(({ size }) => size === 1)).get(lane)
      if (lease === undefined) return assert.fail("no lease")
      yield* a.store.openLane(lease, 7n)
      yield* first.stop
      const second = yield* working(b.leases, [lane])
      const newer = (yield* second.until(({ size }) => size === 1)).get(lane)
      // The new holder has written nothing yet: only the epoch of its lease refuses the old one.
      assert.strictEqual((yield* Effect.flip(a.store.skipTo(lease, 9n)))._tag, "LeaseLost")
      assert.strictEqual(newer && (yield* b.store.openLane(newer, 0n)), 7n)
    })
  )

  it.effect("a lane whose work ends is begun anew, by whoever gets it", () =>
    Effect.gen(function* () {
      const { leases: service } = yield* instance(yield* database, { leases })
      const [lane = ""] = lanesOf(1)
      const second = yield* Deferred.make<number>()
      let runs = 0
      yield* Effect.forkScoped(
        service.work([lane], ({ epoch }) =>
          Effect.suspend(() => (++runs < 2 ? Effect.die("a mistake") : Effect.asVoid(Deferred.succeed(second, epoch))))
        )
      )
      assert.isAbove(yield* Deferred.await(second), 1)
    })
  )

  it.effect("are good for nine tenths of their time, and no longer, when the database is silent", () =>
    Effect.gen(function* () {
      const server = yield* PostgresServer.PostgresServer
      const url = yield* database
      const [lane = ""] = lanesOf(1)
      const holder = yield* working((yield* instance(url, { leases })).leases, [lane])
      const lease = (yield* holder.until(({ size }) => size === 1)).get(lane)
      yield* server.stop("immediate")
      yield* holder.until(({ size }) => size === 0)
      assert.isFalse(lease?.isValid())
      yield* server.start
      const again = (yield* holder.until(({ size }) => size === 1)).get(lane)
      assert.isAbove(again?.epoch ?? 0, lease?.epoch ?? Infinity)
      assert.isTrue(again?.isValid())
    })
  )

  it.effect("instances with different lanes leave none without a worker", () =>
    Effect.gen(function* () {
      const url = yield* database
      const [a, b] = yield* Effect.all([instance(url, { leases }), instance(url, { leases })])
      const [w = "", x = "", y = "", z = ""] = lanesOf(4)
      const both = yield* working(a.leases, [w, x, y, z])
      const few = yield* working(b.leases, [w, x])
      yield* Effect.all([both.until(({ size }) => size === 3), few.until(({ size }) => size === 1)])
      const held = [...(yield* both.now).keys(), ...(yield* few.now).keys()]
      assert.deepStrictEqual(held.toSorted(), [w, x, y, z])
    })
  )

  it.effect("of orphaned lanes are held only while no instance has their signer, and given back at once", () =>
    Effect.gen(function* () {
      const url = yield* database
      const [a, b] = yield* Effect.all([instance(url, { leases }), instance(url, { leases })])
      const [w = "", x = ""] = lanesOf(2)
      const own = yield* working(a.leases, [w])
      yield* own.until(({ size }) => size === 1)
      const guest = yield* working(b.leases, [w, x], "orphaned")
      assert.deepStrictEqual([...(yield* guest.until(({ size }) => size > 0)).keys()], [x])
      yield* own.stop
      const older = (yield* guest.until(({ size }) => size === 2)).get(w)
      const again = yield* working(a.leases, [w])
      const newer = (yield* again.until(({ size }) => size === 1)).get(w)
      assert.deepStrictEqual([...(yield* guest.until(({ size }) => size === 1)).keys()], [x])
      assert.isFalse(older?.isValid())
      assert.isAbove(newer?.epoch ?? 0, older?.epoch ?? Infinity)
    })
  )

  it.effect("leave a trace of who is there, and none of who has gone", () =>
    Effect.gen(function* () {
      const url = yield* database
      const sql = yield* Effect.provide(PgClient.makeClient({ url }), Reactivity.layer)
      const holder = yield* working((yield* instance(url, { leases })).leases, lanesOf(2))
      yield* holder.until(({ size }) => size === 2)
      assert.lengthOf(yield* sql.unsafe("SELECT * FROM lane_member"), 2)
      yield* holder.stop
      assert.lengthOf(yield* sql.unsafe("SELECT * FROM lane_member"), 0)
      assert.lengthOf(yield* sql.unsafe("SELECT * FROM lane WHERE owner IS NOT NULL OR until > clock_timestamp()"), 0)
    })
  )
})
