/** The checksums of addresses and of bags of cells. */

/** CRC-16 (XMODEM). Over data that ends with its own checksum, high byte first, it is zero. */
export const crc16 = (bytes: Uint8Array): number => {
  let sum = 0
  for (const byte of bytes) {
    sum ^= byte << 8
    for (let bit = 0; bit < 8; bit++) sum = ((sum << 1) ^ (sum & 0x8000 ? 0x1021 : 0)) & 0xffff
  }
  return sum
}

/** CRC-32C (Castagnoli), as four bytes, low byte first. */
export const crc32c = (bytes: Uint8Array): Uint8Array => {
  let sum = ~0
  for (const byte of bytes) {
    sum ^= byte
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0x82f63b78 : 0)
  }
  const result = new Uint8Array(4)
  new DataView(result.buffer).setUint32(0, ~sum, true)
  return result
}
