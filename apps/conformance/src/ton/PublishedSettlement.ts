/** A payment of x402's mechanism for TON as its facilitators read it, by sections 2 and 3 of the published specification. */
import { type Address, Cell, loadMessageRelaxed, loadOutList, type MessageRelaxed } from "@ton/core"
import type { PaymentRequirements } from "@x402/core/types"

import * as PublishedWallet from "./PublishedWallet.ts"

const modes: ReadonlySet<number> = new Set([1, 3])
const mostHandedOn = 30_000_000n

/** A refusal, by its word. */
export class Refused extends Error {}

export const demand: (isMet: boolean, word: string) => asserts isMet = (isMet, word) => {
  if (!isMet) throw new Refused(word)
}

export const wordOf = (error: unknown): string => (error instanceof Refused ? error.message : String(error))

export const raw = (address: Address | null | undefined): string => address?.toRawString() ?? ""

/** A signed request and its terms. */
export interface Settlement {
  readonly message: MessageRelaxed
  readonly payer: Address
  readonly validUntil: number
  readonly seqno: number
  readonly signedHash: Buffer
  readonly signature: Buffer
  readonly inner: MessageRelaxed
  readonly value: bigint
}

/** Reads the signed request of a payload, by the rules of sections 2 and 3. */
export const read = (boc: string): Settlement => {
  const message = loadMessageRelaxed(Cell.fromBase64(boc).beginParse())
  demand(message.info.type === "internal", "invalid_exact_tvm_payload_settlement_boc")
  const slice = message.body.beginParse()
  demand(slice.loadUint(32) === PublishedWallet.requestOp, "invalid_exact_tvm_payload_w5_internal_signed_request")
  slice.skip(32)
  const [validUntil, seqno] = [slice.loadUint(32), slice.loadUint(32)]
  const [action, ...others] = loadOutList((slice.loadMaybeRef() ?? Cell.EMPTY).beginParse())
  demand(!slice.loadBit() && others.length === 0, "invalid_exact_tvm_payload_w5_actions")
  demand(action?.type === "sendMsg" && modes.has(action.mode), "invalid_exact_tvm_payload_w5_actions")
  const { info } = action.outMsg
  demand(info.type === "internal" && info.bounce, "invalid_exact_tvm_payload_w5_actions")
  const unsigned = message.body.bits.substring(0, message.body.bits.length - 512)
  const signed = new Cell({ bits: unsigned, refs: message.body.refs })
  return {
    message,
    payer: message.info.dest,
    validUntil,
    seqno,
    signedHash: signed.hash(),
    signature: slice.loadBuffer(64),
    inner: action.outMsg,
    value: info.value.coins
  }
}

/** Compares the transfer with the offer, by section 3. */
export const checkTransfer = ({ inner, value }: Settlement, offer: PaymentRequirements): void => {
  const wanted = PublishedWallet.forwardingOf(offer.extra)
  const slice = inner.body.beginParse()
  demand(slice.loadUint(32) === PublishedWallet.transferOp, "invalid_exact_tvm_payload_jetton_transfer")
  slice.skip(64)
  demand(slice.loadCoins() === BigInt(offer.amount), "invalid_exact_tvm_payload_amount_mismatch")
  demand(raw(slice.loadAddress()) === offer.payTo, "invalid_exact_tvm_payload_recipient_mismatch")
  const response = raw(slice.loadMaybeAddress())
  const isPlain = response === (wanted.responseDestination ?? "") && !slice.loadBit()
  const forwarded = slice.loadCoins()
  const payload = slice.loadBit() ? slice.loadRef() : slice.asCell()
  demand(
    isPlain && forwarded === wanted.forwardTonAmount && payload.equals(wanted.forwardPayload),
    "invalid_exact_tvm_payload_jetton_transfer"
  )
  demand(value <= mostHandedOn + forwarded, "invalid_exact_tvm_payload_attached_ton_amount_too_high")
}
