/**
 * The request that a payer signs: its wallet sends one message. W5 accepts it inside an internal message (so another account may
 * pay for it) or an external one; the older wallets in an external one only. Read strictly: one action, no extensions, nothing
 * left over.
 */
import { beginCell, Cell, loadBytes, storeBytes } from "#cells"

/** The wallets whose requests are read. */
export type WalletVersion = "w5" | "v4r2" | "v3r2"

/** Fields of a request. */
export interface WalletTerms {
  /** Signed 32-bit number: that of a W5 holds the network. */
  readonly walletId: number
  /** Unix seconds: the wallet refuses it at or after this instant. */
  readonly validUntil: number
  readonly seqno: number
  /** The send mode of the message. */
  readonly mode: number
  readonly message: Cell
}

/** A signed request. */
export interface WalletRequest extends WalletTerms {
  readonly version: WalletVersion
  /** The hash that is signed: 32 bytes. */
  readonly signedHash: Uint8Array
  /** 64 bytes. */
  readonly signature: Uint8Array
}

/** Operations of W5, for requests in internal and in external messages; the signature covers them. */
const internalOp = 0x73696e74
const externalOp = 0x7369676e
const sendOp = 0x0ec3c86d

const signatureBits = 512
const w5Bits = 642
const v4Bits = 624
const v3Bits = 616

/**
 * Reads the request of an external or internal message. `undefined` for an unknown form, and for anything but one message to
 * send; throws where the cells end too early.
 */
export const read = (body: Cell, isExternal: boolean): WalletRequest | undefined => {
  if (body.bits.length === w5Bits) return readW5(body, isExternal ? externalOp : internalOp)
  if (!isExternal || body.refs.length !== 1) return undefined
  if (body.bits.length === v4Bits) return readOlder(body, "v4r2")
  return body.bits.length === v3Bits ? readOlder(body, "v3r2") : undefined
}

const readW5 = (body: Cell, op: number): WalletRequest | undefined => {
  const slice = body.beginParse()
  if (slice.loadUint(32) !== op) return undefined
  const terms = { walletId: slice.loadInt(32), validUntil: slice.loadUint(32), seqno: slice.loadUint(32) }
  const actions = slice.loadMaybeRef()
  const isExtended = slice.loadBit()
  const action = actions === null || isExtended ? undefined : readAction(actions)
  if (action === undefined || slice.remainingRefs !== 0) return undefined
  const unsigned = body.bits.substring(0, w5Bits - signatureBits)
  const signedHash = beginCell()
    .storeBits(unsigned)
    .storeRef(body.refs[0] ?? Cell.EMPTY)
    .endCell()
    .hash()
  return { ...terms, ...action, version: "w5", signedHash, signature: loadBytes(slice, 64) }
}

/** Reads a list of exactly one message to send. */
const readAction = (actions: Cell): Pick<WalletTerms, "mode" | "message"> | undefined => {
  const slice = actions.beginParse()
  if (slice.remainingBits !== 40 || slice.remainingRefs !== 2) return undefined
  const earlier = slice.loadRef()
  if (earlier.bits.length !== 0 || earlier.refs.length !== 0 || slice.loadUint(32) !== sendOp) return undefined
  return { mode: slice.loadUint(8), message: slice.loadRef() }
}

/** Reads a request of V3 or V4. The signature comes first; V4 has an operation, zero for sending. */
const readOlder = (body: Cell, version: "v4r2" | "v3r2"): WalletRequest | undefined => {
  const slice = body.beginParse()
  const signature = loadBytes(slice, 64)
  const unsigned = body.bits.substring(signatureBits, body.bits.length - signatureBits)
  const terms = { walletId: slice.loadInt(32), validUntil: slice.loadUint(32), seqno: slice.loadUint(32) }
  if (version === "v4r2" && slice.loadUint(8) !== 0) return undefined
  const mode = slice.loadUint(8)
  const message = slice.loadRef()
  const signedHash = beginCell().storeBits(unsigned).storeRef(message).endCell().hash()
  return { ...terms, mode, message, version, signedHash, signature }
}

/** The list of actions by which a W5 sends messages, in their order; `undefined` for no messages. */
export const actionsOf = (sends: ReadonlyArray<Pick<WalletTerms, "mode" | "message">>): Cell | undefined =>
  sends.length === 0
    ? undefined
    : sends.reduce(
        (earlier, { message, mode }) =>
          beginCell().storeRef(earlier).storeUint(sendOp, 32).storeUint(mode, 8).storeRef(message).endCell(),
        Cell.EMPTY
      )

/** A W5 request without its signature, which comes last. */
export const unsignedW5 = (
  { seqno, validUntil, walletId }: Omit<WalletTerms, "mode" | "message">,
  actions: Cell | undefined,
  isExternal: boolean
): Cell => {
  const builder = beginCell()
    .storeUint(isExternal ? externalOp : internalOp, 32)
    .storeInt(walletId, 32)
    .storeUint(validUntil, 32)
    .storeUint(seqno, 32)
    .storeMaybeRef(actions ?? null)
    .storeBit(0)
  return builder.endCell()
}

/** A W5 request with its signature. */
export const signedW5 = (unsigned: Cell, signature: Uint8Array): Cell =>
  storeBytes(beginCell().storeSlice(unsigned.beginParse()), signature).endCell()
