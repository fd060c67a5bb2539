/**
 * For whom a seller asks the facilitator: the place that the paid request came from, as an opaque text. A facilitator holds
 * what strangers do against their places and not against the seller, and learns nobody's address.
 */
import * as Context from "effect/Context"

/**
 * The buyer's place, 16 to 64 characters of base64url, the same for each request from there; `undefined` where it is not
 * known.
 */
export const CurrentBuyer: Context.Reference<string | undefined> = Context.Reference<string | undefined>(
  "@pontage/core/CurrentBuyer",
  { defaultValue: () => undefined }
)
