/**
 * Control of a local chain that a real one does not offer: mining by hand, drops, reorganisations, balances. Every effect dies
 * on the node's error, which is a mistake of the test.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Address, Hash, Hex } from "viem"

/** The controls of one node. */
export interface AnvilControl {
  /** One raw JSON-RPC request. */
  readonly request: (method: string, params?: ReadonlyArray<unknown>) => Effect.Effect<unknown>
  /** Mines blocks now; default one. */
  readonly mine: (blocks?: number) => Effect.Effect<void>
  /** Switches "a block for each transaction" on or off; off also stops interval mining. */
  readonly setAutomine: (enabled: boolean) => Effect.Effect<void>
  /** Sets the seconds between blocks. */
  readonly setIntervalMining: (seconds: number) => Effect.Effect<void>
  /** Removes a pending transaction, and with it all later ones of its sender. */
  readonly drop: (hash: Hash) => Effect.Effect<void>
  /** Keeps the chain's state; the returned id restores it once. */
  readonly snapshot: Effect.Effect<Hex>
  /** Goes back to a snapshot. */
  readonly revert: (snapshot: Hex) => Effect.Effect<void>
  /**
   * Replaces the last blocks by empty ones: their transactions vanish and do not return to the pool. The node mines nothing of its own
   * meanwhile, and no other request may have it mine.
   */
  readonly reorg: (depth: number) => Effect.Effect<void>
  /** Sets an account's coin, in wei. */
  readonly setBalance: (address: Address, wei: bigint) => Effect.Effect<void>
  /** Replaces an account's code. */
  readonly setCode: (address: Address, code: Hex) => Effect.Effect<void>
  /** The time of the next block, in seconds since 1970; later than the latest block's. */
  readonly setNextBlockTimestamp: (seconds: bigint) => Effect.Effect<void>
  /** The base fee of the next block, in wei; pending transactions that offer less are evicted. */
  readonly setNextBlockBaseFee: (wei: bigint) => Effect.Effect<void>
}

const Quantity = Schema.String.check(Schema.isPattern(/^0x[0-9a-f]+$/))
const decodeQuantity = Schema.decodeUnknownSync(Quantity)
const decodeMining = Schema.decodeUnknownSync(
  Schema.Struct({ isAuto: Schema.Boolean, interval: Schema.NullOr(Schema.Number) })
)
const decodeHeader = Schema.decodeUnknownSync(
  Schema.NullOr(Schema.Struct({ hash: Schema.String, parentHash: Schema.String }))
)

type Request = AnvilControl["request"]

/**
 * Runs an effect while the node mines nothing of its own. The node takes blocks back without waiting for the block that it is mining at
 * that moment. That block then stays at its old number, above numbers without any block, and its transactions are missing from the
 * state: no client can make sense of such a chain.
 */
const whileMiningRests = (request: Request, effect: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.acquireUseRelease(
    Effect.gen(function* () {
      const isAuto = yield* request("anvil_getAutomine")
      const mining = decodeMining({ isAuto, interval: yield* request("anvil_getIntervalMining") })
      if (mining.isAuto) yield* request("evm_setAutomine", [false])
      if (mining.interval !== null) yield* request("evm_setIntervalMining", [0])
      return mining
    }),
    () => Effect.andThen(untilNothingIsMined(request), effect),
    ({ interval, isAuto }) =>
      Effect.andThen(
        isAuto ? request("evm_setAutomine", [true]) : Effect.void,
        interval === null ? Effect.void : request("evm_setIntervalMining", [interval])
      )
  )

const headOf = (request: Request) => Effect.map(request("eth_blockNumber"), (answer) => BigInt(decodeQuantity(answer)))

/** The node answers a call behind the blocks that it had begun to mine before: two equal heads around calls show that there are none. */
const untilNothingIsMined = (request: Request): Effect.Effect<void> =>
  Effect.gen(function* () {
    const call = request("eth_call", [{ to: `0x${"0".repeat(40)}`, data: "0x" }, "latest"])
    yield* call
    const head = yield* headOf(request)
    yield* call
    if ((yield* headOf(request)) !== head) yield* untilNothingIsMined(request)
  })

/** Takes blocks back, and sees to it that the new ones follow each other from the last common one on, up to the same number. */
const reorganise = Effect.fnUntraced(function* (request: Request, depth: number) {
  const head = yield* headOf(request)
  const numbers = Array.from({ length: depth + 1 }, (_, up) => head - BigInt(depth - up))
  const headerOf = (number: bigint) =>
    Effect.map(request("eth_getBlockByNumber", [quantity(number), false]), decodeHeader)
  yield* request("anvil_reorg", [depth, []])
  const headers = yield* Effect.forEach(numbers, headerOf)
  const isWhole = headers.every(
    (header, index) => header !== null && (index === 0 || header.parentHash === headers[index - 1]?.hash)
  )
  if (isWhole && (yield* headOf(request)) === head) return
  yield* Effect.die(
    new Error(
      `The node mined during a reorganisation of ${depth} blocks from ${head}, which breaks its chain; mine before or after it`
    )
  )
})

const quantity = (value: bigint | number): Hex => `0x${value.toString(16)}`

/** The controls of a node, given a function that sends it a request. */
export const make = (send: (method: string, params: ReadonlyArray<unknown>) => Promise<unknown>): AnvilControl => {
  const request = (method: string, params: ReadonlyArray<unknown> = []) => Effect.promise(() => send(method, params))
  const command = (method: string, ...params: ReadonlyArray<unknown>) => Effect.asVoid(request(method, params))
  return {
    request,
    mine: (blocks = 1) => command("anvil_mine", quantity(blocks)),
    setAutomine: (enabled) => command("evm_setAutomine", enabled),
    setIntervalMining: (seconds) => command("evm_setIntervalMining", seconds),
    drop: (hash) => command("anvil_dropTransaction", hash),
    snapshot: Effect.map(request("evm_snapshot"), (id): Hex => `0x${String(id).slice(2)}`),
    revert: (snapshot) =>
      Effect.flatMap(request("evm_revert", [snapshot]), (done) =>
        done === true ? Effect.void : Effect.die(new Error(`There is no snapshot ${snapshot}`))
      ),
    reorg: (depth) => whileMiningRests(request, reorganise(request, depth)),
    setBalance: (address, wei) => command("anvil_setBalance", address, quantity(wei)),
    setCode: (address, code) => command("anvil_setCode", address, code),
    setNextBlockTimestamp: (seconds) => command("evm_setNextBlockTimestamp", quantity(seconds)),
    setNextBlockBaseFee: (wei) => command("anvil_setNextBlockBaseFeePerGas", quantity(wei))
  }
}
