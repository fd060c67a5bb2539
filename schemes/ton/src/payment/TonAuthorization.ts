/**
 * Reads a payer's signed message: message, request, inner message, transfer. It refuses everything except a plain transfer of a
 * Jetton by a wallet, from the signed cells alone.
 */
import { invalid, type PaymentError, refuse, type ValidationError } from "@pontage/core"
import * as Hex from "effect/encoding/Hex"
import * as Result from "effect/Result"

import type { Cell, StateInit } from "#cells"

import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonBoc from "../primitives/TonBoc.ts"
import * as TonMessage from "../primitives/TonMessage.ts"
import * as JettonTransfer from "../transfer/JettonTransfer.ts"
import * as WalletRequest from "../wallet/WalletRequest.ts"
import type * as ExactTon from "./ExactTon.ts"

/** A signed transfer of Jettons. */
export interface TonAuthorization {
  readonly kind: ExactTon.Kind
  readonly payer: TonAddress.Address
  /** The state init that deploys the payer's wallet, if the message holds one. */
  readonly init: StateInit | undefined
  /** The signed request: the body of the message to the wallet. */
  readonly body: Cell
  readonly request: WalletRequest.WalletRequest
  /** The signed hash, in hexadecimal: it identifies this authorization in every message. */
  readonly nonce: string
  /** TON that the wallet hands on to the Jetton wallet, in nanotons; with mode 64 all the attached TON. */
  readonly value: bigint
  /** The contract that receives the transfer message. Only the chain knows whether it is the payer's Jetton wallet. */
  readonly jettonWallet: TonAddress.Address
  readonly transfer: JettonTransfer.JettonTransfer
}

const malformed = (detail: string, message: string) => Result.fail(invalid("malformed", detail, message))
const unsupported = (detail: string, message: string) =>
  Result.fail(invalid("unsupported_authorization", detail, message))

/** Reads a payload's message against the terms of an offer. */
export const read = (
  { boc, from, kind }: Pick<ExactTon.SignedMessage, "boc" | "from" | "kind">,
  terms: ExactTon.Terms
): Result.Result<TonAuthorization, PaymentError | ValidationError> => {
  const root = TonBoc.fromBase64(boc)
  if (root === undefined)
    return malformed("boc", "the field boc is not a bag of cells: base64, one root, with a checksum, at most 64 cells")
  const message = TonBoc.attempt(() => TonMessage.read(root))
  if (message === undefined) return malformed("message", "the message is not a message to a wallet")
  if (message.isExternal !== (kind === "external") || message.value !== 0n)
    return malformed("kind", `the message is not of the kind ${kind}`)
  // The wrapper of x402's payload, which names no payer, need not bounce: a relayer writes its own.
  if (from !== undefined && !message.isExternal && !message.isBounceable)
    return malformed("message", "the message to the wallet does not bounce")
  if (from !== undefined && message.to !== TonAddress.fromText(from))
    return malformed("from", `the message is to ${message.to}, the payload says ${from}`)
  if (!terms.kinds.includes(kind))
    return unsupported("kind", `the offer accepts payments of the kind ${terms.kinds.join(" or ")}, not ${kind}`)
  const request = TonBoc.attempt(() => WalletRequest.read(message.body, message.isExternal))
  if (request === undefined) return unsupported("request", "the request is not one to send one message")
  return Result.map(readInner(request, kind, terms), (inner) => ({
    ...inner,
    kind,
    request,
    payer: message.to,
    init: message.init,
    body: message.body,
    nonce: Hex.encode(request.signedHash)
  }))
}

/** Reads the message that the wallet is to send. */
const readInner = (
  { message, mode }: WalletRequest.WalletRequest,
  kind: ExactTon.Kind,
  terms: ExactTon.Terms
): Result.Result<Pick<TonAuthorization, "value" | "jettonWallet" | "transfer">, PaymentError | ValidationError> => {
  const inner = TonBoc.attempt(() => TonMessage.read(message))
  if (inner === undefined || !inner.isBounceable || inner.init !== undefined)
    return unsupported("inner_message", "the message that the wallet is to send is not a plain bounceable one")
  if (!isAllowed(kind, mode, inner.value, terms))
    return unsupported("send_mode", `mode ${mode} with ${inner.value} nanotons is not accepted for ${kind}`)
  const transfer = TonBoc.attempt(() => JettonTransfer.read(inner.body))
  if (transfer === undefined)
    return unsupported("transfer", "the inner message is not a plain Jetton transfer without forwarded TON")
  return Result.map(checkResponse(transfer, kind, terms), () => ({
    value: inner.value,
    jettonWallet: inner.to,
    transfer
  }))
}

/** Checks that a relayed payment's unused TON goes where the offer says: a payer who received it would gain it each time. */
const checkResponse = (
  { responseTo }: JettonTransfer.JettonTransfer,
  kind: ExactTon.Kind,
  { responseDestination }: ExactTon.Terms
): Result.Result<void, PaymentError | ValidationError> => {
  if (kind === "external" || responseTo === responseDestination) return Result.void
  const message = `the unused TON would go to ${responseTo ?? "no account"}, the offer demands ${responseDestination ?? "no account"}`
  return Result.fail(refuse("INVALID_RECIPIENT", "other_response_destination", message))
}

/**
 * Whether a send mode is accepted. Mode 64 hands on the TON that the relayer attached and none of the payer's; with the modes 1
 * and 3 the payer's wallet pays a fixed amount. Where the action fails, a wallet keeps the TON it received; with mode 3 its
 * number is used then, with mode 1 (x402's clients) the request stays valid to its end. A wallet would burn the number of an
 * external request with mode 1, and 128 would send all of its TON.
 */
const isAllowed = (kind: ExactTon.Kind, mode: number, value: bigint, { maxInnerTon }: ExactTon.Terms): boolean => {
  if (mode === 64) return kind === "w5-internal" && value === 0n
  return (mode === 3 || (mode === 1 && kind === "w5-internal")) && value > 0n && value <= maxInnerTon
}
