/** The routes of a shop as discovery documents list them, with their prices as people and programs read them. */
import type { PricedOption, PricedRoute } from "../route/PricedRoute.ts"
import type * as RouteKey from "../route/RouteKey.ts"

/** A sold route under one method and path. */
export interface ListedRoute {
  readonly key: RouteKey.RouteKey
  readonly route: PricedRoute
}

/** The listed routes in the order of their paths. A free route is none: nothing of it is for sale. */
export const of = (routes: ReadonlyArray<ListedRoute>): ReadonlyArray<ListedRoute> =>
  routes
    .filter(({ route }) => route.listed && !(typeof route.price === "object" && route.price[0] === 0n))
    .toSorted((one, other) => compare(one.key.text, other.key.text))

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** The path of a key: `/reports/:day`. */
export const pathOf = ({ text }: RouteKey.RouteKey): string => text.slice(text.indexOf(" ") + 1)

/** The fixed amount of an option in the smallest unit of its asset; `undefined` if each request has its own price. */
export const amountOf = ({ options, price }: PricedRoute, option: PricedOption): bigint | undefined =>
  typeof price === "function" ? undefined : price[options.indexOf(option)]

/** An amount as a decimal number of whole tokens, without zeros at its end: `0.01`. */
export const decimal = (amount: bigint, decimals: number): string => {
  const digits = `${amount}`.padStart(decimals + 1, "0")
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "")
  return fraction === "" ? whole : `${whole}.${fraction}`
}
