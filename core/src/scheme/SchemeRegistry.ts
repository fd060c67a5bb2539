/**
 * Finds the scheme half that serves a (scheme, network). Built once from a list; there is no registering later, so what
 * is served can be read off the place where it is configured.
 */
import * as Result from "effect/Result"

import { Misconfigured } from "../protocol/ProtocolError.ts"
import type { Scheme } from "./Scheme.ts"

/**
 * What a half needs to be found.
 *
 * @category models
 */
export interface Registrable {
  readonly scheme: Scheme
  readonly network: string | undefined
}

/**
 * A registry of one role's halves.
 *
 * @category models
 */
export interface SchemeRegistry<Half extends Registrable> {
  readonly halves: ReadonlyArray<Half>
  /** The half for this scheme and canonical network, if one is registered. */
  readonly find: (scheme: string, network: string) => Half | undefined
  /** The half of this scheme for a family that was registered without a network. */
  readonly findOpen: (scheme: string, family: string) => Half | undefined
}

/**
 * Builds a registry. Two halves for the same scheme and network are a mistake, and so is an empty list.
 *
 * @category constructors
 */
export const make = <Half extends Registrable>(
  halves: ReadonlyArray<Half>
): Result.Result<SchemeRegistry<Half>, Misconfigured> => {
  const byKey = new Map<string, Half>()
  for (const half of halves) {
    const key = keyOf(half.scheme.name, half.network ?? half.scheme.family)
    if (byKey.has(key)) {
      const message = `schemes: "${half.scheme.name}" is given twice for ${half.network ?? half.scheme.family}; keep one`
      return Result.fail(new Misconfigured({ message }))
    }
    byKey.set(key, half)
  }
  if (byKey.size === 0) {
    return Result.fail(new Misconfigured({ message: "schemes: the list is empty; give at least one scheme" }))
  }
  return Result.succeed({
    halves,
    find: (scheme, network) => byKey.get(keyOf(scheme, network)),
    findOpen: (scheme, family) => byKey.get(keyOf(scheme, family))
  })
}

const keyOf = (scheme: string, place: string) => `${scheme} ${place}`
