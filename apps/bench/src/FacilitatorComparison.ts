/**
 * What `/verify` and `/settle` cost a facilitator, ours and the peer's in turns, over HTTP on one chain: every payment one of
 * its own, 32 at once.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import * as Schema from "effect/Schema"

import * as FacilitatorQuestion from "./FacilitatorQuestion.ts"
import * as HttpLoad from "./HttpLoad.ts"
import { median } from "./Median.ts"
import * as OurService from "./OurService.ts"
import type * as PeerChain from "./PeerChain.ts"
import * as RoleProcess from "./RoleProcess.ts"
import type { Row } from "./Row.ts"

/**
 * A service runs for weeks: what it costs while its code is being compiled, over the first 20 000 questions, says nothing.
 * Of settlements there are fewer, since they take longer. Before them each is asked one after the other for a while: of a
 * new account, viem's nonce manager gives the first numbers twice to those who ask at once.
 */
const levels = {
  "/verify": { warmUps: 24, count: 1_000 },
  "/settle": { warmUps: 24, count: 250 }
} as const
const rounds = 9
const target = 10
const peerName = "the peer's"

/** All rows. */
export const measure = async (chain: PeerChain.PeerChain): Promise<ReadonlyArray<Row>> => {
  const folder = mkdtempSync(join(tmpdir(), "pontage-bench-"))
  try {
    const asked = await open(chain, folder)
    for (const one of asked) {
      await askAll(chain, one, 1)
      for (let round = 0; round < levels[one.path].warmUps; round++) await askAll(chain, one)
    }
    for (let round = 0; round < rounds; round++) {
      for (const one of asked) one.costs.push(await askAll(chain, one))
    }
    await Promise.all(asked.map(({ facilitator }) => facilitator.stop()))
    return rowsOf(asked)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** One of the questions at one of the facilitators. */
interface Asked {
  readonly name: string
  readonly path: "/verify" | "/settle"
  readonly words: FacilitatorQuestion.Words
  readonly facilitator: RoleProcess.RoleProcess
  readonly costs: Array<Cost>
}

interface Cost {
  readonly micros: number
  readonly perSecond: number
}

const open = async (chain: PeerChain.PeerChain, folder: string): Promise<ReadonlyArray<Asked>> => {
  const { rpcUrl } = chain
  const [first, second, third, fourth] = chain.accounts.signers.map(({ privateKey }) => privateKey)
  const inFile = (name: string) => `sqlite:${join(folder, `${name}.sqlite`)}`
  const ours = (store: string, batches: boolean, key = "") => OurService.start(chain, { store, batches, key })
  const batches = await ours(inFile("batches"), true, first)
  const alone = await ours(inFile("alone"), false, second)
  const memory = await ours("memory", true, third)
  const peer = await RoleProcess.startPeer("facilitator", { rpcUrl, key: fourth, nonces: "counted", pollingMillis: 20 })
  const verify = { path: "/verify" } as const
  const settle = { path: "/settle" } as const
  const asked: ReadonlyArray<Omit<Asked, "costs">> = [
    { ...verify, name: "ours", words: "ours", facilitator: batches },
    { ...verify, name: "ours, in x402's words", words: "x402", facilitator: batches },
    { ...verify, name: peerName, words: "x402", facilitator: peer },
    { ...settle, name: "ours, SQLite, in batches", words: "ours", facilitator: batches },
    { ...settle, name: "ours, SQLite, in batches, in x402's words", words: "x402", facilitator: batches },
    { ...settle, name: "ours, SQLite, one by one", words: "ours", facilitator: alone },
    { ...settle, name: "ours, memory, in batches", words: "ours", facilitator: memory },
    { ...settle, name: peerName, words: "x402", facilitator: peer }
  ]
  return asked.map((one) => Object.assign(one, { costs: [] }))
}

const Answer = Schema.fromJsonString(
  Schema.Struct({ isValid: Schema.optionalKey(Schema.Boolean), success: Schema.optionalKey(Schema.Boolean) })
)
const decodeAnswer = Schema.decodeUnknownSync(Answer)

/** Every answer must be yes, or the figure means nothing. */
const askAll = async (chain: PeerChain.PeerChain, asked: Asked, connections = 32): Promise<Cost> => {
  const { facilitator, name, path, words } = asked
  const { count } = levels[path]
  const bodies = await FacilitatorQuestion.make(chain, words, count)
  const before = await facilitator.cpuMicros()
  const start = process.hrtime.bigint()
  const answers = await HttpLoad.post(`${facilitator.url}${path}`, bodies, connections)
  const seconds = Number(process.hrtime.bigint() - start) / 1e9
  const micros = ((await facilitator.cpuMicros()) - before) / count
  for (const answer of answers) {
    const { isValid, success } = decodeAnswer(answer)
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
