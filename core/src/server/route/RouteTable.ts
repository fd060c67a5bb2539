/**
 * Finds the route of a request by its path alone, for a gate in front of a router. It matches too much rather than too
 * little: the path as sent and every form that some router might make of it are looked up, and a request whose forms
 * belong to different routes is refused, because its price is ambiguous.
 */
import * as Result from "effect/Result"

import * as BoundedMap from "../../platform/BoundedMap.ts"
import { Misconfigured } from "../../protocol/ProtocolError.ts"
import * as GateResponse from "../http/GateResponse.ts"
import * as PathForms from "./PathForms.ts"
import * as RouteKey from "./RouteKey.ts"

/**
 * The result of a look-up: nothing to sell; a route with its path parameters; or a response to send without running
 * anything (OPTIONS on a sold path, or an ambiguous path).
 */
export type RouteMatch<Route> =
  | { readonly _tag: "None" }
  | { readonly _tag: "Found"; readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly _tag: "Responded"; readonly response: GateResponse.GateResponse }

/** A table of routes. */
export interface RouteTable<Route> {
  /**
   * Looks up a request by its method (in any case, as routers accept it) and its possible paths without queries (the
   * host's path, and the original one if a mount point cut it).
   */
  readonly find: (method: string, ...paths: ReadonlyArray<string>) => RouteMatch<Route>
}

interface Row<Route> {
  readonly key: RouteKey.RouteKey
  readonly route: Route
}

interface Hit<Route> {
  readonly row: Row<Route>
  readonly form: PathForms.PathForm
}

/**
 * Builds a table from keys (apps/docs/protocol.md#d28-routes) and their values. Two keys that no request can tell apart
 * are a mistake.
 */
export const make = <Route>(
  entries: ReadonlyArray<readonly [key: RouteKey.RouteKey, route: Route]>
): Result.Result<RouteTable<Route>, Misconfigured> => {
  const rows = entries
    .map(([key, route]) => ({ key, route }))
    .toSorted((one, other) => RouteKey.compare(one.key.segments, other.key.segments))
  for (const [index, { key }] of rows.entries()) {
    const twin = rows.slice(index + 1).find((other) => isTwin(key, other.key))
    if (twin !== undefined) {
      const message = `route "${key.text}": it is the same as "${twin.key.text}"; keep one`
      return Result.fail(new Misconfigured({ message }))
    }
  }
  return Result.succeed({ find: remembering(rows) })
}

/** Limits of the remembered matches: strangers choose the paths. */
const maximumMatches = 1024
const maximumNameLength = 256

/**
 * Looks rows up. A match follows from its method and its path alone, and most requests of a shop are for the same few paths without
 * parameters. The record of parameters is the caller's own each time.
 */
const remembering = <Route>(rows: ReadonlyArray<Row<Route>>): RouteTable<Route>["find"] => {
  const matches = BoundedMap.oldestOut<string, RouteMatch<Route>>(maximumMatches)
  const match = (written: string, forms: ReadonlyArray<PathForms.PathForm>): RouteMatch<Route> => {
    const method = written.toUpperCase()
    return method === "OPTIONS" ? preflight(rows, forms) : lookUp(rows, method === "HEAD" ? "GET" : method, forms)
  }
  return (method, ...paths) => {
    const [path = "/"] = paths
    if (paths.length > 1 && path !== paths[1]) return match(method, allForms(paths))
    const name = `${method} ${path}`
    const known = matches.get(name)
    if (known !== undefined) return known._tag === "Found" ? { ...known, params: {} } : known
    const found = match(method, PathForms.make(path))
    if (name.length <= maximumNameLength && !hasParams(found)) matches.set(name, found)
    return found
  }
}

const hasParams = (match: RouteMatch<unknown>): boolean =>
  match._tag === "Found" && Object.keys(match.params).length > 0

const isTwin = (one: RouteKey.RouteKey, other: RouteKey.RouteKey) =>
  one.method === other.method &&
  RouteKey.covers(one.segments, other.segments) &&
  RouteKey.covers(other.segments, one.segments)

const allForms = (paths: ReadonlyArray<string>) => paths.flatMap((path) => PathForms.make(path))

const none: RouteMatch<never> = { _tag: "None" }

const lookUp = <Route>(
  rows: ReadonlyArray<Row<Route>>,
  method: string,
  forms: ReadonlyArray<PathForms.PathForm>
): RouteMatch<Route> => {
  let found: Hit<Route> | undefined
  for (const form of forms) {
    const row = rows.find(({ key }) => key.method === method && matches(key.segments, form))
    if (row === undefined) continue
    if (found !== undefined && found.row !== row) return { _tag: "Responded", response: GateResponse.ambiguousPath }
    found ??= { row, form }
  }
  if (found === undefined) return none
  if (!isReadable(found)) return { _tag: "Responded", response: GateResponse.ambiguousPath }
  return { _tag: "Found", route: found.row.route, params: paramsOf(found) }
}

/**
 * Whether every path parameter is percent-encoded UTF-8. Routers read other values in different ways, so that a price
 * function would see another value than the handler.
 */
const isReadable = <Route>({ form, row }: Hit<Route>): boolean =>
  row.key.segments.every(
    (segment, index) => segment._tag !== "Parameter" || RouteKey.isDecodable(form.parts[index] ?? "")
  )

const preflight = <Route>(
  rows: ReadonlyArray<Row<Route>>,
  forms: ReadonlyArray<PathForms.PathForm>
): RouteMatch<Route> => {
  const sold = rows.filter(({ key }) => forms.some((form) => matches(key.segments, form)))
  if (sold.length === 0) return none
  return { _tag: "Responded", response: GateResponse.preflight(sold.map(({ key }) => key.method)) }
}

const matches = (segments: ReadonlyArray<RouteKey.Segment>, { exact, parts }: PathForms.PathForm): boolean => {
  for (const [index, segment] of segments.entries()) {
    const part = parts[index]
    if (segment._tag === "Rest") return true
    if (part === undefined) return false
    if (segment._tag === "Literal" && part !== (exact ? segment.text : segment.canonical)) return false
  }
  return segments.length === parts.length
}

const paramsOf = <Route>({ form, row }: Hit<Route>): Record<string, string> => {
  const params: Array<[string, string]> = []
  for (const [index, segment] of row.key.segments.entries()) {
    if (segment._tag === "Parameter") params.push([segment.name, form.values[index] ?? ""])
  }
  return Object.fromEntries(params)
}
