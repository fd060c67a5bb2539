/**
 * The buyer for whom a seller calls the facilitator: the network place of the paid request, as an opaque text. A
 * facilitator holds strangers' misuse against their places and not against the seller, and learns no address.
 */
import * as Context from "effect/Context"

/**
 * The buyer's place, 16 to 64 characters of base64url, the same for each request from there; `undefined` if unknown.
 */
export const CurrentBuyer: Context.Reference<string | undefined> = Context.Reference<string | undefined>(
  "@pontage/core/CurrentBuyer",
  { defaultValue: () => undefined }
)
