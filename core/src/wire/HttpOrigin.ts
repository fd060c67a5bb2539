/**
 * How the questions of our own programs get out: over the `fetch` that the user gives, or else over what costs the platform
 * least. That is chosen when this module is resolved (`imports` in package.json), so that no bundle for browsers ever sees
 * Node's modules and nothing is asked of the platform at run time.
 */
import * as Platform from "#http-origin"

import * as FetchOrigin from "./FetchOrigin.ts"
import type { HttpOrigin } from "./HttpCall.ts"

export type { HttpAnswer, HttpCall, HttpOrigin } from "./HttpCall.ts"

/**
 * The server at an origin, for example `https://node.example:8545`.
 *
 * @category constructors
 */
export const at = (origin: string, fetch?: typeof globalThis.fetch): HttpOrigin =>
  fetch === undefined ? Platform.at(origin) : FetchOrigin.at(origin, fetch)
