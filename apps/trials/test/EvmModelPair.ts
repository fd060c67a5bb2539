/**
 * A real node and the model of it, begun in the same state and driven by the same hand: anvil with the compiled contracts on one
 * side, the model on the other, both asked through the very questions of the scheme.
 */
import { assert } from "@effect/vitest"
import { HttpOrigin } from "@pontage/core"
import { EvmAddress, type EvmCrypto, EvmHex, EvmRpc } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import { BatchSettler, EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as EvmModelChain from "../src/simulation/evm/model/EvmModelChain.ts"
import * as EvmModelRpc from "../src/simulation/evm/model/EvmModelRpc.ts"
import * as EvmModelState from "../src/simulation/evm/model/EvmModelState.ts"
import { slots } from "../src/simulation/evm/model/EvmModelToken.ts"
import type { ModelToken } from "../src/simulation/evm/model/EvmModelToken.ts"
import type { EvmModelView } from "../src/simulation/evm/model/EvmModelView.ts"
import { usualDepths } from "../src/simulation/evm/model/EvmModelView.ts"
import * as NodeDialect from "../src/simulation/evm/model/NodeDialect.ts"

/** Where programs begin, and the time of the block there. */
const firstBlock = 80n
const firstTime = 1_900_000_000n
/** Blocks before that which the model knows, so that `safe` and `finalized` name one that it has. */
const blocksBefore = 70n

/** The address where the settler's code is put; the model does not cover its deployment. */
const settler = EvmAddress.fromTail("0x00000000000000000000000000000000005e771e")

/** Everything that a program starts from. */
export interface PairBeginning {
  readonly chain: EvmTestChain.Shape
  readonly crypto: EvmCrypto.Shape
  readonly token: ModelToken
  readonly settler: EvmAddress.Address
  /** Everybody who has coin or tokens. */
  readonly people: ReadonlyArray<EvmAddress.Address>
}

const orDie = Effect.orDie

export const addressOf = (text: string): EvmAddress.Address => EvmAddress.fromTail(EvmHex.fromTrusted(text))

/** Makes the chain ready; after it only a pair drives it. */
export const begin = Effect.gen(function* () {
  const chain = yield* EvmTestChain.EvmTestChain
  const { accounts, rpcUrl } = chain
  yield* chain.setCode(settler, BatchSettler.runtime)
  const real = yield* orDie(EvmRpc.make({ url: rpcUrl, network: chain.network }))
  const made = yield* orDie(real.blockNumber)
  yield* chain.mine(Number(firstBlock - made - 1n))
  yield* chain.setNextBlockTimestamp(firstTime)
  yield* chain.mine()
  const { address, decimals, name, version } = chain.token
  const domain = { name, version, chainId: chain.chainId, verifyingContract: addressOf(address) }
  const { deployer, payee, payers, signers, stranger } = accounts
  const people = [deployer, payee, stranger, ...signers, ...payers].map((account) => addressOf(account.address))
  const token: ModelToken = { domain, decimals, owner: addressOf(deployer.address) }
  return { chain, crypto: yield* BestCrypto.make, token, settler, people } satisfies PairBeginning
})

/** Both sides, and the hand that drives them. */
export interface EvmModelPair {
  readonly beginning: PairBeginning
  readonly real: EvmRpc.Shape
  readonly model: EvmRpc.Shape
  readonly modelChain: EvmModelChain.EvmModelChain
  /** Mines a block at this time (seconds since 1970), with this base fee (wei) or the one that follows from the chain. */
  readonly mine: (time: bigint, baseFee?: bigint) => Effect.Effect<void>
  /** The last blocks give way to others; what was in them is in the new one of this place, or has never been. */
  readonly reorganise: (depth: number, placeOf: (hash: EvmHex.Hex) => number | undefined) => Effect.Effect<void>
  readonly drop: (hash: EvmHex.Hex) => Effect.Effect<void>
  /** The real node's hash of a block of the model's, of whatever branch. */
  readonly realHash: (modelHash: EvmHex.Hex) => EvmHex.Hex | undefined
  /** Hashes of blocks that are there, or have been; the model's. */
  readonly hashes: () => ReadonlyArray<EvmHex.Hex>
}

/** Of a figure of the real node's and the model's: a fiftieth. */
export const isNear = (real: bigint, modelled: bigint, slack: bigint): boolean => {
  const difference = real > modelled ? real - modelled : modelled - real
  return difference <= slack || difference <= real / 50n
}

const blockOf = (rpc: EvmRpc.Shape, number: bigint | "latest") =>
  Effect.flatMap(orDie(rpc.getBlock(number)), (block) =>
    block === undefined ? Effect.die(new Error(`no block ${number}`)) : Effect.succeed(block)
  )

/** The state of everybody, as the real node tells it. */
const readState = Effect.fnUntraced(function* (real: EvmRpc.Shape, { people, token }: PairBeginning) {
  const state = new Map<string, bigint>()
  const at = token.domain.verifyingContract
  const word = (data: EvmHex.Hex) => Effect.map(orDie(real.call({ to: at, data })), (outcome) => BigInt(outcome.data))
  for (const one of people) {
    state.set(EvmModelState.coinOf(one), yield* orDie(real.getBalance(one)))
    state.set(EvmModelState.nonceOf(one), BigInt(yield* orDie(real.getTransactionCount(one, "latest"))))
    state.set(slots.balance(at, one), yield* word(`0x70a08231${one.slice(2).padStart(64, "0")}`))
  }
  state.set(slots.supply(at), yield* word("0x18160ddd"))
  return state
})

/** The model as a server in this process. */
const originOf = (view: () => EvmModelView) => (): HttpOrigin.HttpOrigin => ({
  send: ({ body = "" }) =>
    Effect.sync(() => {
      const { id, method, params }: { id: number; method: string; params: ReadonlyArray<unknown> } = JSON.parse(body)
      const text = JSON.stringify({ jsonrpc: "2.0", id, ...EvmModelRpc.respond(view(), method, params) })
      return { status: 200, contentType: "application/json", body: { _tag: "Read" as const, text } }
    })
})

/** Faults planted in a model, so that a difference has to be found. */
export interface Planted {
  readonly dialect?: NodeDialect.NodeDialect
  readonly domainName?: string
  readonly logRange?: number
}

/** A pair in the state of the beginning. */
export const make = Effect.fnUntraced(function* (
  beginning: PairBeginning,
  { dialect = NodeDialect.anvil, domainName, logRange }: Planted = {}
) {
  const { chain, crypto, settler } = beginning
  const { domain } = beginning.token
  const token = { ...beginning.token, domain: { ...domain, name: domainName ?? domain.name } }
  const real = yield* orDie(EvmRpc.make({ url: chain.rpcUrl, network: chain.network }))
  const first = yield* blockOf(real, firstBlock - blocksBefore)
  const code = new Map<EvmAddress.Address, EvmHex.Hex>([
    [settler, BatchSettler.runtime],
    [token.domain.verifyingContract, yield* orDie(real.getCode(token.domain.verifyingContract))]
  ])
  const blockGas = 30_000_000n
  const modelChain = EvmModelChain.make({
    chainId: chain.chainId,
    contracts: { tokens: new Map([[token.domain.verifyingContract, token]]), settler },
    code,
    crypto,
    blockGas,
    dialect,
    first: {
      number: first.number,
      time: first.timestamp,
      baseFee: first.baseFeePerGas ?? 0n,
      gasUsed: 0n,
      state: yield* readState(real, beginning)
    }
  })
  for (let number = first.number + 1n; number <= firstBlock; number++) {
    const { baseFeePerGas = 0n, timestamp } = yield* blockOf(real, number)
    modelChain.setNextBaseFee(baseFeePerGas)
    modelChain.mine(timestamp)
  }
  const view = (): EvmModelView => ({
    chain: modelChain,
    head: modelChain.head(),
    depths: usualDepths,
    ...(logRange !== undefined && { logRange })
  })
  const model = yield* orDie(
    Effect.provideService(
      EvmRpc.make({ url: "http://model.example", network: chain.network }),
      HttpOrigin.HttpOrigins,
      originOf(view)
    )
  )
  const pairs = new Map<EvmHex.Hex, EvmHex.Hex>([[modelChain.head().hash, first.hash]])
  const learn = Effect.fnUntraced(function* (from: bigint) {
    for (let number = from; number <= modelChain.head().number; number++) {
      const block = modelChain.blockAt(modelChain.head(), number)
      if (block !== undefined) pairs.set(block.hash, (yield* blockOf(real, number)).hash)
    }
  })
  const hand = handOf(beginning, real, modelChain)
  yield* learn(first.number)
  const pair: EvmModelPair = {
    beginning,
    real,
    model,
    modelChain,
    mine: (time, baseFee) =>
      Effect.andThen(
        hand.mine(time, baseFee),
        Effect.suspend(() => learn(modelChain.head().number))
      ),
    reorganise: (depth, placeOf) =>
      Effect.andThen(
        hand.reorganise(depth, placeOf),
        Effect.suspend(() => learn(modelChain.head().number - BigInt(depth) + 1n))
      ),
    drop: hand.drop,
    realHash: (hash) => pairs.get(hash),
    hashes: () => [...pairs.keys()]
  }
  return pair
})

const decodePending = Schema.decodeUnknownSync(Schema.Struct({ baseFeePerGas: Schema.String }))

const handOf = (beginning: PairBeginning, real: EvmRpc.Shape, model: EvmModelChain.EvmModelChain) => {
  const { chain } = beginning
  const mine = Effect.fnUntraced(function* (time: bigint, baseFee?: bigint) {
    const pending = yield* chain.request("eth_getBlockByNumber", ["pending", false])
    const follows = BigInt(decodePending(pending).baseFeePerGas)
    if (baseFee === undefined)
      assert.isTrue(isNear(follows, model.nextBaseFee(), 2n), `${follows} ${model.nextBaseFee()}`)
    const fee = baseFee ?? follows
    model.setNextBaseFee(fee)
    yield* chain.setNextBlockBaseFee(fee)
    yield* chain.setNextBlockTimestamp(time)
    yield* chain.mine()
    model.mine(time)
    yield* alignCoin(beginning, real, model)
  })
  const reorganise = Effect.fnUntraced(function* (depth: number, placeOf: (hash: EvmHex.Hex) => number | undefined) {
    const head = model.head()
    const gone = Array.from({ length: depth }, (_, up) => model.blockAt(head, head.number - BigInt(depth - 1 - up)))
    const placed = gone.flatMap((block) =>
      (block?.mined ?? []).flatMap(({ transaction: { bytes, hash } }) => {
        const place = placeOf(hash)
        return place === undefined ? [] : [[bytes, place] as const]
      })
    )
    yield* chain.request("anvil_reorg", [depth, placed])
    const made: Array<EvmRpc.Block> = []
    for (let up = 0; up < depth; up++) made.push(yield* blockOf(real, head.number - BigInt(depth - 1 - up)))
    model.reorganise({
      depth,
      fate: ({ hash }) => placeOf(hash) ?? "vanishes",
      time: (place) => made[place]?.timestamp ?? 0n,
      baseFee: (place) => made[place]?.baseFeePerGas ?? 0n
    })
    yield* alignCoin(beginning, real, model)
  })
  return {
    mine,
    reorganise,
    drop: (hash: EvmHex.Hex) =>
      Effect.andThen(
        chain.drop(hash),
        Effect.sync(() => {
          const dropped = model.pool.all().find((one) => one.hash === hash)
          // The real node forgets the later ones of the same account too.
          for (const one of model.pool.all())
            if (one.from === dropped?.from && one.nonce >= dropped.nonce) model.pool.drop(one.hash)
        })
      )
  }
}

/** The cost of a transaction may differ by its gas, within the model's bounds: from here on both use the real figure. */
const alignCoin = Effect.fnUntraced(function* (
  { people }: PairBeginning,
  real: EvmRpc.Shape,
  model: EvmModelChain.EvmModelChain
) {
  for (const one of people) {
    const name = EvmModelState.coinOf(one)
    const coin = yield* orDie(real.getBalance(one))
    const modelled = model.head().state.get(name) ?? 0n
    if (coin !== modelled) {
      assert.isTrue(isNear(coin, modelled, 10n ** 17n), `${name}: ${coin} and ${modelled}`)
      model.write(name, coin)
    }
  }
})
