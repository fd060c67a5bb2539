/** The finality that an attestation of CCTP waits for, which is a route's `options` over it: one word. */
import * as EvmHex from "../primitives/EvmHex.ts"

/** `fast` messages are attested within seconds, for a fee of the issuer; `standard` ones once their block is final. */
export type CctpFinality = "fast" | "standard"

/** The least finality of an attestation, as CCTP counts it. */
export const thresholds: Readonly<Record<CctpFinality, number>> = { fast: 1_000, standard: 2_000 }

/** A route's options. */
export const optionsOf = (finality: CctpFinality): EvmHex.Hex => `0x${EvmHex.toWord(thresholds[finality])}`

/** The finality that a route's options ask for; `undefined` for other bytes. */
export const finalityIn = (options: EvmHex.Hex): CctpFinality | undefined => {
  if (options === optionsOf("fast")) return "fast"
  return options === optionsOf("standard") ? "standard" : undefined
}
