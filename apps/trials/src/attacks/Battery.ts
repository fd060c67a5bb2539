/**
 * All attacks.
 */
import type { Attack } from "./Attack.ts"
import * as BuyerAttacks from "./BuyerAttacks.ts"
import * as EvmChainAttacks from "./EvmChainAttacks.ts"
import * as EvmGasAttacks from "./EvmGasAttacks.ts"
import * as EvmNodeAttacks from "./EvmNodeAttacks.ts"
import * as HostAttacks from "./HostAttacks.ts"
import * as KoaAttacks from "./KoaAttacks.ts"
import * as McpAttacks from "./McpAttacks.ts"
import * as NestAttacks from "./NestAttacks.ts"
import * as PriceAttacks from "./PriceAttacks.ts"
import * as RecordAttacks from "./RecordAttacks.ts"
import * as RefusedAttacks from "./RefusedAttacks.ts"
import * as RepeatAttacks from "./RepeatAttacks.ts"
import * as ServiceAttacks from "./ServiceAttacks.ts"
import * as TonAttacks from "./TonAttacks.ts"
import * as TronAttacks from "./TronAttacks.ts"

/** Attacks on what a shop sells: records, prices, repeated payments, hosts and their routes. */
export const shopBattery: ReadonlyArray<Attack> = [
  ...RecordAttacks.attacks,
  ...PriceAttacks.attacks,
  ...RefusedAttacks.attacks,
  ...RepeatAttacks.attacks,
  ...HostAttacks.attacks,
  ...KoaAttacks.attacks,
  ...NestAttacks.attacks,
  ...McpAttacks.attacks
]

/** Attacks on the facilitator's process, on buyers, and on EVM chains and their nodes. */
export const evmBattery: ReadonlyArray<Attack> = [
  ...ServiceAttacks.attacks,
  ...BuyerAttacks.attacks,
  ...EvmGasAttacks.attacks,
  ...EvmChainAttacks.attacks,
  ...EvmNodeAttacks.attacks
]

/** Attacks on TON and TRON. */
export const tonTronBattery: ReadonlyArray<Attack> = [...TonAttacks.attacks, ...TronAttacks.attacks]

/** In the order of the table. */
export const battery: ReadonlyArray<Attack> = [...shopBattery, ...evmBattery, ...tonTronBattery]
