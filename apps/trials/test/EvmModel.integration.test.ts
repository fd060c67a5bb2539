/**
 * The modelled EVM chain is true: random programs are run on it and on a real node with the compiled contracts, and every response
 * that the scheme would read is compared. Only gas may differ, within the model's own bounds.
 */
import { assert, describe, it } from "@effect/vitest"
import { EvmHex, type EvmRpc } from "@pontage/evm"
import { EvmTestChain, TransferProbe } from "@pontage/evm/testing"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"

import * as EvmModelChain from "../src/simulation/evm/model/EvmModelChain.ts"
import { toleranceInGas } from "../src/simulation/evm/model/GasMeter.ts"
import * as NodeDialect from "../src/simulation/evm/model/NodeDialect.ts"
import * as TrialRandom from "../src/world/TrialRandom.ts"
import * as EvmModelPair from "./EvmModelPair.ts"
import * as EvmModelProgram from "./EvmModelProgram.ts"

const programs = 12
const steps = 60

/** A request to a node; its name is in the message of a difference. */
type Ask = (rpc: EvmRpc.Shape, hash: (hash: EvmHex.Hex) => EvmHex.Hex) => Effect.Effect<unknown, unknown>

/** A response without what may differ: hashes of blocks are those of the real node, words of refusals are their meaning. */
const plain = (value: unknown, realHash: (hash: EvmHex.Hex) => EvmHex.Hex | undefined): unknown => {
  if (typeof value === "string") return EvmHex.isBytes32(value) ? (realHash(value) ?? value) : value
  if (Array.isArray(value)) return value.map((one) => plain(one, realHash))
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).map(([key, one]) => [key, plain(one, realHash)])
  const record: Record<string, unknown> = Object.fromEntries(entries)
  if (record["_tag"] === "ChainUnavailable") return "ChainUnavailable"
  return "message" in record ? { ...record, message: "" } : record
}

const answerOf = (ask: Effect.Effect<unknown, unknown>) => Effect.map(Effect.result(ask), Result.merge)

const isReceipt = (value: unknown): value is EvmRpc.Receipt =>
  typeof value === "object" && value !== null && "gasUsed" in value && "status" in value

const compare = Effect.fnUntraced(function* (pair: EvmModelPair.EvmModelPair, what: string, ask: Ask) {
  const realHash = (hash: EvmHex.Hex) => pair.realHash(hash) ?? hash
  const real = yield* answerOf(ask(pair.real, realHash))
  const modelled = yield* answerOf(ask(pair.model, (hash) => hash))
  let expected = real
  if (isReceipt(real) && isReceipt(modelled)) {
    const { gasUsed } = modelled
    assert.isTrue(
      EvmModelPair.isNear(real.gasUsed, gasUsed, toleranceInGas),
      `${what}: gas ${real.gasUsed}, ${gasUsed}`
    )
    expected = { ...real, gasUsed }
  }
  assert.deepStrictEqual(
    plain(modelled, pair.realHash),
    plain(expected, () => undefined),
    what
  )
  return real
})

/** Everything about every block, transaction and account that there is or was. */
const compareAll = Effect.fnUntraced(function* (pair: EvmModelPair.EvmModelPair, sent: ReadonlySet<EvmHex.Hex>) {
  const { beginning, modelChain } = pair
  const token = beginning.token.domain.verifyingContract
  const head = modelChain.head().number
  const first = head - 12n
  yield* compare(pair, "blockNumber", (rpc) => rpc.blockNumber)
  for (let number = first; number <= head + 1n; number++) {
    yield* compare(pair, `block ${number}`, (rpc) => rpc.getBlock(number))
  }
  for (const hash of sent) yield* compare(pair, `receipt ${hash}`, (rpc) => rpc.getTransactionReceipt(hash))
  yield* compare(pair, "logs", (rpc) => rpc.getLogs({ address: token }, { fromBlock: first, toBlock: head }))
  for (const one of beginning.people) {
    for (const tag of ["latest", "pending"] as const) {
      yield* compare(pair, `count ${one} ${tag}`, (rpc) => rpc.getTransactionCount(one, tag))
    }
    yield* compare(pair, `coin ${one}`, (rpc) => rpc.getBalance(one))
    const data: EvmHex.Hex = `0x70a08231${one.slice(2).padStart(64, "0")}`
    yield* compare(pair, `balance ${one}`, (rpc) => rpc.call({ to: token, data, gas: 100_000n }))
  }
})

/** Runs on a chain of its own, so that the state of an earlier program does not interfere. */
const run = Effect.fnUntraced(function* (seed: string, planted: EvmModelPair.Planted = {}) {
  const begun = yield* EvmModelPair.begin
  const pair = yield* EvmModelPair.make(begun, planted)
  const luck = TrialRandom.make(seed)
  const memory = EvmModelProgram.remember()
  const draw = EvmModelProgram.make(begun, luck, memory)
  const sent = new Set<EvmHex.Hex>()
  let time = pair.modelChain.head().time
  for (let step = 0; step < steps; step++) {
    const what = luck.below(100)
    if (what < 55) yield* send(pair, draw, sent)
    else if (what < 75) {
      time += BigInt(luck.between(1, 15))
      yield* pair.mine(time, luck.perMille(600) ? BigInt(luck.between(100, 3_000)) * 1_000_000n : undefined)
    } else if (what < 80) yield* reorganise(pair, luck)
    else yield* question(pair, luck, draw)
    if (step % 10 === 9) yield* compareAll(pair, sent)
  }
  yield* compareAll(pair, sent)
})

const send = Effect.fnUntraced(function* (
  pair: EvmModelPair.EvmModelPair,
  draw: ReturnType<typeof EvmModelProgram.make>,
  sent: Set<EvmHex.Hex>
) {
  const head = pair.modelChain.head()
  const next = (account: Parameters<typeof EvmModelChain.nonceAt>[1]) =>
    pair.modelChain.pool.behind(account, EvmModelChain.nonceAt(head, account))
  const bytes = yield* Effect.promise(() => draw.transaction(next, head.time, head.baseFee))
  const outcome = yield* compare(pair, `send ${bytes}`, (rpc) => rpc.sendRawTransaction(bytes))
  if (typeof outcome === "object" && outcome !== null && "hash" in outcome && EvmHex.isHex(outcome.hash))
    sent.add(outcome.hash)
})

const reorganise = Effect.fnUntraced(function* (pair: EvmModelPair.EvmModelPair, luck: TrialRandom.TrialRandom) {
  const depth = luck.between(1, 5)
  yield* pair.beginning.chain.request("anvil_dropAllTransactions")
  pair.modelChain.pool.clear()
  const places = new Map<EvmHex.Hex, number>()
  const cut = new Set<string>()
  const head = pair.modelChain.head()
  for (let up = 0; up < depth; up++) {
    for (const { transaction } of pair.modelChain.blockAt(head, head.number - BigInt(depth - 1 - up))?.mined ?? []) {
      if (luck.perMille(400)) cut.add(transaction.from)
      if (!cut.has(transaction.from)) places.set(transaction.hash, up)
    }
  }
  yield* pair.reorganise(depth, (hash) => places.get(hash))
})

const question = Effect.fnUntraced(function* (
  pair: EvmModelPair.EvmModelPair,
  luck: TrialRandom.TrialRandom,
  draw: ReturnType<typeof EvmModelProgram.make>
) {
  const { beginning, modelChain } = pair
  const head = modelChain.head()
  const token = beginning.token.domain.verifyingContract
  const from = EvmModelPair.addressOf(beginning.chain.accounts.signers[0].address)
  const known = luck.pick(pair.hashes().slice(-8))
  if (luck.perMille(300)) return yield* questionByHash(pair, luck, draw, known)
  const block = luck.pick([
    "latest",
    "safe",
    "finalized",
    head.number,
    head.number - 1n,
    head.number + 1n,
    head.number - 3n
  ] as const)
  switch (luck.below(8)) {
    case 0: {
      const data = draw.transferData(head.time)
      return yield* compare(pair, `call ${data} ${block}`, (rpc) =>
        rpc.call({ from, to: token, data, gas: 150_000n }, block)
      )
    }
    case 1: {
      const data: EvmHex.Hex = `${TransferProbe.bytecode}${draw.settleData(head.time, true).slice(10)}`
      return yield* compare(pair, `probe ${data}`, (rpc) => rpc.call({ from, data, gas: 2_000_000n }, block))
    }
    case 2: {
      const data = draw.settleData(head.time)
      const gas = luck.pick([2_000_000n, 300_000n])
      return yield* compare(pair, `settle ${data}`, (rpc) =>
        rpc.call({ from, to: beginning.settler, data, gas }, block)
      )
    }
    case 3:
      return yield* compare(pair, `count ${block}`, (rpc) => rpc.getTransactionCount(from, block))
    case 4: {
      const fromBlock = head.number - BigInt(luck.below(6))
      const toBlock = head.number + BigInt(luck.below(3)) - 1n
      return yield* compare(pair, `logs ${fromBlock} ${toBlock}`, (rpc) =>
        rpc.getLogs({ address: token }, { fromBlock, toBlock })
      )
    }
    case 5: {
      const { terms } = draw.authorization(head.time)
      const data: EvmHex.Hex = `0xe94a0102${terms.from.slice(2).padStart(64, "0")}${terms.nonce.slice(2)}`
      return yield* compare(pair, `state ${data}`, (rpc) => rpc.call({ to: token, data, gas: 100_000n }, block))
    }
    case 6:
      return yield* compare(pair, `block ${block}`, (rpc) => rpc.getBlock(block))
    default: {
      const fees = { maximum: luck.pick([1n, 10n ** 9n, 10n ** 16n]), priority: 1n }
      const data = draw.transferData(head.time)
      return yield* compare(pair, `dear call ${data}`, (rpc) =>
        rpc.call({ from, to: token, data, gas: 150_000n, fees }, block)
      )
    }
  }
})

/** A block by its hash, which may have given way. */
const questionByHash = Effect.fnUntraced(function* (
  pair: EvmModelPair.EvmModelPair,
  luck: TrialRandom.TrialRandom,
  draw: ReturnType<typeof EvmModelProgram.make>,
  known: EvmHex.Hex
) {
  const { beginning, modelChain } = pair
  const token = beginning.token.domain.verifyingContract
  const from = EvmModelPair.addressOf(beginning.chain.accounts.signers[0].address)
  const data = draw.transferData(modelChain.head().time)
  const asks: ReadonlyArray<Ask> = [
    (rpc, hash) => rpc.getLogs({ address: token }, { hash: hash(known) }),
    (rpc, hash) => rpc.call({ from, to: token, data, gas: 150_000n }, { hash: hash(known) }),
    (rpc, hash) => rpc.getTransactionCount(from, { hash: hash(known) }),
    (rpc, hash) => rpc.getCode(token, { hash: hash(known) })
  ]
  const place = luck.below(asks.length)
  const ask = asks[place]
  if (ask !== undefined) yield* compare(pair, `question ${place} at ${known}`, ask)
})

const onItsOwnChain = (program: number, planted?: EvmModelPair.Planted) =>
  Effect.scoped(Effect.provide(run(`model ${program}`, planted), EvmTestChain.layer({ noMining: true, payers: 6 })))

describe("the modelled EVM chain answers as anvil does", () => {
  for (let program = 0; program < programs; program++) it.live(`program ${program}`, () => onItsOwnChain(program))
})

describe("a planted difference of the model is found:", () => {
  const plants: Readonly<Record<string, EvmModelPair.Planted>> = {
    "a replacement need not be dearer": { dialect: { ...NodeDialect.anvil, replaces: () => true } },
    "a transaction that offers too little waits": { dialect: { ...NodeDialect.anvil, cheapWaits: true } },
    "signatures are under another name": { domainName: "Other Dollar" },
    "logs are capped": { logRange: 2 }
  }
  for (const [what, planted] of Object.entries(plants)) {
    it.live(what, () =>
      Effect.gen(function* () {
        for (let program = 0; program < programs; program++) {
          const exit = yield* Effect.exit(onItsOwnChain(program, planted))
          if (Exit.isFailure(exit)) return assert.match(Cause.pretty(exit.cause), /AssertionError/)
        }
        assert.fail("no program shows it")
      })
    )
  }
})
