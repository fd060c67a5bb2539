/**
 * A payer's signed message, taken apart: message, request, inner message, transfer. Whatever is not exactly a plain
 * transfer of a Jetton by a wallet is refused here, from the signed cells alone.
 */
import { invalid, type PaymentError, refuse, type ValidationError } from "@pontage/core"
import type { Cell, StateInit } from "@ton/core"
import * as Result from "effect/Result"

import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonBoc from "../primitives/TonBoc.ts"
import * as TonMessage from "../primitives/TonMessage.ts"
import * as JettonTransfer from "../transfer/JettonTransfer.ts"
import * as WalletRequest from "../wallet/WalletRequest.ts"
import type * as ExactTon from "./ExactTon.ts"

/** What was signed. */
export interface TonAuthorization {
  readonly kind: ExactTon.Kind
  readonly payer: TonAddress.Address
  /** What deploys the payer's wallet, where it is not deployed yet. */
  readonly init: StateInit | undefined
  /** The signed request as it goes to the wallet. */
  readonly body: Cell
  readonly request: WalletRequest.WalletRequest
  /** The hash that was signed, in hexadecimal: what makes this authorization itself, whatever carries it. */
  readonly nonce: string
  /** TON that the wallet hands on to the Jetton wallet, in nanotons; with mode 64 all that was attached. */
  readonly value: bigint
  /** The contract that is told to transfer. Whether it is the payer's Jetton wallet, the chain knows. */
  readonly jettonWallet: TonAddress.Address
  readonly transfer: JettonTransfer.JettonTransfer
}

type Refusal = PaymentError | ValidationError

const malformed = (detail: string, message: string) => Result.fail(invalid("malformed", detail, message))
const unsupported = (detail: string, message: string) =>
  Result.fail(invalid("unsupported_authorization", detail, message))

/** Reads a payload's message against the terms of an offer. */
export const read = (
  { boc, from, kind }: ExactTon.Payload,
  terms: ExactTon.Terms
): Result.Result<TonAuthorization, Refusal> => {
  const root = TonBoc.fromBase64(boc)
  if (root === undefined)
    return malformed("boc", "the field boc is no bag of cells: base64, one root, with a checksum, at most 64 cells")
  const message = TonBoc.attempt(() => TonMessage.read(root))
  if (message === undefined) return malformed("message", "the message is not one to a wallet")
  if (message.isExternal !== (kind === "external") || message.value !== 0n)
    return malformed("kind", `the message is not of the kind ${kind}`)
  if (message.to !== TonAddress.fromText(from))
    return malformed("from", `the message is to ${message.to}, the payload says ${from}`)
  if (!terms.kinds.includes(kind))
    return unsupported("kind", `the offer takes payments of the kind ${terms.kinds.join(" or ")}, not ${kind}`)
  const request = TonBoc.attempt(() => WalletRequest.read(message.body, message.isExternal))
  if (request === undefined)
    return unsupported("request", "the wallet is asked for something else than to send one message")
  return Result.map(readInner(request, kind, terms), (inner) => ({
    ...inner,
    kind,
    request,
    payer: message.to,
    init: message.init,
    body: message.body,
    nonce: Buffer.from(request.signedHash).toString("hex")
  }))
}

/** The message that the wallet is to send. */
const readInner = (
  { message, mode }: WalletRequest.WalletRequest,
  kind: ExactTon.Kind,
  terms: ExactTon.Terms
): Result.Result<Pick<TonAuthorization, "value" | "jettonWallet" | "transfer">, Refusal> => {
  const inner = TonBoc.attempt(() => TonMessage.read(message))
  if (inner === undefined || inner.isExternal || inner.init !== undefined)
    return unsupported("inner_message", "the wallet is asked to send something else than a plain bounceable message")
  if (!isAllowed(kind, mode, inner.value, terms))
    return unsupported("send_mode", `mode ${mode} with ${inner.value} nanotons is not taken for ${kind}`)
  const transfer = TonBoc.attempt(() => JettonTransfer.read(inner.body))
  if (transfer === undefined)
    return unsupported("transfer", "the inner message is no plain Jetton transfer that forwards nothing")
  return Result.map(answeringTo(transfer, kind, terms), () => ({
    value: inner.value,
    jettonWallet: inner.to,
    transfer
  }))
}

/** The rest of a relayed payment's TON goes back to the facilitator; to anybody else, and the payer could milk it. */
const answeringTo = (
  { responseTo }: JettonTransfer.JettonTransfer,
  kind: ExactTon.Kind,
  { responseDestination }: ExactTon.Terms
): Result.Result<void, Refusal> => {
  if (kind === "external" || (responseTo !== undefined && responseTo === responseDestination)) return Result.void
  const message = `the rest of the TON would go to ${responseTo ?? "nobody"}, the offer asks ${responseDestination ?? "nothing that can be relayed"}`
  return Result.fail(refuse("INVALID_RECIPIENT", "other_response_destination", message))
}

/**
 * The modes are those that our own client writes. Mode 64 hands on what the relay attached and nothing of the payer's; with 3
 * the payer's wallet pays a fixed amount. Without the flag 2 a wallet whose action fails keeps or burns what it was sent, and
 * 128 would give all it has.
 */
const isAllowed = (kind: ExactTon.Kind, mode: number, value: bigint, { maxInnerTon }: ExactTon.Terms): boolean =>
  mode === 64 ? kind === "w5-internal" && value === 0n : mode === 3 && value > 0n && value <= maxInnerTon
