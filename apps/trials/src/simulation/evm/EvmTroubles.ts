/**
 * The troubles of a plan, brought upon a simulated EVM chain.
 */
import type { ChainTrouble } from "../world/SimulatedChain.ts"
import type { SimulatedTime } from "../world/SimulatedTime.ts"
import type { EvmStrangers } from "./EvmStrangers.ts"
import type { EvmModelChain } from "./model/EvmModelChain.ts"
import * as SimulatedEvmNode from "./SimulatedEvmNode.ts"
import type { SimulatedPerson } from "./SimulatedEvmPeople.ts"

/** The targets of troubles. */
export interface Befallen {
  readonly chain: EvmModelChain
  readonly time: SimulatedTime
  readonly below: (bound: number) => number
  readonly nodes: ReadonlyArray<SimulatedEvmNode.SimulatedEvmNode>
  readonly signers: ReadonlyArray<SimulatedPerson>
  readonly payer: (buyer: number) => SimulatedPerson
  readonly strangers: EvmStrangers
  /** The most blocks that are ever taken back. */
  readonly deepest: number
  /** Instants, true Unix milliseconds; and the base fee of calm days. */
  readonly weather: { heldUntil: number; dearUntil: number; calmFee: bigint }
  /** The chain has another head. */
  readonly noted: () => void
}

/** Brings a trouble. */
export const bring = (befallen: Befallen, trouble: ChainTrouble): void => {
  const { below, chain, nodes, payer, signers, strangers, time, weather } = befallen
  const now = time.now()
  switch (trouble._tag) {
    case "Reorganise":
      return reorganise(befallen, trouble.depth, trouble.keepsPool)
    case "PoolEmptied":
      return chain.pool.clear()
    case "BlocksHeld":
      weather.heldUntil = Math.max(weather.heldUntil, now + trouble.millis)
      return
    case "Dear":
      weather.dearUntil = now + trouble.millis
      return chain.setNextBaseFee(chain.nextBaseFee() * BigInt(trouble.times))
    case "Dearer":
      weather.calmFee *= BigInt(trouble.times)
      return chain.setNextBaseFee(weather.calmFee)
    case "SlotUsedByStranger": {
      const signer = signers[trouble.signer % signers.length]
      return signer && strangers.useSlot(signer.address)
    }
    case "SettledByStranger":
      return strangers.submitOverheard(below)
    case "PayerEmpties":
      return strangers.empty(payer(trouble.buyer).address)
    case "NodeDown":
    case "NodeLags":
    case "ResponsesLost":
    case "SendsDropped": {
      const node = nodes[trouble.node % nodes.length]
      return node && SimulatedEvmNode.trouble(node, trouble, now)
    }
  }
}

/** Transactions wait again, and the new blocks take some of them at once; or they have never been. */
const reorganise = ({ below, chain, deepest, noted }: Befallen, depth: number, keepsPool: boolean): void => {
  const takes = below(2) === 0
  chain.reorganise({
    depth: Math.min(depth, deepest),
    fate: () => (keepsPool ? "waits" : "vanishes"),
    takes: () => keepsPool && takes && below(2) === 0
  })
  noted()
}
