/** The routes of a shop as Markdown for language models (`/llms.txt`, llmstxt.org): the same facts as the OpenAPI document. */
import type { PricedRoute } from "../route/PricedRoute.ts"
import type { DiscoveryOptions } from "./DiscoveryOptions.ts"
import * as ListedRoutes from "./ListedRoutes.ts"

/** The text. */
export const of = (
  { description, docs, guidance, title }: DiscoveryOptions,
  origin: string,
  routes: ReadonlyArray<ListedRoutes.ListedRoute>
): string =>
  [
    `# ${line(title)}`,
    ...(description === undefined ? [] : [`> ${line(description)}`]),
    ...(guidance === undefined ? [] : [guidance]),
    "Each request is paid for: the first one is answered 402 with its offers, and the same request with a signed payment brings the response.",
    "## Resources",
    ListedRoutes.of(routes)
      .map(({ key, route }) => {
        const words = route.description === undefined ? "" : `: ${line(route.description)}`
        return `- ${key.method} ${origin}${ListedRoutes.pathOf(key)}${words} (${priceOf(route)})`
      })
      .join("\n"),
    "## Documents",
    [
      `- [OpenAPI](${origin}/openapi.json)`,
      ...Object.entries(docs ?? {}).map(([name, place]) => `- [${name}](${new URL(place, origin).href})`)
    ].join("\n")
  ].join("\n\n") + "\n"

/** Free text as one line, so that it cannot begin a heading or a list. */
const line = (text: string): string => text.replaceAll(/\s+/g, " ").trim()

const priceOf = (route: PricedRoute): string =>
  route.options
    .map((option) => {
      const amount = ListedRoutes.amountOf(route, option)
      const price = amount === undefined ? "priced by the request" : ListedRoutes.decimal(amount, option.asset.decimals)
      return `${price} ${option.asset.symbol} on ${option.network}`.replace("request ", "request, in ")
    })
    .join(", or ")
