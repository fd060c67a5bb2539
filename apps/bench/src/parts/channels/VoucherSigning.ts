/** Vouchers by a key in this process, for measurements. */
import { type EvmCrypto, EvmHex, Voucher } from "@pontage/evm"

/** Signs a voucher. */
export const sign = (
  chainId: number,
  ceiling: Voucher.Ceiling,
  privateKey: Uint8Array,
  crypto: EvmCrypto.Shape
): Voucher.Voucher => {
  const bytes = crypto.sign(Voucher.digest(chainId, ceiling, crypto.keccak256), privateKey)
  if (bytes === undefined) throw new Error("the voucher cannot be signed")
  const v = (27 + (bytes[64] ?? 0)).toString(16)
  return { ...ceiling, signature: `${EvmHex.fromBytes(bytes.subarray(0, 64))}${v}` }
}
