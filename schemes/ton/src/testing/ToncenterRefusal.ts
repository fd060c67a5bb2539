/**
 * What toncenter's API answers instead of a result: an HTTP status and words.
 */
import * as Schema from "effect/Schema"

/** A request that gets no result. */
export class ToncenterRefusal extends Schema.TaggedError<ToncenterRefusal>("@pontage/ton/testing/ToncenterRefusal")(
  "ToncenterRefusal",
  {
    /** The HTTP status, which is also the `code` in the body. */
    status: Schema.Int,
    message: Schema.String
  }
) {}
