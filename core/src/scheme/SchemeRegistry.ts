/**
 * Finds the scheme plugin of one role for a scheme and a network. Each role has its own registry as a service
 * (`ClientSchemeRegistry`, `ServerSchemeRegistry`, `FacilitatorSchemeRegistry`). It is built once from a list and cannot grow later, so
 * the place of its configuration shows everything that is served.
 */
import * as Result from "effect/Result"

import { Misconfigured } from "../protocol/ProtocolError.ts"
import type { Scheme } from "./Scheme.ts"

/** The part of a plugin that the registry reads. */
export interface Registrable {
  readonly scheme: Scheme
  readonly network: string | undefined
}

/** A registry of one role's plugins. */
export interface SchemeRegistry<Plugin extends Registrable> {
  /** All plugins, in the order of their registration. */
  readonly schemes: ReadonlyArray<Plugin>
  /** The plugin for this scheme and canonical network, if one is registered. */
  readonly find: (scheme: string, network: string) => Plugin | undefined
  /** The plugin of this scheme for a family, registered without a network. */
  readonly findOpen: (scheme: string, family: string) => Plugin | undefined
}

/** Builds a registry. Two plugins for the same scheme and network are a mistake, and so is an empty list. */
export const make = <Plugin extends Registrable>(
  schemes: ReadonlyArray<Plugin>
): Result.Result<SchemeRegistry<Plugin>, Misconfigured> => {
  const byKey = new Map<string, Plugin>()
  for (const plugin of schemes) {
    const key = keyOf(plugin.scheme.name, plugin.network ?? plugin.scheme.family)
    if (byKey.has(key)) {
      const message = `schemes: "${plugin.scheme.name}" is given twice for ${plugin.network ?? plugin.scheme.family}; keep one`
      return Result.fail(new Misconfigured({ message }))
    }
    byKey.set(key, plugin)
  }
  if (byKey.size === 0) {
    return Result.fail(new Misconfigured({ message: "schemes: the list is empty; give at least one scheme" }))
  }
  return Result.succeed({
    schemes,
    find: (scheme, network) => byKey.get(keyOf(scheme, network)),
    findOpen: (scheme, family) => byKey.get(keyOf(scheme, family))
  })
}

const keyOf = (scheme: string, place: string) => `${scheme} ${place}`
