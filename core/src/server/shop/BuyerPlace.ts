/**
 * The name of a buyer's network place at the facilitator. It is keyed by the shop's secret: the facilitator can tell
 * places apart, but learns no address and cannot recognise one at another shop.
 */
import * as Effect from "effect/Effect"

import { CurrentBuyer } from "../../facilitator/CurrentBuyer.ts"
import * as AddressPlace from "../../protocol/AddressPlace.ts"
import * as KeyedDigest from "./KeyedDigest.ts"

/** Characters of a name: 132 bits, so no two places share one. */
const characters = 22

/** The name of an address's place; `undefined` if no address is known. */
export const digest = (keyed: KeyedDigest.Keyed, address: string | undefined): Effect.Effect<string | undefined> =>
  address === undefined || address === ""
    ? Effect.undefined
    : Effect.map(KeyedDigest.remembered(keyed, ["buyer's place", AddressPlace.of(address.slice(0, 100))]), (digest) =>
        digest.slice(0, characters)
      )

/** Names the place of an address to the facilitator in every request of the effect. */
export const named = <A, E>(
  keyed: KeyedDigest.Keyed,
  address: string | undefined,
  effect: Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.flatMap(digest(keyed, address), (buyer) => Effect.provideService(effect, CurrentBuyer, buyer))
