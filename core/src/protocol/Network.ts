/**
 * Networks by their CAIP-2 identifier, `<namespace>:<reference>`, for example `eip155:8453` or `ton:mainnet`
 * (specification 1). The namespace is the chain family; what a reference means is the family's business.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/**
 * A CAIP-2 network identifier.
 *
 * @category schemas
 */
export const Network = Schema.String.check(
  Schema.isPattern(/^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/, {
    expected: "a CAIP-2 network identifier such as eip155:8453"
  })
).pipe(Schema.brand("Network"))

/**
 * @category models
 */
export type Network = typeof Network.Type

/**
 * Whether a text is a CAIP-2 network identifier.
 *
 * @category guards
 */
export const isNetwork = /* @__PURE__ */ Schema.is(Network)

const decode = Schema.decodeUnknownResult(Network)

/**
 * The network of a text that is known to be well formed; throws otherwise.
 *
 * @category constructors
 */
export const make = (text: string): Network => Result.getOrThrow(decode(text))

/**
 * The chain family: `eip155`, `ton`, `tron`.
 *
 * @category getters
 */
export const namespace = (network: string): string => network.slice(0, network.indexOf(":"))

/**
 * The chain inside its family: a chain id, `mainnet`, `nile`.
 *
 * @category getters
 */
export const reference = (network: string): string => network.slice(network.indexOf(":") + 1)
