/**
 * A route's configuration after every check, with its prices in the smallest units of its assets.
 */

/**
 * A checked route. Adapters hand it back to `decide` and look at nothing but these.
 *
 * @category models
 */
export interface PricedRoute {
  /** As error messages call it: `GET /report`. */
  readonly name: string
  /** With `after-handler` the adapter must be able to hold the response back. */
  readonly settle: "before-handler" | "after-handler"
}
