/**
 * Networks by their CAIP-2 identifier, `<namespace>:<reference>`, for example `eip155:8453` or `ton:mainnet`
 * (apps/docs/protocol.md#d4-networks). The namespace is the chain family; each family defines its references.
 */
import * as Schema from "effect/Schema"

const grammar = /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/

/** The rule for a network identifier, for error messages. */
export const expected = "a CAIP-2 network identifier such as eip155:8453"

// Every payer's bundle contains this module; bundlers drop the schema from it when its calls are marked pure.
const schema = () => Schema.String.check(Schema.isPattern(grammar, { expected })).pipe(Schema.brand("Network"))

/** A CAIP-2 network identifier. */
export const Network = /* @__PURE__ */ schema()

export type Network = typeof Network.Type

/** Whether a text is a CAIP-2 network identifier. */
export const isNetwork = (text: unknown): text is Network => typeof text === "string" && grammar.test(text)

/** The network of a well-formed text; throws `TypeError` otherwise. */
export const make = (text: string): Network => {
  if (isNetwork(text)) return text
  throw new TypeError(`expected ${expected}, got ${JSON.stringify(text)}`)
}

/** The chain family: `eip155`, `ton`, `tron`. */
export const namespace = (network: string): string => network.slice(0, network.indexOf(":"))

/** The chain inside its family: a chain id, `mainnet`, `nile`. */
export const reference = (network: string): string => network.slice(network.indexOf(":") + 1)
