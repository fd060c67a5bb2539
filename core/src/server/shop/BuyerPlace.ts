/**
 * The name under which a facilitator knows where a buyer asks from. It is keyed by the shop's secret: the facilitator can
 * tell one place from another, and neither learns the address nor knows it again at another shop.
 */
import * as Effect from "effect/Effect"

import * as AddressPlace from "../../protocol/AddressPlace.ts"
import * as KeyedDigest from "./KeyedDigest.ts"

/** 132 bits: no two places share a name. */
const characters = 22

/** The name of the place that an address stands for; `undefined` where no address is known. */
export const digest = (keyed: KeyedDigest.Keyed, address: string | undefined): Effect.Effect<string | undefined> =>
  address === undefined || address === ""
    ? Effect.undefined
    : Effect.map(KeyedDigest.remembered(keyed, ["buyer's place", AddressPlace.of(address.slice(0, 100))]), (digest) =>
        digest.slice(0, characters)
      )
