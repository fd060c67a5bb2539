/**
 * Providers put their customers' keys into the addresses of their nodes, and some nodes repeat the address in what they
 * say. A node's words end up in logs and records: before that, whatever of its address may be a key is taken out of them.
 */

/** Shorter parts of a path are words of an API such as `v2` or `mainnet`, not keys. */
const shortestKey = 12

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const secretsOf = ({ password, pathname, searchParams, username }: URL): ReadonlyArray<string> => {
  const credentials = [username, password].map(unescaped)
  const parts = pathname.split("/").filter((part) => part.length >= shortestKey)
  const all = [...credentials, btoa(credentials.join(":")), ...parts, ...parts.map(unescaped), ...searchParams.values()]
  return [...new Set(all)].filter((secret) => secret.length >= 4).toSorted((a, b) => b.length - a.length)
}

/**
 * What hides the secrets of this address in a text.
 *
 * @category constructors
 */
export const veil = (url: URL): ((text: string) => string) => {
  const secrets = secretsOf(url)
  return (text) => secrets.reduce((veiled, secret) => veiled.replaceAll(secret, "<hidden>"), text)
}
