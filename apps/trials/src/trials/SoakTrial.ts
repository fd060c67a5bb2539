/**
 * The soak: buyers buy for a long time, ends are notified, old records are forgotten, and what the facilitator uses of its
 * machine does not grow.
 */
import { readdirSync, statSync } from "node:fs"
import { createServer } from "node:http"

import type { Anvil } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"

import type { FacilitatorLife } from "../world/FacilitatorLife.ts"
import * as TrialCaller from "../world/TrialCaller.ts"
import * as TrialLoad from "../world/TrialLoad.ts"
import type { TrialOptions } from "../world/TrialOptions.ts"
import type { Broken, TrialReport } from "../world/TrialReport.ts"
import * as TrialWorld from "../world/TrialWorld.ts"
import * as SoakQuarters from "./SoakQuarters.ts"

const usualMinutes = 30
const usualBuyers = 32
const key = "the-key-of-the-only-caller"

/** A record goes soon after its payment: then the file is as large as it will ever be before the second quarter ends. */
const retentionMillis = 60_000
const validSeconds = 30

/** Looks in a run, at most one a second. */
const looks = 240

/** Runs the trial; its size counts the buyers. */
export const run = Effect.fnUntraced(function* (
  options: TrialOptions
): Effect.fn.Return<TrialReport, Anvil.AnvilFailed, Scope.Scope> {
  const { minutes = usualMinutes, size: concurrency = usualBuyers } = options
  const world = yield* TrialWorld.make(options, { booksKey: key })
  const receiver = yield* receiving
  const facilitator = yield* world.facilitator(
    { retentionMillis, callers: [{ name: "shop", key, webhook: receiver.url }] },
    { collects: true }
  )
  yield* facilitator.listening
  const counts = TrialLoad.none()
  const totalMillis = minutes * 60_000
  const load: TrialLoad.Options = {
    ...world.load,
    caller: TrialCaller.make({ journal: world.journal, apiKey: key }),
    facilitators: [facilitator.url],
    concurrency,
    validSeconds
  }
  let isOver = false
  const buying = yield* Effect.forkScoped(TrialLoad.run(load, counts, () => isOver))
  const samples = yield* measured(world, facilitator, totalMillis)
  isOver = true
  yield* Fiber.join(buying)
  const { figures, findings } = SoakQuarters.table(samples, totalMillis)
  return {
    goal: "soak",
    title: `${concurrency} buyers for ${minutes} minutes`,
    options,
    figures: { ...figures, ...counts, "ends told": receiver.told() },
    findings: [...findings, ...troubles(facilitator, counts, receiver.told())]
  }
})

/** The facilitator as the operating system sees it, again and again. */
const measured = Effect.fnUntraced(function* (
  { file }: TrialWorld.TrialWorld,
  facilitator: FacilitatorLife,
  totalMillis: number
) {
  const samples: Array<SoakQuarters.SoakSample> = []
  const began = performance.now()
  while (performance.now() - began < totalMillis) {
    yield* Effect.sleep(Math.max(1000, totalMillis / looks))
    const { external, heapUsed, rss } = yield* facilitator.memory
    samples.push({
      atMillis: performance.now() - began,
      rss,
      heap: heapUsed,
      external,
      descriptors: readdirSync(`/proc/${facilitator.pid()}/fd`).length,
      ...(file !== undefined && { file: statSync(file).size, log: statSync(`${file}-wal`).size })
    })
  }
  return samples
})

/** Troubles that make the figures meaningless. */
const troubles = (
  { lives }: FacilitatorLife,
  { settled, unknown }: TrialLoad.PurchaseCounts,
  told: number
): ReadonlyArray<Broken> => [
  ...(lives.length === 1 ? [] : [{ check: "ended", detail: `the facilitator began ${lives.length} times` }]),
  ...(settled > 0 && unknown === 0 ? [] : [{ check: "unsettled", detail: `${settled} settled, ${unknown} unknown` }]),
  ...(told >= settled ? [] : [{ check: "untold", detail: `${told} ends were notified of ${settled} settled payments` }])
]

/** A receiver of webhooks that counts. */
const receiving = Effect.gen(function* () {
  let told = 0
  const server = yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const made = createServer((request, response) => {
        request.resume().once("end", () => {
          told += 1
          response.writeHead(204).end()
        })
      })
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) => Effect.sync(() => made.close().closeAllConnections())
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return { url: `http://127.0.0.1:${port}/`, told: () => told }
})
