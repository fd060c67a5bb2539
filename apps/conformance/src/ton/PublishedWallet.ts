/**
 * The parts of x402's mechanism for TON that its roles share, from the published specification (`scheme_exact_ton`). The package is
 * not on npm, so these roles are our own reading of it, with the libraries that it names: `@ton/core` and `@ton/ton`.
 */
import { beginCell, Cell } from "@ton/core"
import { WalletContractV5R1 } from "@ton/ton"

/** The operation of a Jetton transfer (TEP-74). */
export const transferOp = 0x0f8a7ea5

/** The operation of a W5 request in an internal message. */
export const requestOp = 0x73696e74

/** The id of the first wallet of a key on a network: 32 bits with a sign. */
export const walletId = (network: string): number => Number(network.slice("tvm:".length)) ^ 0x80000000

/** A key of 64 bytes as `@ton/ton` has it, and its public half. */
export interface KeyPair {
  readonly publicKey: Buffer
  readonly secretKey: Buffer
}

/** The W5 wallet of a key on a network of the namespace `tvm`, whose reference is the chain's global id. */
export const walletOf = (publicKey: Buffer, network: string): WalletContractV5R1 =>
  WalletContractV5R1.create({
    publicKey,
    walletId: {
      networkGlobalId: Number(network.slice("tvm:".length)),
      context: { walletVersion: "v5r1", workchain: 0, subwalletNumber: 0 }
    }
  })

/** The effective terms of a transfer; absent ones have the specification's defaults. */
export interface Forwarding {
  readonly responseDestination: string | undefined
  readonly forwardTonAmount: bigint
  readonly forwardPayload: Cell
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

/** The effective terms of an offer's `extra`. */
export const forwardingOf = (extra: Readonly<Record<string, unknown>>): Forwarding => {
  const payload = textOf(extra["forwardPayload"])
  return {
    responseDestination: textOf(extra["responseDestination"]),
    forwardTonAmount: BigInt(textOf(extra["forwardTonAmount"]) ?? "0"),
    forwardPayload: payload === undefined ? beginCell().storeBit(0).endCell() : Cell.fromBase64(payload)
  }
}
