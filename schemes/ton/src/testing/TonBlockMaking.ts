/**
 * Schedule of a local chain's blocks, and its clock.
 *
 * - `instant`: an accepted message gets a block at once, with everything that follows from it. A read is never behind the
 *   chain's time: a block is made before it, as on a chain that makes blocks all the time.
 * - `manual`: blocks on demand; messages between contracts take one hop a block.
 * - `{ everyMillis }`: a block at this interval of the machine's clock, in milliseconds; one hop a block too.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { TonLedger } from "./TonLedger.ts"

/** Schedule of blocks. */
export type Blocks = "instant" | "manual" | { readonly everyMillis: number }

/** The chain's clock. */
export interface ChainTime {
  /** Unix seconds. */
  readonly now: () => number
  /** Moves the clock forward, from where it goes on; an earlier time has no effect. */
  readonly set: (seconds: number) => void
}

/** The clock of the fiber, or one that starts at `start` (Unix seconds). */
export const makeTime = Effect.fnUntraced(function* (start?: number): Effect.fn.Return<ChainTime> {
  const clock = yield* Clock.Clock
  const seconds = () => Math.floor(clock.currentTimeMillisUnsafe() / 1000)
  let ahead = start === undefined ? 0 : start - seconds()
  return {
    // The virtual machine treats a time of zero as a missing one.
    now: () => Math.max(1, seconds() + ahead),
    set: (time) => void (ahead = Math.max(ahead, time - seconds()))
  }
})

/** Makes blocks. */
export interface TonBlockMaking {
  /** Must be called after a message was accepted. */
  readonly afterSubmission: () => Promise<void>
  /** Must be called before the chain is read. */
  readonly beforeReading: () => Promise<void>
  readonly change: (blocks: Blocks) => Promise<void>
}

/** Makes blocks until the end of the scope. */
export const make = Effect.fnUntraced(function* (ledger: TonLedger, now: () => number, first: Blocks) {
  let blocks: Blocks = first
  let timer: ReturnType<typeof setInterval> | undefined
  let making: Promise<unknown> | undefined

  const tick = () => {
    making ??= ledger.block().finally(() => void (making = undefined))
  }
  const restart = () => {
    clearInterval(timer)
    timer = typeof blocks === "object" ? setInterval(tick, blocks.everyMillis) : undefined
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
