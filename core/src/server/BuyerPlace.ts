/**
 * The name under which a facilitator knows where a buyer asks from. It is keyed by the shop's secret: the facilitator can
 * tell one place from another, and neither learns the address nor knows it again at another shop.
 */
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"

import * as AddressPlace from "../protocol/AddressPlace.ts"
import type { Notary } from "./RouteOffer.ts"

const utf8 = new TextEncoder()

/** Keeps these digests apart from the others that the same secret makes. */
const purpose = "buyer's place"

/** Two places of one name are as unlikely as anybody needs. */
const bytes = 16

/**
 * The name of the place that an address stands for; `undefined` where no address is known.
 *
 * @category constructors
 */
export const digest = (
  { hash, secret }: Pick<Notary, "hash" | "secret">,
  address: string | undefined
): Effect.Effect<string | undefined> =>
  address === undefined || address === ""
    ? Effect.undefined
    : Effect.map(
        hash.hmacSha256(secret, utf8.encode(JSON.stringify([purpose, AddressPlace.of(address.slice(0, 100))]))),
        (digest) => Base64Url.encode(digest.subarray(0, bytes))
      )
