/**
 * A relayer: a W5 wallet of the facilitator that sends payers' requests to their wallets, many in one external message, and
 * pays all fees. Its numbers are the slots of its lane.
 */
import { Misconfigured } from "@pontage/core"
import type { Network } from "@pontage/core/Network"
import { Cell } from "@ton/core"
import * as Effect from "effect/Effect"

import type * as TonAddress from "../primitives/TonAddress.ts"
import * as TonBoc from "../primitives/TonBoc.ts"
import * as TonMessage from "../primitives/TonMessage.ts"
import * as TonNetwork from "../primitives/TonNetwork.ts"
import * as TonSigner from "../wallet/TonSigner.ts"
import * as TonWallet from "../wallet/TonWallet.ts"
import * as WalletRequest from "../wallet/WalletRequest.ts"

/** A relayer. */
export interface TonRelayer {
  readonly address: TonAddress.Address
  readonly walletId: number
  readonly key: TonSigner.HashSigning
}

/** A signed external message. */
export interface SignedExternal {
  /** A bag of cells in base64. */
  readonly boc: string
  /** The hash that explorers name it by, hexadecimal. */
  readonly hash: string
  readonly bytes: number
}

/** The largest external message that nodes accept, in bytes. */
export const maximumBytes = 65_535

/** Fees are paid apart from the value (1), and a message that fails does not stop the others (2). */
const sendMode = 3

/** The relayer of a key; `undefined` for an invalid key. */
export const make = (signer: TonSigner.TonKeySigner, network: Network, subwallet: number): TonRelayer | undefined => {
  const key = TonSigner.fromKey(signer)
  const walletId = TonNetwork.walletId(network, subwallet)
  return key && { address: TonWallet.w5Address(key.publicKey, walletId), walletId, key }
}

/** Signs an external message by which the wallet sends these messages in this order; an empty list only uses its number. */
export const sign = Effect.fnUntraced(function* (
  { address, key, walletId }: TonRelayer,
  seqno: bigint,
  validUntil: number,
  messages: ReadonlyArray<Cell>
): Effect.fn.Return<SignedExternal, Misconfigured> {
  const actions = WalletRequest.actionsOf(messages.map((message) => ({ mode: sendMode, message })))
  const unsigned = WalletRequest.unsignedW5({ walletId, validUntil, seqno: Number(seqno) }, actions, true)
  const signature = yield* Effect.mapError(key.sign(unsigned.hash()), () => notSigned(address))
  if (signature.length !== 64) return yield* notSigned(address)
  const body = WalletRequest.signedW5(unsigned, signature)
  const message = TonMessage.external(address, body)
  const boc = TonBoc.toBase64(message)
  return { boc, hash: TonBoc.hashOf(message), bytes: Buffer.byteLength(boc, "base64") }
})

const notSigned = (address: string) => new Misconfigured({ message: `the key of the relayer ${address} did not sign` })

/** The end of the validity of a relayer's signed external message, Unix seconds; 0 for other bytes. */
export const validUntil = (boc: string): number =>
  TonBoc.attempt(() => {
    const message = TonMessage.read(Cell.fromBase64(boc))
    return message?.body.beginParse().skip(64).loadUint(32)
  }) ?? 0
