/**
 * Signature of a webhook, which proves its sender and its age: `Pontage-Signature: t=<unix seconds>,v1=<hex>`, where `v1` is
 * the HMAC-SHA256 of `<t>.<body>` by the shared secret (apps/docs/protocol.md#d26-delivery).
 */
import { createHmac, timingSafeEqual } from "node:crypto"

/** The header's name. */
export const header = "Pontage-Signature"

/** Largest age of a webhook, and largest lead of its clock, in seconds. */
export const toleranceSeconds = 300

/** Longest header that is parsed, in characters; the facilitator's own are shorter. */
const longestHeader = 1024

const macOf = (secret: string, time: string, body: string): Buffer =>
  createHmac("sha256", secret).update(`${time}.${body}`).digest()

/** The header's value for a body that is sent at this time (Unix seconds). */
export const sign = (secret: string, body: string, time: number): string =>
  `t=${time},v1=${macOf(secret, `${time}`, body).toString("hex")}`

/**
 * Whether a webhook's body is genuine and fresh; for receivers of webhooks. `body` is the exact text that was received, `now`
 * is in Unix seconds. One of several `v1` has to match, so that a secret can be replaced while both are in use. Returns false
 * for anything malformed and never throws.
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
