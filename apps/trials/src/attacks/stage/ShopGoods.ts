/**
 * The goods of every shop under attack, so that only the packages differ. A price may depend on the body or on a header, as
 * in real shops.
 */
import * as Schema from "effect/Schema"

/** The options of a shop's process, as the environment variable `ROLE` holds them. */
export const Role = Schema.fromJsonString(
  Schema.Struct({
    facilitator: Schema.String,
    key: Schema.String,
    rpcUrl: Schema.String,
    payTo: Schema.TemplateLiteral(["0x", Schema.String])
  })
)

/** The prices that do not change. */
export const fixed = {
  "/cheap": "$0.0001",
  "/product": "$500",
  "/report": "$0.01",
  "/stream": "$0.01",
  "/lookup": "$0.01",
  "/cached": "$0.01"
} as const

/** A dollar for a large image, a cent for any other. */
export const priceOfImage = (size: unknown): string => (size === "large" ? "$1" : "$0.01")

/** Cache headers of a handler that ignores payers. */
export const cacheable = {
  "Cache-Control": "public, max-age=3600",
  "CDN-Cache-Control": "max-age=3600",
  "Surrogate-Control": "max-age=3600",
  Expires: "Fri, 01 Jan 2100 00:00:00 GMT"
}

/** A cent a page. */
export const priceOfPages = (pages: number): string =>
  `$${Math.floor(pages / 100)}.${`${pages % 100}`.padStart(2, "0")}`

/** The price of the tier that a header names. */
export const priceOfTier = (tier: string | undefined): string => (tier === "gold" ? "$1" : "$0.01")

/** The goods. Every response that is worth its price contains the word "goods". */
export const goods = (what: string) => ({ goods: what })

/** The streamed response: forty pieces of 8 KiB, the last after a pause, as of a handler that still works on it. */
export async function* pieces() {
  yield* Array.from({ length: 39 }, (_, index) => pieceOf(index))
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  yield pieceOf(39)
}

const pieceOf = (index: number): string => `goods ${index} `.padEnd(8_191, "x").concat("\n")
