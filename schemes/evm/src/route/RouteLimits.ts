/** The limits of a route's parts that travel. */
import * as EvmHex from "../primitives/EvmHex.ts"

/** The longest executor's options, in bytes. */
export const longestOptions = 256

/** The largest number of a chain on a bridge. */
export const mostEndpointId = 2 ** 32 - 1

/** Whether a value is the number of a chain on the bridge: LayerZero's endpoint id, or CCTP's domain. */
export const isEndpointId = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= mostEndpointId

/** Whether a value is the executor's options. */
export const isOptions = (value: unknown): value is EvmHex.Hex =>
  EvmHex.isHex(value) && value.length <= 2 + 2 * longestOptions
