/**
 * G7: reorganisations up to twelve blocks deep lose no payment and double none.
 */
import type { Anvil } from "@pontage/evm/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

import { Quantity } from "../world/ChainRpc.ts"
import * as TrialAct from "../world/TrialAct.ts"
import type { TrialOptions } from "../world/TrialOptions.ts"
import type { TrialReport } from "../world/TrialReport.ts"
import * as TrialWorld from "../world/TrialWorld.ts"

const usualRounds = 50
const deepest = 12
/** Deeper than any reorganisation here: final blocks stay. */
export const finalityDepth = 16

/** Runs the trial; its size counts the reorganisations. */
export const run = Effect.fnUntraced(function* (
  options: TrialOptions
): Effect.fn.Return<TrialReport, Anvil.AnvilFailed, Scope.Scope> {
  const rounds = options.size ?? usualRounds
  const world = yield* TrialWorld.make(options, { finalityDepth, operations: true })
  const facilitator = yield* world.facilitator()
  yield* facilitator.listening
  const outcome = yield* TrialAct.underLoad(
    world,
    { facilitators: [facilitator.url], concurrency: 12, payments: rounds * 4, validSeconds: 300 },
    Effect.forEach(Array.from({ length: rounds }), (_, round) => reorganise(world, round))
  )
  return {
    goal: "G7",
    title: `${rounds} reorganisations, 1 to ${deepest} blocks deep, under load`,
    options,
    figures: { "deepest, blocks": Math.max(...outcome.result), ...TrialAct.figures(outcome) },
    findings: outcome.findings
  }
})

/** A difference that the blocks in between have of themselves, in seconds. */
const apart = 2n

/** A reorganisation sets the local chain's clock back, and a clock that is apart from ours stops payments: it is put right again. */
const onTime = Effect.fnUntraced(function* ({ chain, rpc }: TrialWorld.TrialWorld) {
  const { timestamp } = yield* rpc.ask(Schema.Struct({ timestamp: Quantity }), "eth_getBlockByNumber", [
    "latest",
    false
  ])
  const now = BigInt(Math.floor((yield* Clock.currentTimeMillis) / 1000))
  if (now > timestamp + apart) yield* chain.setNextBlockTimestamp(now)
})

/** Depths come round in turn, so that few rounds see deep ones too. Never deeper than to the block before the first payment: the payers' accounts and approvals are in those before. */
export const reorganise = Effect.fnUntraced(function* (world: TrialWorld.TrialWorld, round: number) {
  const { chain, firstBlock, random, rpc } = world
  yield* Effect.sleep(random.branch(`round${round}`).between(1_000, 3_500))
  const head = yield* rpc.ask(Quantity, "eth_blockNumber")
  const depth = Math.min(1 + ((round * 7) % deepest), Math.max(1, Number(head - firstBlock)))
  yield* chain.reorg(depth)
  yield* onTime(world)
  return depth
})
