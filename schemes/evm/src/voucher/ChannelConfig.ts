/**
 * The terms of a channel, which are its identity: its id is the EIP-712 digest of the terms, so that it is another one on each
 * chain, and no term can be changed.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Schema from "effect/Schema"

import type { Keccak256 } from "../crypto/EvmCrypto.ts"
import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as ChannelContract from "./ChannelContract.ts"
import * as ChannelNumber from "./ChannelNumber.ts"

/**
 * The terms: who pays, whose key signs vouchers (the zero address for an account that validates its signatures itself,
 * ERC-1271), who is paid, whose key authorizes claims and refunds, the token, the seconds between a withdrawal's start and its
 * end, and a number that tells channels of the same terms apart.
 */
export const ChannelConfig = /* @__PURE__ */ Schema.Struct({
  payer: EvmAddress.FromText,
  payerAuthorizer: EvmAddress.FromText,
  receiver: EvmAddress.FromText,
  receiverAuthorizer: EvmAddress.FromText,
  token: EvmAddress.FromText,
  withdrawDelay: ChannelNumber.Uint40,
  salt: EvmHex.Bytes32
})

export type ChannelConfig = typeof ChannelConfig.Type

/** The terms as they travel: addresses with their checksum. */
export const onWire = (config: ChannelConfig) => ({
  payer: EvmAddress.checksum(config.payer),
  payerAuthorizer: EvmAddress.checksum(config.payerAuthorizer),
  receiver: EvmAddress.checksum(config.receiver),
  receiverAuthorizer: EvmAddress.checksum(config.receiverAuthorizer),
  token: EvmAddress.checksum(config.token),
  withdrawDelay: config.withdrawDelay,
  salt: config.salt
})

/** The seven words of the terms, as the ABI and EIP-712 encode them: 64 digits each. */
export const words = (config: ChannelConfig): string =>
  AbiEncoding.address(config.payer) +
  AbiEncoding.address(config.payerAuthorizer) +
  AbiEncoding.address(config.receiver) +
  AbiEncoding.address(config.receiverAuthorizer) +
  AbiEncoding.address(config.token) +
  EvmHex.toWord(config.withdrawDelay) +
  config.salt.slice(2)

const typeHash = /* @__PURE__ */ ChannelContract.hashText(
  "ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)"
)

const capacity = 4096
const ids = /* @__PURE__ */ BoundedMap.oldestOut<string, EvmHex.Hex>(capacity)

/** The channel's id on a chain: 32 bytes in lower case. The last few thousand are cached, since each request brings its channel's terms. */
export const id = (chainId: number, config: ChannelConfig, keccak256: Keccak256 = keccak_256): EvmHex.Hex => {
  const terms = words(config)
  const key = `${chainId} ${terms}`
  const known = ids.get(key)
  if (known !== undefined) return known
  const computed = EvmHex.fromBytes(ChannelContract.digest(chainId, typeHash + terms, keccak256))
  ids.set(key, computed)
  return computed
}

/** The reason why the contract opens no such channel: the end of a sentence whose subject is the channel. */
export const fault = (config: ChannelConfig): string | undefined => {
  for (const party of ["payer", "receiver", "receiverAuthorizer", "token"] as const) {
    if (config[party] === EvmAddress.zero) return `has the zero address as its ${party}`
  }
  return delayFault(config)
}

/** The reason why the contract refuses the delay of withdrawals: the end of a sentence whose subject is the channel. */
export const delayFault = ({ withdrawDelay }: Pick<ChannelConfig, "withdrawDelay">): string | undefined =>
  withdrawDelay >= ChannelContract.minimumWithdrawDelay && withdrawDelay <= ChannelContract.maximumWithdrawDelay
    ? undefined
    : `has a withdrawDelay of ${withdrawDelay} s; expected ${ChannelContract.minimumWithdrawDelay} to ${ChannelContract.maximumWithdrawDelay}`
