/**
 * The troubles of a shop of channels at random moments: its process is killed at random moments, its node lags and fails, and gas
 * becomes dear.
 */
import * as Effect from "effect/Effect"

import type * as RpcChaos from "../faults/RpcChaos.ts"
import { gwei } from "../world/ChainWeather.ts"
import type { FacilitatorLife } from "../world/FacilitatorLife.ts"
import type { TrialRandom } from "../world/TrialRandom.ts"
import type { TrialWorld } from "../world/TrialWorld.ts"

/** Every other trouble is a kill. */
const kinds = ["kill", "lag", "kill", "dear", "kill", "faults"] as const

/** Blocks by which a lagging node is behind. */
export const lagBlocks = 4n

/** Base fees of the blocks of a dear time. */
const dearFees = [2n, 5n, 20n, 60n, 60n].map((fee) => fee * gwei)

/** The troubles, one after another, with a pause before each; afterwards the node is well. */
export const troubles = (
  world: TrialWorld,
  shop: FacilitatorLife,
  line: RpcChaos.RpcChaos,
  rounds: number
): Effect.Effect<void> =>
  Effect.forEach(
    Array.from({ length: rounds }),
    (_, round) =>
      Effect.gen(function* () {
        const luck = world.random.branch(`trouble${round}`)
        yield* Effect.sleep(luck.between(500, 4_000))
        yield* trouble(kinds[round % kinds.length] ?? "kill", { world, shop, line, luck })
        line.calm()
      }),
    { discard: true }
  )

/** Kills of one of two shops after the other, at random moments. */
export const killings = (
  world: TrialWorld,
  shops: ReadonlyArray<FacilitatorLife>,
  rounds: number
): Effect.Effect<void> =>
  Effect.forEach(
    Array.from({ length: rounds }),
    (_, round) =>
      Effect.gen(function* () {
        yield* Effect.sleep(world.random.branch(`kill${round}`).between(500, 4_000))
        const shop = shops[round % shops.length]
        if (shop !== undefined) yield* Effect.andThen(shop.listening, shop.signal("SIGKILL"))
      }),
    { discard: true }
  )

interface Scene {
  readonly world: TrialWorld
  readonly shop: FacilitatorLife
  readonly line: RpcChaos.RpcChaos
  readonly luck: TrialRandom
}

const trouble = (kind: (typeof kinds)[number], { line, luck, shop, world }: Scene): Effect.Effect<void> => {
  const lasts = Effect.sleep(luck.between(2_000, 6_000))
  switch (kind) {
    case "kill":
      // A death after the other counts what the first one has cost.
      return Effect.andThen(shop.listening, shop.signal("SIGKILL"))
    case "lag":
      line.storm({ faults: ["lag"], perMille: 1_000 })
      return lasts
    case "faults":
      line.storm({ faults: ["latency", "reset", "lost-answer", "too-many", "server-error"], perMille: 300 })
      return lasts
    case "dear":
      return Effect.forEach(
        dearFees,
        (fee) => Effect.andThen(world.chain.setNextBlockBaseFee(fee), Effect.sleep(1_000)),
        { discard: true }
      )
  }
}
