/**
 * How the questions of our own programs get out: over the `fetch` that the user gives, or else over what costs the platform
 * least. That is chosen when this module is resolved (`imports` in package.json), so that no bundle for browsers ever sees
 * Node's modules and nothing is asked of the platform at run time.
 */
import * as Context from "effect/Context"

import * as Platform from "#http-origin"

import * as FetchOrigin from "./FetchOrigin.ts"
import type { HttpOrigin } from "./HttpRequest.ts"

export type { HttpResponse, HttpRequest, HttpOrigin } from "./HttpRequest.ts"

/**
 * The way to a server where nobody gives a `fetch`. The default is the platform's; a program that simulates the network gives
 * its own.
 */
export class HttpOrigins extends Context.Reference<(origin: string) => HttpOrigin>("@pontage/core/HttpOrigins", {
  defaultValue: () => Platform.at
}) {}

/** The server at an origin, for example `https://node.example:8545`. */
export const at = (origin: string, fetch?: typeof globalThis.fetch): HttpOrigin =>
  fetch === undefined ? Platform.at(origin) : FetchOrigin.at(origin, fetch)
