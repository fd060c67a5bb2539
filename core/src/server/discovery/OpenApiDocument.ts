/**
 * The OpenAPI document of a shop, generated from its routes: each with `x-payment-info` (draft-payment-discovery-00, and the
 * form of the agents' indexes beside it) and the call that the route describes. The 402 decides; the document only announces.
 */
import type * as Schema from "effect/Schema"

import type { JsonSchema } from "../../protocol/CallDescription.ts"
import * as Shape from "../../protocol/Shape.ts"
import type { PricedRoute } from "../route/PricedRoute.ts"
import type * as RouteKey from "../route/RouteKey.ts"
import type { DiscoveryOptions } from "./DiscoveryOptions.ts"
import * as ListedRoutes from "./ListedRoutes.ts"

/** The document. */
export const of = (
  { categories, contact, description, docs, guidance, llms = false, title, version = "1.0.0" }: DiscoveryOptions,
  origin: string,
  routes: ReadonlyArray<ListedRoutes.ListedRoute>
) => ({
  openapi: "3.1.0",
  info: {
    title,
    version,
    ...(description !== undefined && { description }),
    ...(contact && { contact }),
    ...(guidance !== undefined && { "x-guidance": guidance })
  },
  "x-service-info": {
    ...(categories && { categories }),
    docs: { ...docs, ...(llms && { llms: "/llms.txt" }) }
  },
  servers: [{ url: origin }],
  paths: pathsOf(ListedRoutes.of(routes))
})

const pathsOf = (routes: ReadonlyArray<ListedRoutes.ListedRoute>) => {
  const paths = new Map<string, Record<string, unknown>>()
  for (const listed of routes) {
    const path = templateOf(listed.key)
    const operations = paths.get(path) ?? {}
    operations[listed.key.method.toLowerCase()] = operationOf(listed, path)
    paths.set(path, operations)
  }
  return Object.fromEntries(paths)
}

/** A key's path in OpenAPI's form: `/reports/{day}`, and `{rest}` for a wildcard. */
const templateOf = (key: RouteKey.RouteKey): string =>
  ListedRoutes.pathOf(key)
    .replaceAll(/:(\w+)/g, "{$1}")
    .replaceAll(/\*\w*$/g, "{rest}")

const operationOf = ({ key, route }: ListedRoutes.ListedRoute, path: string) => {
  const { description, input } = route
  const takesBody = ["POST", "PUT", "PATCH"].includes(key.method) || input?.body !== undefined
  return {
    operationId: `${key.method.toLowerCase()}${path.replaceAll(/[^A-Za-z0-9]+/g, "_").replace(/_$/, "")}`,
    summary: description ?? key.text,
    security: [],
    parameters: [...pathParameters(path, input?.params), ...queryParameters(input?.query)],
    ...(takesBody && { requestBody: requestBodyOf(route) }),
    responses: {
      "200": { description: "The paid response", ...contentOf(route) },
      "402": { description: "Payment required; the response carries the offers" }
    },
    "x-payment-info": paymentInfoOf(route)
  }
}

const propertiesOf = (schema: JsonSchema | undefined): Readonly<Record<string, unknown>> => {
  const properties = schema?.["properties"]
  return Shape.isObject(properties) ? properties : {}
}

const pathParameters = (path: string, schema: JsonSchema | undefined) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    schema: propertiesOf(schema)[name] ?? { type: "string" }
  }))

const queryParameters = (schema: JsonSchema | undefined) => {
  const required = schema?.["required"]
  return Object.entries(propertiesOf(schema)).map(([name, property]) => ({
    name,
    in: "query",
    required: Array.isArray(required) && required.includes(name),
    schema: property
  }))
}

const mediaTypes = { json: "application/json", "form-data": "multipart/form-data", text: "text/plain" } as const

const requestBodyOf = ({ input }: PricedRoute) => {
  const schema: JsonSchema = input?.body ?? {}
  const example: Schema.Json | undefined = input?.example?.body
  const media = { schema, ...(example !== undefined && { example }) }
  return { required: input?.body !== undefined, content: { [mediaTypes[input?.bodyType ?? "json"]]: media } }
}

const contentOf = ({ mimeType, output }: PricedRoute) => {
  if (output === undefined && mimeType === undefined) return {}
  const { example, schema = {} } = output ?? {}
  return { content: { [mimeType ?? "application/json"]: { schema, ...(example !== undefined && { example }) } } }
}

const paymentInfoOf = (route: PricedRoute) => {
  const listings = route.options.flatMap((option) => {
    const { asset, extra, network, scheme } = option
    const listed = { scheme, network, asset: asset.address, extra: { ...option.proof.extra, ...extra } }
    return route.dialects.dialects.flatMap((dialect) => {
      const listing = dialect.listing?.(listed)
      return listing === undefined ? [] : [{ ...listing, option }]
    })
  })
  const protocols = new Map(listings.map(({ protocol }) => [JSON.stringify(protocol), protocol]))
  const offers = listings.flatMap(({ offer, option }) => {
    const amount = ListedRoutes.amountOf(route, option)
    return offer
      ? [
          {
            ...Object.fromEntries(Object.entries(offer)),
            amount: amount === undefined ? null : `${amount}`,
            currency: option.asset.address
          }
        ]
      : []
  })
  return { price: priceOf(route), protocols: [...protocols.values()], ...(offers.length > 0 && { offers }) }
}

/** The price in dollars where an option is in a dollar stablecoin, else in the token of the first option. */
const priceOf = (route: PricedRoute) => {
  const option = route.options.find(({ asset }) => asset.dollar) ?? route.options[0]
  const currency = option?.asset.dollar === true ? "USD" : (option?.asset.symbol ?? "USD")
  const amount = option && ListedRoutes.amountOf(route, option)
  return amount === undefined || option === undefined
    ? { mode: "dynamic", currency }
    : { mode: "fixed", currency, amount: ListedRoutes.decimal(amount, option.asset.decimals) }
}
