/**
 * The network that an address belongs to, as limits count it: for IPv6 the first 64 bits, because the owner of one address
 * of such a network has all of them.
 */

/** The network of an IP address, in one spelling. A text that is not an IP address is returned unchanged. */
export const of = (address: string): string => {
  const bare = address.replace(/%.*$/, "").toLowerCase()
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(bare)?.[1]
  if (mapped !== undefined || !bare.includes(":")) return mapped ?? bare
  return `${networkOf(bare)}::/64`
}

/** The first four groups, without leading zeros. */
const networkOf = (address: string): string => {
  const [front = "", back] = address.split("::")
  const before = groupsOf(front)
  const after = back === undefined ? [] : groupsOf(back)
  const gap = back === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  return [...before, ...Array.from({ length: gap }, () => "0"), ...after].slice(0, 4).join(":")
}

const groupsOf = (text: string): ReadonlyArray<string> =>
  text === "" ? [] : text.split(":").map((group) => group.replace(/^0+(?=.)/, ""))
