/**
 * The way in which requests of our own programs are sent: over the `fetch` that the user gives, or else over the
 * platform's cheapest client. That client is chosen when this module is resolved (`imports` in package.json), so that
 * no bundle for browsers contains Node's modules and nothing is detected at run time.
 */
import * as Context from "effect/Context"

import * as Platform from "#http-origin"

import * as FetchOrigin from "./FetchOrigin.ts"
import type { HttpOrigin } from "./HttpRequest.ts"

export type { HttpResponse, HttpRequest, HttpOrigin } from "./HttpRequest.ts"

/**
 * The client for a server if the user gives no `fetch`. Default: the platform's; a program that simulates the network
 * provides its own.
 */
export class HttpOrigins extends Context.Reference<(origin: string) => HttpOrigin>("@pontage/core/HttpOrigins", {
  defaultValue: () => Platform.at
}) {}

/** The server at an origin, for example `https://node.example:8545`. */
export const at = (origin: string, fetch?: typeof globalThis.fetch): HttpOrigin =>
  fetch === undefined ? Platform.at(origin) : FetchOrigin.at(origin, fetch)
