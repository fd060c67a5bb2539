/**
 * The token of a route in an offer's `extra`: the same for every request of one route of one shop. A receipt names it when
 * the payment would be good for another request of the route, should this one be refused.
 */
import type { PaymentRequirements } from "./PaymentRequirements.ts"

/** The name of the token in an offer's `extra`. */
export const key = "routeToken"

/** Length of a token in characters of base64url. */
export const length = 22

/** Whether a text may be a token: other implementations may make longer ones. */
export const isToken = (value: unknown): value is string =>
  typeof value === "string" && /^[A-Za-z0-9_-]{22,64}$/.test(value)

/** The token in an offer's `extra`; `undefined` if absent. */
export const of = (extra: PaymentRequirements["extra"]): string | undefined => {
  const token = extra !== undefined && Object.hasOwn(extra, key) ? extra[key] : undefined
  return isToken(token) ? token : undefined
}
