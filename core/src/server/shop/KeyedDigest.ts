/**
 * Names that only a holder of the shop's secret can make: `base64url(HMAC-SHA-256(secret, JSON of the fields))`. The first
 * field is the purpose, which keeps the names of one kind apart from those of another and from challenges.
 */
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"

import * as BoundedMap from "../../platform/BoundedMap.ts"
import type { HashFunctions } from "../../platform/Hash.ts"

/** The part of a challenge signer that names need. */
export interface Keyed {
  readonly hash: HashFunctions
  readonly secret: Uint8Array
}

type Fields = readonly [purpose: string, ...fields: ReadonlyArray<string | null>]

const utf8 = new TextEncoder()

const digestOf = ({ hash, secret }: Keyed, message: string): Effect.Effect<string> =>
  Effect.map(hash.hmacSha256(secret, utf8.encode(message)), (bytes) => Base64Url.encode(bytes))

/** The name, 43 characters. */
export const make = (keyed: Keyed, fields: Fields): Effect.Effect<string> => digestOf(keyed, JSON.stringify(fields))

/** Limit on remembered names per secret; the oldest is dropped first. */
const capacity = 4_096
/** The longest message whose name is remembered, in characters: strangers choose the targets of requests. */
const longest = 512
const memories = new WeakMap<Uint8Array, BoundedMap.BoundedMap<string, string>>()

const memoryOf = (secret: Uint8Array): BoundedMap.BoundedMap<string, string> => {
  const known = memories.get(secret)
  if (known !== undefined) return known
  const memory = BoundedMap.oldestOut<string, string>(capacity)
  memories.set(secret, memory)
  return memory
}

/** A name that is needed repeatedly, such as that of a route or of a buyer's address: it is computed once. */
export const remembered = (keyed: Keyed, fields: Fields): Effect.Effect<string> => ofText(keyed, JSON.stringify(fields))

/** The same for a message of another form, such as that of a challenge, which is needed for the offer and for its payment. */
export const ofText = (keyed: Keyed, message: string): Effect.Effect<string> => {
  if (message.length > longest) return digestOf(keyed, message)
  const memory = memoryOf(keyed.secret)
  const known = memory.get(message)
  if (known !== undefined) return Effect.succeed(known)
  return Effect.map(digestOf(keyed, message), (name) => {
    memory.set(message, name)
    return name
  })
}
