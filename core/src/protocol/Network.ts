/**
 * Networks by their CAIP-2 identifier, `<namespace>:<reference>`, for example `eip155:8453` or `ton:mainnet`
 * (apps/docs/protocol.md#d4-networks). The namespace is the chain family; what a reference means is the family's business.
 */
import * as Schema from "effect/Schema"

const grammar = /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/

/** What a network identifier is, in words. */
export const expected = "a CAIP-2 network identifier such as eip155:8453"

// What else is here is in every payer's bundle, and that leaves the schema out if its calls are marked pure.
const schema = () => Schema.String.check(Schema.isPattern(grammar, { expected })).pipe(Schema.brand("Network"))

/** A CAIP-2 network identifier. */
export const Network = /* @__PURE__ */ schema()

export type Network = typeof Network.Type

/** Whether a text is a CAIP-2 network identifier. */
export const isNetwork = (text: unknown): text is Network => typeof text === "string" && grammar.test(text)

/** The network of a text that is known to be well formed; throws otherwise. */
export const make = (text: string): Network => {
  if (isNetwork(text)) return text
  throw new TypeError(`expected ${expected}, got ${JSON.stringify(text)}`)
}

/** The chain family: `eip155`, `ton`, `tron`. */
export const namespace = (network: string): string => network.slice(0, network.indexOf(":"))

/** The chain inside its family: a chain id, `mainnet`, `nile`. */
export const reference = (network: string): string => network.slice(network.indexOf(":") + 1)
