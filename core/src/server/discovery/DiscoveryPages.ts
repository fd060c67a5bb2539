/**
 * The discovery documents of a shop, made from its route table when it starts, so that they cannot drift from it. Only what
 * the shop offers to every stranger in its 402s is in them, and each is one text in memory.
 */
import * as Result from "effect/Result"

import { Misconfigured } from "../../protocol/ProtocolError.ts"
import type { GateResponse } from "../http/GateResponse.ts"
import type { DiscoveryOptions } from "./DiscoveryOptions.ts"
import type { ListedRoute } from "./ListedRoutes.ts"
import * as LlmsText from "./LlmsText.ts"
import * as OpenApiDocument from "./OpenApiDocument.ts"

/** The documents by their paths. */
export interface DiscoveryPages {
  readonly paths: ReadonlyArray<string>
  /** The document at a path of the shop's origin, for GET and HEAD. */
  readonly find: (method: string, path: string) => GateResponse | undefined
}

/** No documents. */
export const none: DiscoveryPages = { paths: [], find: () => undefined }

/** Makes the documents; none without options. Fails if a route is sold at the path of a document. */
export const make = (
  options: DiscoveryOptions | undefined,
  origin: string,
  routes: ReadonlyArray<ListedRoute>
): Result.Result<DiscoveryPages, Misconfigured> => {
  if (options === undefined) return Result.succeed(none)
  const pages = new Map<string, GateResponse>([
    ["/openapi.json", page("application/json", JSON.stringify(OpenApiDocument.of(options, origin, routes)))]
  ])
  if (options.llms === true) {
    pages.set("/llms.txt", page("text/plain; charset=utf-8", LlmsText.of(options, origin, routes)))
  }
  const sold = routes.find(({ key }) => pages.has(key.text.slice(key.text.indexOf(" ") + 1)))
  if (sold !== undefined) {
    const message = `discovery: ${JSON.stringify(sold.key.text)} is a sold route and the path of a discovery document; sell the route at another path`
    return Result.fail(new Misconfigured({ message }))
  }
  return Result.succeed({
    paths: [...pages.keys()],
    find: (method, path) => (/^(?:GET|HEAD)$/i.test(method) ? pages.get(path) : undefined)
  })
}

const page = (type: string, body: string): GateResponse => ({
  status: 200,
  headers: { "Content-Type": type, "Cache-Control": "public, max-age=300" },
  body
})
