/**
 * The laws of a host: the properties that every adapter keeps, whatever its framework's router, parsers and streams do.
 * Each law opens an application of its own, so the laws can run one after another.
 */
import * as HostBodyLaws from "./HostBodyLaws.ts"
import * as HostDiscoveryLaws from "./HostDiscoveryLaws.ts"
import * as HostLateLaws from "./HostLateLaws.ts"
import * as HostLimitLaws from "./HostLimitLaws.ts"
import * as HostMarket from "./HostMarket.ts"
import * as HostOptionLaws from "./HostOptionLaws.ts"
import * as HostPageLaws from "./HostPageLaws.ts"
import * as HostReceiptLaws from "./HostReceiptLaws.ts"
import * as HostRepeatLaws from "./HostRepeatLaws.ts"
import * as HostRoutingLaws from "./HostRoutingLaws.ts"
import * as HostSaleLaws from "./HostSaleLaws.ts"
import * as HostStreamLaws from "./HostStreamLaws.ts"
import { type HostLaw, type HostSubject, keyOf, Subject } from "./HostTrial.ts"

export type { HandlerReply, OpenApplication, SeenRequest, TrialApplication, TrialRoute } from "./HostTrial.ts"
export { terms } from "./HostMarket.ts"
export { type HostLaw, type HostSubject, keyOf, Subject }

/** Options of a shop on a new market, for tests of a host beside the laws. */
export const shopForTrial = () => HostMarket.open().shop

/** Laws of a host that keeps responses for routes with `repeat: "same"`. */
export const repeating: ReadonlyArray<HostLaw> = HostRepeatLaws.laws

/** Laws of a host on Node, whose applications may answer a request beside the gate. */
export const limiting: ReadonlyArray<HostLaw> = HostLimitLaws.laws

/** Laws of a host that serves the discovery documents of its shop. */
export const discovering: ReadonlyArray<HostLaw> = HostDiscoveryLaws.laws

/** Laws of a host that keeps no responses. */
export const notRepeating: ReadonlyArray<HostLaw> = HostOptionLaws.lawsWithoutRepeats

/** All laws of a host. */
export const all: ReadonlyArray<HostLaw> = [
  ...HostSaleLaws.laws,
  ...HostRoutingLaws.laws,
  ...HostStreamLaws.laws,
  ...HostLateLaws.laws,
  ...HostBodyLaws.laws,
  ...HostOptionLaws.laws,
  ...HostPageLaws.laws,
  ...HostReceiptLaws.laws
]
