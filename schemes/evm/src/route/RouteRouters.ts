/** The routers of payments that go on to another chain: one contract for each kind of bridge, at the same address on every chain. */
import * as EvmAddress from "../primitives/EvmAddress.ts"

/** LayerZero's OFTs, and Circle's CCTP. */
export type RouteKind = "oft" | "cctp"

/** A router. */
export interface RouteRouter {
  readonly address: EvmAddress.Address
  /** The number of its kind in a nonce. */
  readonly number: number
}

/** The contracts `BridgeRouter` and `CctpRouter`; a test compares them with our bytecode. */
export const routers: Readonly<Record<RouteKind, RouteRouter>> = {
  oft: { address: /* @__PURE__ */ EvmAddress.fromTail("0x47300981940ea8aeb7e16d1b61919f93459fc3f1"), number: 1 },
  cctp: { address: /* @__PURE__ */ EvmAddress.fromTail("0x473a9029ec26c95480c3fb1e554550c2b2a15e80"), number: 2 }
}

/** The kind of a text; `undefined` for another text. */
export const kindIn = (text: unknown): RouteKind | undefined => (text === "oft" || text === "cctp" ? text : undefined)

/** The kind of the router at an address; `undefined` for every other address. */
export const kindAt = (address: EvmAddress.Address): RouteKind | undefined => {
  if (address === routers.oft.address) return "oft"
  return address === routers.cctp.address ? "cctp" : undefined
}
