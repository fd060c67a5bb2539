/**
 * Addresses outside the public internet: this machine, private and link-local networks, metadata services, and reserved
 * ranges. A service must not send to them when others choose the address.
 */
import { BlockList, isIPv4, isIPv6 } from "node:net"

const reserved: ReadonlyArray<readonly [string, number]> = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  // Azure's platform, from each of its machines, though the address is a public one by its range.
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4]
]

/** Inside the global unicast range: protocol assignments (Teredo among them), documentation, and IPv4 in disguise. */
const reservedGlobal: ReadonlyArray<readonly [string, number]> = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20]
]

const listOf = (ranges: ReadonlyArray<readonly [string, number]>, family: "ipv4" | "ipv6"): BlockList => {
  const list = new BlockList()
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, family)
  return list
}

const notPublic4 = listOf(reserved, "ipv4")
const global6 = listOf([["2000::", 3]], "ipv6")
const notPublic6 = listOf(reservedGlobal, "ipv6")

/** Whether this is the text of an address of the public internet. False for a text that is not an address. */
export const isPublic = (address: string): boolean => {
  if (isIPv4(address)) return !notPublic4.check(address, "ipv4")
  return isIPv6(address) && global6.check(address, "ipv6") && !notPublic6.check(address, "ipv6")
}
