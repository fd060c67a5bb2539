/**
 * The cost of `/verify` and `/settle` for a facilitator, ours and the peer's in turns, over HTTP: every payment one of its own, 32 at
 * once.
 */
import { join } from "node:path"

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

import * as BenchFolder from "../BenchFolder.ts"
import * as FacilitatorQuestion from "../FacilitatorQuestion.ts"
import * as HttpLoad from "../HttpLoad.ts"
import { median } from "../Median.ts"
import * as PeerChain from "../PeerChain.ts"
import * as OurService from "../roles/OurService.ts"
import * as RoleProcess from "../roles/RoleProcess.ts"
import type { Row } from "../Row.ts"

/**
 * A service runs for weeks: what it costs while its code is being compiled says nothing. Before that each is asked one after
 * the other for a while: of a new account, viem's nonce manager gives the first numbers twice to those who ask at once.
 */
const warmUps = 5
const rounds = 5
const target = 10
const peerName = "the peer's"

/** All rows. */
export const measure: Effect.Effect<ReadonlyArray<Row>, PeerChain.Failure, Scope.Scope> = Effect.gen(function* () {
  const folder = yield* BenchFolder.make
  const asked = questionsAt(yield* Effect.all(desks(folder)))
  yield* Effect.promise(() => askInTurns(asked))
  return rowsOf(asked)
})

/** A facilitator, and the chain on which it settles. */
interface Market {
  readonly chain: PeerChain.PeerChain
  readonly facilitator: RoleProcess.RoleProcess
}

/** Each on a chain of its own: a node gets slower with every payment, so that on one chain each would wait for the others'. */
const desks = (folder: string) => {
  const inFile = (name: string) => `sqlite:${join(folder, `${name}.sqlite`)}`
  const ours = (store: string, batches: boolean) =>
    opened((chain) => OurService.start(chain, { store, batches, key: PeerChain.gasKey(chain) }))
  return {
    batches: ours(inFile("batches"), true),
    alone: ours(inFile("alone"), false),
    memory: ours("memory", true),
    peer: opened((chain) =>
      RoleProcess.startPeer("facilitator", {
        rpcUrl: chain.rpcUrl,
        key: PeerChain.gasKey(chain),
        nonces: "counted",
        pollingMillis: 20
      })
    )
  }
}

const opened = (start: (chain: PeerChain.PeerChain) => Promise<RoleProcess.RoleProcess>) =>
  PeerChain.withItsOwn(
    async (chain): Promise<Market> => ({ chain, facilitator: await start(chain) }),
    ({ facilitator }) => facilitator.stop()
  )

const askInTurns = async (asked: ReadonlyArray<Asked>): Promise<void> => {
  for (const one of asked) {
    await askAll({ ...one, count: 250 }, 1)
    for (let round = 0; round < warmUps; round++) await askAll(one)
  }
  for (let round = 0; round < rounds; round++) {
    for (const one of asked) one.costs.push(await askAll(one))
  }
}

/** One of the questions at one of the facilitators. */
interface Asked {
  readonly name: string
  readonly path: "/verify" | "/settle"
  readonly words: FacilitatorQuestion.Words
  readonly market: Market
  /**
   * The payments of a round, enough for some seconds each: while the others have their turns a process gives memory back,
   * and what it costs to get it again is a part of no service's day.
   */
  readonly count: number
  readonly costs: Array<Cost>
}

interface Cost {
  readonly micros: number
  readonly perSecond: number
}

const questionsAt = ({
  alone,
  batches,
  memory,
  peer
}: Readonly<Record<"alone" | "batches" | "memory" | "peer", Market>>): ReadonlyArray<Asked> => {
  const verify = { path: "/verify", count: 6_000 } as const
  const settle = { path: "/settle", count: 1_000 } as const
  const asked: ReadonlyArray<Omit<Asked, "costs">> = [
    { ...verify, name: "ours", words: "ours", market: batches },
    { ...verify, name: "ours, in x402's words", words: "x402", market: batches },
    { ...verify, name: peerName, words: "x402", market: peer, count: 1_000 },
    { ...settle, name: "ours, SQLite, in batches", words: "ours", market: batches },
    { ...settle, name: "ours, SQLite, in batches, in x402's words", words: "x402", market: batches },
    { ...settle, name: "ours, SQLite, one by one", words: "ours", market: alone, count: 250 },
    { ...settle, name: "ours, memory, in batches", words: "ours", market: memory },
    { ...settle, name: peerName, words: "x402", market: peer, count: 250 }
  ]
  return asked.map((one) => Object.assign(one, { costs: [] }))
}

const Answer = Schema.fromJsonString(
  Schema.Struct({ isValid: Schema.optionalKey(Schema.Boolean), success: Schema.optionalKey(Schema.Boolean) })
)
const decodeResponse = Schema.decodeUnknownSync(Answer)

/** Every response must be yes, or the figure means nothing. */
const askAll = async (asked: Asked, connections = 32): Promise<Cost> => {
  const { count, name, path, words } = asked
  const { chain, facilitator } = asked.market
  const bodies = await FacilitatorQuestion.make(chain, words, count)
  const before = await facilitator.cpuMicros()
  const start = process.hrtime.bigint()
  const answers = await HttpLoad.post(`${facilitator.url}${path}`, bodies, connections)
  const seconds = Number(process.hrtime.bigint() - start) / 1e9
  const micros = ((await facilitator.cpuMicros()) - before) / count
  for (const answer of answers) {
    const { isValid, success } = decodeResponse(answer)
    if ((isValid ?? success) !== true) throw new Error(`${path} of ${name} said ${answer}`)
  }
  return { micros, perSecond: count / seconds }
}

const microsOf = (costs: ReadonlyArray<Cost>) => median(costs.map(({ micros }) => micros))

const rowsOf = (all: ReadonlyArray<Asked>): ReadonlyArray<Row> =>
  all.map(({ costs, name, path }) => {
    const peer = all.find((other) => other.path === path && other.name === peerName)
    const value = microsOf(costs)
    const ratio = microsOf(peer?.costs ?? []) / value
    return {
      name: `${path}: ${name}`,
      value,
      unit: "µs CPU",
      note: `${median(costs.map(({ perSecond }) => perSecond)).toFixed(0)} a second`,
      ...(name !== peerName && { ratios: [{ than: peerName, ratio, target }] })
    }
  })
