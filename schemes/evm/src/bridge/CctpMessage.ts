/**
 * The messages of Circle's CCTP, version 2: a head and the body of a burn, packed. The issuer fills in the nonce, the reached finality,
 * its fee and the block of the expiry when it attests a message; all other bytes are those that the first chain has sent. Source:
 * Circle's `MessageV2` and `BurnMessageV2`.
 */
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"

/** Bytes of a message whose burn has no data of its own. */
export const messageBytes = 376

/** The parts that the issuer fills in: first byte and length. */
const filled = [
  [12, 32],
  [144, 4],
  [312, 32],
  [344, 32]
] as const

/** A message, read. */
export interface CctpMessage {
  readonly sourceDomain: number
  readonly destinationDomain: number
  /** 32 bytes; zero before its attestation. */
  readonly nonce: EvmHex.Hex
  /** The messenger that takes it in on the other chain. */
  readonly messenger: EvmAddress.Address
  readonly recipient: EvmAddress.Address
  readonly amount: bigint
  readonly maxFee: bigint
  readonly fee: bigint
  /** The block of the other chain before which its attestation holds; zero if it always does. */
  readonly expires: bigint
}

/** Reads a message; `undefined` for bytes that are none. */
export const read = (message: EvmHex.Hex): CctpMessage | undefined => {
  if (message.length !== 2 + 2 * messageBytes) return undefined
  const part = (at: number, length: number): EvmHex.Hex => `0x${message.slice(2 + 2 * at, 2 + 2 * (at + length))}`
  return {
    sourceDomain: Number(part(4, 4)),
    destinationDomain: Number(part(8, 4)),
    nonce: part(12, 32),
    messenger: EvmAddress.fromTail(part(76, 32)),
    recipient: EvmAddress.fromTail(part(184, 32)),
    amount: BigInt(part(216, 32)),
    maxFee: BigInt(part(280, 32)),
    fee: BigInt(part(312, 32)),
    expires: BigInt(part(344, 32))
  }
}

/** Whether a message is this one, attested: only the issuer's parts differ. */
export const isAttestationOf = (sent: EvmHex.Hex, attested: EvmHex.Hex): boolean => bare(sent) === bare(attested)

/** First bytes of the sender, and of the body, which is the rest. */
const senderAt = 44
const bodyAt = 148

/** The part of a message that its delivery shows in the transmitter's event. */
export interface ReceivedBody {
  /** 32 bytes: the messenger of the first chain. */
  readonly sender: string
  readonly sourceDomain: number
  readonly nonce: string
  /** The digits of the body. */
  readonly body: string
}

/** The message that an event shows, with everything that it does not show taken from the one that was sent. */
export const receivedAs = (
  sent: EvmHex.Hex,
  { body, sender, sourceDomain }: Omit<ReceivedBody, "nonce">
): CctpMessage | undefined => {
  const head = sent.slice(0, 2 + 2 * bodyAt)
  const received: EvmHex.Hex = `0x${head.slice(2)}${body}`
  const isFrom = sender === `0x${sent.slice(2 + 2 * senderAt, 2 + 2 * (senderAt + 32))}`
  const message = read(received)
  return isFrom && message?.sourceDomain === sourceDomain && isAttestationOf(sent, received) ? message : undefined
}

/** The message without the issuer's parts. */
const bare = (message: EvmHex.Hex): string =>
  filled.reduce((text, [at, length]) => {
    const begin = 2 + 2 * at
    return text.slice(0, begin) + "0".repeat(2 * length) + text.slice(begin + 2 * length)
  }, message.toLowerCase())
