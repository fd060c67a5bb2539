/**
 * The remaining use of a refused payment, as a payer reads it on a receipt. A server's mistake in it loses only this
 * part: the receipt stays valid.
 */
import * as RouteToken from "../../protocol/RouteToken.ts"
import type { IfRefused } from "../../protocol/Settlement.ts"
import * as Shape from "../../protocol/Shape.ts"

const strict = /* @__PURE__ */ Shape.struct<IfRefused>({
  routeToken: /* @__PURE__ */ Shape.guarded("a route token", RouteToken.isToken),
  runs: Shape.int,
  until: Shape.int
})

/** The shape; a malformed value reads as `undefined`. */
export const ifRefused: Shape.Shape<IfRefused | undefined> = {
  read: (value) => {
    const read = strict.read(value)
    return read instanceof Shape.Fault ? undefined : read
  }
}
