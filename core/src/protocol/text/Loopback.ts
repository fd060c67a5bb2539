/**
 * The names of this machine: a request to one of them does not leave it, so plain `http` exposes nothing.
 */

/**
 * Whether a URL's `hostname` is this machine: `localhost` and the names below it, 127.0.0.0/8, `[::1]`. A `URL` has
 * already written every form of an IPv4 address as four decimal numbers, and a name in small letters.
 */
export const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" ||
  hostname.endsWith(".localhost") ||
  hostname === "[::1]" ||
  /^127(\.\d{1,3}){3}$/.test(hostname)
