/** The headers of the page: scripts only by hash and by what such a script loads, nothing from elsewhere, no frame around it. */
import { sha256 } from "@noble/hashes/sha2.js"

/** The hash of an inline script or style, as policies name it. */
const hashOf = (text: string): string =>
  `'sha256-${btoa(String.fromCharCode(...sha256(new TextEncoder().encode(text))))}'`

/** The headers of a page with this script and style. */
export const headers = (script: string, style: string): Readonly<Record<string, string>> => ({
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": [
    "default-src 'none'",
    `script-src ${hashOf(script)} 'strict-dynamic'`,
    `style-src ${hashOf(style)}`,
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; "),
  "X-Frame-Options": "DENY",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
  "Cache-Control": "no-store",
  Vary: "Accept, Accept-Language, Sec-Fetch-Mode"
})

/** The headers of a script, whose name changes with its content. */
export const scriptHeaders = {
  "Content-Type": "text/javascript; charset=utf-8",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "public, max-age=31536000, immutable"
}

/** The headers of the TON Connect manifest, which a wallet reads from elsewhere. */
export const manifestHeaders = {
  "Content-Type": "application/json",
  "Access-Control-Allow-Origin": "*",
  "Cache-Control": "no-cache"
}
