/**
 * The options of a shop that is opened to be measured.
 */
import * as Schema from "effect/Schema"

/** Without a facilitator nothing is sold: the framework alone. */
export const MeasuredShopOptions = Schema.Struct({
  facilitator: Schema.optionalKey(Schema.String),
  payTo: Schema.TemplateLiteral(["0x", Schema.String]),
  /** Default: a free one. */
  port: Schema.optionalKey(Schema.Number)
})

/** Told to a shop. */
export type MeasuredShopOptions = typeof MeasuredShopOptions.Type
