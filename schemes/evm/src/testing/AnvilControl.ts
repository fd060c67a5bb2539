/**
 * Control of a local chain that a real one does not offer: mining by hand, drops, reorganisations, balances. Every effect dies
 * on the node's error, which is a mistake of the test.
 */
import * as Effect from "effect/Effect"
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
  /** Replaces the last blocks by empty ones: their transactions vanish and do not return to the pool. */
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
    reorg: (depth) => command("anvil_reorg", depth, []),
    setBalance: (address, wei) => command("anvil_setBalance", address, quantity(wei)),
    setCode: (address, code) => command("anvil_setCode", address, code),
    setNextBlockTimestamp: (seconds) => command("evm_setNextBlockTimestamp", quantity(seconds)),
    setNextBlockBaseFee: (wei) => command("anvil_setNextBlockBaseFeePerGas", quantity(wei))
  }
}
