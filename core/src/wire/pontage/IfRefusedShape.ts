/**
 * What a payment is still good for, as a payer reads it on a receipt. A server's mistake in it costs no more than that: the
 * receipt stays a receipt.
 */
import * as RouteToken from "../../protocol/RouteToken.ts"
import type { IfRefused } from "../../protocol/Settlement.ts"
import * as Shape from "../../protocol/Shape.ts"

const strict = /* @__PURE__ */ Shape.struct<IfRefused>({
  routeToken: /* @__PURE__ */ Shape.guarded("a route token", RouteToken.isToken),
  runs: Shape.int,
  until: Shape.int
})

/** The shape; what is not of it is as if it were not there. */
export const ifRefused: Shape.Shape<IfRefused | undefined> = {
  read: (value) => {
    const read = strict.read(value)
    return read instanceof Shape.Fault ? undefined : read
  }
}
