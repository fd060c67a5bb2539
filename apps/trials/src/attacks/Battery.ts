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

/** In the order of the table. */
export const battery: ReadonlyArray<Attack> = [
  ...RecordAttacks.attacks,
  ...PriceAttacks.attacks,
  ...RefusedAttacks.attacks,
  ...RepeatAttacks.attacks,
  ...HostAttacks.attacks,
  ...KoaAttacks.attacks,
  ...NestAttacks.attacks,
  ...McpAttacks.attacks,
  ...ServiceAttacks.attacks,
  ...BuyerAttacks.attacks,
  ...EvmGasAttacks.attacks,
  ...EvmChainAttacks.attacks,
  ...EvmNodeAttacks.attacks,
  ...TonAttacks.attacks,
  ...TronAttacks.attacks
]
