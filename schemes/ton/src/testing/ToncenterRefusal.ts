/**
 * Errors of toncenter's API: an HTTP status and a text.
 */
import * as Schema from "effect/Schema"

/** A request without a result. */
export class ToncenterRefusal extends Schema.TaggedError<ToncenterRefusal>("@pontage/ton/testing/ToncenterRefusal")(
  "ToncenterRefusal",
  {
    /** The HTTP status, which is also the `code` in the body. */
    status: Schema.Int,
    message: Schema.String
  }
) {}

/** Refuses a request with an HTTP status and the text of the error. */
export const refuse = (status: number, message: string): ToncenterRefusal => new ToncenterRefusal({ status, message })
