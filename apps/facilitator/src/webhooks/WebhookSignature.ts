/**
 * The proof that a webhook comes from the facilitator and is not an old one sent again: `Pontage-Signature:
 * t=<unix seconds>,v1=<hex>`, where `v1` is HMAC-SHA256 of `<t>.<body>` by the secret both know (apps/docs/protocol.md#d26-delivery).
 */
import { createHmac, timingSafeEqual } from "node:crypto"

/** The header that carries it. */
export const header = "Pontage-Signature"

/** How old a webhook may be, and how far its clock may be ahead, in seconds. */
export const toleranceSeconds = 300

/** More than any header of ours is long; a longer one is not looked through. */
const longestHeader = 1024

const macOf = (secret: string, time: string, body: string): Buffer =>
  createHmac("sha256", secret).update(`${time}.${body}`).digest()

/** The header for a body that is sent at this time (Unix seconds). */
export const sign = (secret: string, body: string, time: number): string =>
  `t=${time},v1=${macOf(secret, `${time}`, body).toString("hex")}`

/**
 * Whether a webhook's body is genuine and fresh: for those who receive webhooks. `body` is the exact text that came, `now`
 * is Unix seconds. Of several `v1` one has to fit, so that a secret can be replaced while both are in use. Anything
 * malformed is not genuine; nothing throws.
 */
export const verifyWebhook = (secret: string, header: string | undefined, body: string, now: number): boolean => {
  if (secret === "" || header === undefined || header.length > longestHeader) return false
  const fields = header.split(",").map((field) => field.trim())
  const times = fields.flatMap((field) => /^t=([0-9]{1,12})$/.exec(field)?.[1] ?? [])
  const macs = fields.flatMap((field) => /^v1=([0-9a-f]{64})$/.exec(field)?.[1] ?? [])
  const [time] = times
  if (time === undefined || times.length > 1) return false
  if (Math.abs(now - Number(time)) > toleranceSeconds) return false
  const expected = macOf(secret, time, body)
  let genuine = false
  for (const mac of macs) if (timingSafeEqual(Buffer.from(mac, "hex"), expected)) genuine = true
  return genuine
}
