/**
 * G6: a signer's queue heals by itself, whatever happened to its transactions, and pays no more than the operator allows.
 */
import type { Anvil } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"

import * as RpcChaos from "../faults/RpcChaos.ts"
import { Quantity } from "../world/ChainRpc.ts"
import * as ChainWeather from "../world/ChainWeather.ts"
import * as TrialAct from "../world/TrialAct.ts"
import type { TrialOptions } from "../world/TrialOptions.ts"
import type { Broken, TrialReport } from "../world/TrialReport.ts"
import * as TrialWorld from "../world/TrialWorld.ts"

/** Blocks after the end of the cause within which a queue moves again. */
const promised = 10
const gwei = 10n ** 9n
/** Wei for a unit of gas that the operator allows. */
const cap = 200n * gwei
const usualRounds = 3
const sideBySide = 4

/** The parts that a trouble works with. */
interface Scene {
  readonly world: TrialWorld.TrialWorld
  readonly line: RpcChaos.RpcChaos
}

type Trouble = (scene: Scene) => Effect.Effect<void>

/** Duration of a trouble, in milliseconds; blocks come every second. */
const lasting = 5_000

const everyBlock = (act: Effect.Effect<unknown>): Effect.Effect<void> =>
  Effect.asVoid(Effect.repeat(Effect.andThen(act, Effect.sleep(1_000)), { times: lasting / 1_000 }))

/** Dear blocks: `setNextBlockBaseFee` holds for one block, and it falls by an eighth with each that is not full. */
const dear =
  (fee: bigint): Trouble =>
  ({ world: { chain } }) =>
    everyBlock(chain.setNextBlockBaseFee(fee))

const signerOf = ({ world: { chain } }: Scene) => chain.accounts.signers[0].address

/** Waits until the signer has settled a payment: before that no fees are known and no queue can stop. */
const moving = (scene: Scene): Effect.Effect<unknown> =>
  Effect.repeat(scene.world.rpc.ask(Quantity, "eth_getTransactionCount", [signerOf(scene), "latest"]), {
    until: (settled) => settled > 0n,
    schedule: Schedule.spaced("100 millis")
  })

/** The troubles of the signer; each ends by itself. */
const troubles: Readonly<Record<string, Trouble>> = {
  "a gap": ({ line }) =>
    Effect.gen(function* () {
      line.storm({ faults: ["swallowed"], perMille: 500 })
      yield* Effect.sleep(lasting)
      line.calm()
    }),
  "a pool that forgets": ({ world }) =>
    everyBlock(Effect.andThen(ChainWeather.pooled(world.rpc), ChainWeather.forget(world.rpc))),
  "fees times 10": dear(10n * gwei),
  "fees times 100": dear(100n * gwei),
  "fees above the cap": (scene) =>
    Effect.andThen(dear(1_000n * gwei)(scene), scene.world.chain.setNextBlockBaseFee(gwei)),
  "transactions of another with the same key": (scene) =>
    everyBlock(
      scene.world.chain.submit({ from: signerOf(scene), to: scene.world.chain.accounts.payee.address, gas: 21_000n })
    ),
  "no money for gas": (scene) =>
    Effect.gen(function* () {
      const { chain } = scene.world
      yield* chain.setBalance(signerOf(scene), 0n)
      yield* Effect.sleep(lasting)
      yield* chain.setBalance(signerOf(scene), 10n ** 20n)
    })
}

/** Runs the trial; its size counts the rounds of every trouble. */
export const run = Effect.fnUntraced(function* (
  options: TrialOptions,
  only: ReadonlyArray<string> = Object.keys(troubles)
): Effect.fn.Return<TrialReport, Anvil.AnvilFailed> {
  const rounds = options.size ?? usualRounds
  const names = only.flatMap((name) => Array.from({ length: rounds }, (_, round) => ({ name, round })))
  const runs = yield* Effect.forEach(names, ({ name, round }) => Effect.scoped(suffer(options, name, round)), {
    concurrency: sideBySide
  })
  const worst = (name: string) => Math.max(...runs.filter((one) => one.name === name).map(({ blocks }) => blocks))
  return {
    goal: "G6",
    title: "a signer's queue after gaps, lost transactions, dear blocks, foreign transactions and an empty account",
    options,
    figures: {
      ...Object.fromEntries(only.map((name) => [`blocks after ${name}`, worst(name)])),
      "highest fee, gwei": Number(runs.reduce((most, { fee }) => (fee > most ? fee : most), 0n) / gwei),
      payments: runs.reduce((sum, { payments }) => sum + payments, 0)
    },
    findings: runs.flatMap(({ findings }) => findings)
  }
})

interface Suffered {
  readonly name: string
  /** Blocks from the end of the cause to the first transfer. */
  readonly blocks: number
  readonly fee: bigint
  readonly payments: number
  readonly findings: ReadonlyArray<Broken>
}

const suffer = Effect.fnUntraced(function* (
  options: TrialOptions,
  name: string,
  round: number
): Effect.fn.Return<Suffered, Anvil.AnvilFailed, Scope.Scope> {
  const seed = `${options.seed}/${name}/${round}`
  const world = yield* TrialWorld.make({ ...options, seed }, { signers: 1, operations: true })
  const line = yield* RpcChaos.make({ upstream: world.chain.rpcUrl, random: world.random.branch("line") })
  const facilitator = yield* world.facilitator({ rpcUrl: line.url, maxFeePerGas: cap })
  yield* facilitator.listening
  const trouble = troubles[name] ?? (() => Effect.die(new Error(`there is no trouble of the name ${name}`)))
  const act = Effect.gen(function* () {
    yield* moving({ world, line })
    yield* Effect.sleep(world.random.branch("begin").between(1_500, 3_000))
    yield* trouble({ world, line })
    const over = yield* world.rpc.ask(Quantity, "eth_blockNumber")
    // The buyers go on for this time: a later settlement does not show that the queue moves.
    yield* Effect.sleep((promised + 3) * 1_000)
    return over
  })
  const outcome = yield* TrialAct.underLoad(
    world,
    { facilitators: [facilitator.url], concurrency: 6, payments: 20, validSeconds: 300, rules: { gasPrice: cap } },
    act
  )
  const { chain } = outcome.said
  const moved = chain.transfers.map(({ blockNumber }) => blockNumber).find((number) => number > outcome.result)
  const blocks = moved === undefined ? Number.POSITIVE_INFINITY : Number(moved - outcome.result)
  const stuck: Broken = { check: "stuck", detail: `moved ${blocks} blocks after its cause was over` }
  const findings: ReadonlyArray<Broken> = [...(blocks > promised ? [stuck] : []), ...outcome.findings]
  yield* Effect.logInfo(`${name}, ${round}: moves after ${blocks} blocks, ${findings.length} differences`)
  return {
    name,
    blocks,
    fee: chain.transactions.reduce((most, { gasPrice }) => (gasPrice > most ? gasPrice : most), 0n),
    payments: outcome.said.books.length,
    findings: findings.map(({ check, detail }) => ({ check, detail: `${name}, ${round}: ${detail}` }))
  }
})
