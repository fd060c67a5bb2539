/** Reads names, icons and objects that wallets give of themselves: other programs' data. */

const longestName = 64
const longestIcon = 65_536

/** Characters that would change how a page shows the text around them: controls, and marks of direction. */
const hidden = /[\p{Cc}\p{Cf}]/gu

/** A name to show as text. */
export const nameOf = (value: unknown, otherwise: string): string => {
  const text = typeof value === "string" ? value.replaceAll(hidden, "").trim() : ""
  return text === "" ? otherwise : text.slice(0, longestName)
}

/** A `data:` URI of an image, which a page shows without a request; `undefined` for everything else. */
export const iconOf = (value: unknown): string | undefined =>
  typeof value === "string" &&
  value.length <= longestIcon &&
  /^data:image\/(?:png|jpeg|webp|gif|svg\+xml)[;,]/.test(value)
    ? value
    : undefined

/** Whether a value is an object whose fields can be read. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** A field of an object of another program, whose getter may throw. */
export const fieldOf = (value: unknown, name: string): unknown => {
  try {
    return isRecord(value) || typeof value === "function" ? Reflect.get(value, name) : undefined
  } catch {
    return undefined
  }
}
