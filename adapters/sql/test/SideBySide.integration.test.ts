/**
 * Instances of the release before and of this one are replaced one by one on one PostgreSQL database, forward and back again,
 * while all of them claim the same payments and share the lanes.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"

import { PostgresServer } from "../src/testing/index.ts"
import * as ChildProcess from "./ChildProcess.ts"
import * as LaneTrial from "./LaneTrial.ts"
import * as PackedRelease from "./PackedRelease.ts"
import * as PostgresServers from "./PostgresServers.ts"

interface Line {
  readonly claimed?: string
  readonly count?: number
  readonly execution?: string
  readonly settled?: string
  readonly fault?: string
  readonly ended?: string
  readonly why?: string
}

/** The program's own lines: a busy database brings lines of the log between them. */
const linesOf = ({ lines }: ChildProcess.Child) =>
  lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Line)

/** The number of the last claimed payment. */
const frontier = (child: ChildProcess.Child) => linesOf(child).findLast(({ count }) => count !== undefined)?.count ?? -1

/** Waits for this number of further payments. */
const further = (child: ChildProcess.Child, more: number) =>
  child.line(`{"claimed":"pay_shared-${frontier(child) + more}"`)

const stopped = (child: ChildProcess.Child, signal: NodeJS.Signals) =>
  Effect.andThen(child.signal(signal), child.exited)

const audit = Effect.fnUntraced(function* (url: Redacted.Redacted, all: ReadonlyArray<ChildProcess.Child>) {
  const { leases, store } = yield* PostgresServers.instance(url)
  const lines = all.flatMap(linesOf)
  const settled = lines.flatMap((line) => line.settled ?? [])
  const granted = lines.flatMap((line) => (line.execution === "granted" ? (line.claimed ?? []) : []))
  const claimed = new Set(lines.flatMap((line) => line.claimed ?? []))
  // Pending payments come to their end.
  yield* Effect.forkScoped(
    leases.work(LaneTrial.lanes, (lease) =>
      Effect.ignore(
        LaneTrial.worked(store, lease, (line) => Effect.sync(() => settled.push(String((line as Line).settled))))
      )
    )
  )
  for (const id of claimed) {
    const found = yield* Effect.retry(
      Effect.filterOrFail(
        store.find(id),
        (one) => one?.status === "included",
        () => "not yet"
      ),
      Schedule.spaced(50)
    )
    assert.deepStrictEqual(
      found?.history.map(({ status }) => status),
      ["accepted", "planned", "sent", "included"],
      id
    )
  }
  assert.strictEqual(new Set(settled).size, settled.length, "a payment was settled twice")
  assert.strictEqual(new Set(granted).size, granted.length, "a run was granted twice")
  assert.isAbove(granted.length, 30)
  const sql = yield* Effect.provide(PgClient.makeClient({ url }), Reactivity.layer)
  const gaps = yield* sql.unsafe(
    `SELECT l.name FROM lane l WHERE l.next IS DISTINCT FROM (SELECT count(*) FROM lane_transaction t WHERE t.lane = l.name)`
  )
  assert.deepStrictEqual(gaps, [], "a lane has a gap in its numbers")
  return lines
})

describe("the release before and this one, side by side on one database,", () => {
  it.live(
    "are replaced one by one, forward and back, and every payment comes to its one end",
    () =>
      Effect.gen(function* () {
        const server = yield* PostgresServer.make
        const url = yield* server.database
        const before = yield* PackedRelease.program(PackedRelease.latest)
        const all: Array<ChildProcess.Child> = []
        const start = (program: string) =>
          Effect.gen(function* () {
            const first = Math.max(0, ...all.map(frontier))
            const name = `${all.length}`
            const child = yield* ChildProcess.run(program, "work", Redacted.value(url), name, `${first}`)
            all.push(child)
            yield* child.line(`{"claimed"`)
            return child
          })
        const old = [yield* start(before), yield* start(before)] as const
        yield* Effect.forEach(old, (child) => further(child, 8))
        // Forward: the tables change while the previous release works on them.
        const own = [yield* start(PackedRelease.own)]
        yield* Effect.forEach([...old, ...own], (child) => further(child, 8))
        yield* stopped(old[0], "SIGTERM")
        own.push(yield* start(PackedRelease.own))
        yield* stopped(old[1], "SIGTERM")
        yield* Effect.forEach(own, (child) => further(child, 8))
        // And back: the previous release starts on tables that are new to it.
        const back = yield* start(before)
        yield* Effect.forEach([back, ...own], (child) => further(child, 8))
        yield* Effect.forEach(own, (child, index) => stopped(child, index === 0 ? "SIGKILL" : "SIGTERM"))
        yield* further(back, 8)
        const last = yield* start(PackedRelease.own)
        yield* Effect.forEach([back, last], (child) => further(child, 8))
        yield* stopped(back, "SIGTERM")
        yield* further(last, 5)
        yield* stopped(last, "SIGTERM")

        const lines = yield* audit(url, all)
        assert.deepStrictEqual(
          lines.filter(
            ({ ended, fault, why }) => fault !== undefined || ended !== undefined || why === "Misconfigured"
          ),
          []
        )
      }),
    1_800_000
  )
})
