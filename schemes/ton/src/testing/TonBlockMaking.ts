/**
 * When a local chain makes its blocks, and what time it is there.
 *
 * - `instant`: a message that is taken gets a block at once, with everything that follows from it. A chain that is read is
 *   never behind its time: a block is made first, as on a chain that makes them all the time.
 * - `manual`: a block when it is asked for; messages between contracts take one hop a block.
 * - `{ everyMillis }`: the same, by the machine's clock.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { TonLedger } from "./TonLedger.ts"

/** When blocks are made. */
export type Blocks = "instant" | "manual" | { readonly everyMillis: number }

/** The chain's clock. */
export interface ChainTime {
  /** Unix seconds. */
  readonly now: () => number
  /** Puts it forward; a time that is over is left alone. It goes on from there. */
  readonly set: (seconds: number) => void
}

/** The clock of the fiber, or from another start on. */
export const makeTime = Effect.fnUntraced(function* (start?: number): Effect.fn.Return<ChainTime> {
  const clock = yield* Clock.Clock
  const seconds = () => Math.floor(clock.currentTimeMillisUnsafe() / 1000)
  let ahead = start === undefined ? 0 : start - seconds()
  return {
    // The machine takes a time of zero for none at all.
    now: () => Math.max(1, seconds() + ahead),
    set: (time) => void (ahead = Math.max(ahead, time - seconds()))
  }
})

/** The one who makes blocks. */
export interface TonBlockMaking {
  /** To be called when a message was taken. */
  readonly afterSubmission: () => Promise<void>
  /** To be called before the chain is read. */
  readonly beforeReading: () => Promise<void>
  readonly change: (blocks: Blocks) => Promise<void>
}

/** Makes blocks as long as the scope. */
export const make = Effect.fnUntraced(function* (ledger: TonLedger, now: () => number, first: Blocks) {
  let blocks: Blocks = first
  let timer: ReturnType<typeof setInterval> | undefined
  let making: Promise<unknown> | undefined

  const beat = () => {
    making ??= ledger.block().finally(() => void (making = undefined))
  }
  const restart = () => {
    clearInterval(timer)
    timer = typeof blocks === "object" ? setInterval(beat, blocks.everyMillis) : undefined
  }
  yield* Effect.acquireRelease(Effect.sync(restart), () =>
    Effect.promise(async () => {
      clearInterval(timer)
      await making
    })
  )
  const maker: TonBlockMaking = {
    afterSubmission: async () => {
      if (blocks === "instant") await ledger.blockOfAll()
    },
    beforeReading: async () => {
      if (blocks === "instant" && ledger.head().utime < now()) await ledger.blockOfAll()
    },
    change: async (next) => {
      blocks = next
      restart()
      if (blocks === "instant" && ledger.isBusy()) await ledger.blockOfAll()
    }
  }
  return maker
})
