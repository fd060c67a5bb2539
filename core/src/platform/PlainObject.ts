/** Plain objects: what literals, `JSON.parse` and the parsers of forms and queries make. */

/**
 * Whether a value is a plain object, of this realm or another. Parsers give their objects a prototype of null, or an empty one, so that no
 * name is inherited. Inherited members are refused, because one place would read them and the next would miss them.
 */
export const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  if (typeof prototype !== "object" || prototype === null) return prototype === null
  if (Object.getPrototypeOf(prototype) !== null) return false
  return Object.hasOwn(prototype, "isPrototypeOf") || Reflect.ownKeys(prototype).length === 0
}
