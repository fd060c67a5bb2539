/**
 * The cost of signing a facilitator's transaction: encode, hash, sign, encode again.
 */
import { Eip3009, EvmAddress, EvmHex, exactEvm, type UnsignedTransaction } from "@pontage/evm"
import type { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"

import * as CpuTime from "../CpuTime.ts"
import type { Row } from "../Row.ts"
import * as CryptoLayers from "./CryptoLayers.ts"

const count = 300

/** One row for each cryptography, and viem's account beside them. */
export const measure = Effect.fnUntraced(function* ({ accounts, chainId, token }: EvmTestChain.Shape) {
  const [account] = accounts.signers
  const zero = EvmAddress.zero
  const authorization = { from: zero, to: zero, value: 10_000n, validAfter: 0n, validBefore: 4_000_000_000n }
  const nonce: EvmHex.Hex = `0x${EvmHex.toWord(1)}`
  const transaction: UnsignedTransaction = {
    type: "eip1559",
    chainId,
    nonce: 0,
    to: EvmAddress.fromText(token.address) ?? zero,
    data: Eip3009.encodeTransferByParts({ ...authorization, nonce }, `0x${"7f".repeat(64)}1b`),
    gas: 150_000n,
    value: 0n,
    maxFeePerGas: 30_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n
  }
  const layers = yield* CryptoLayers.all
  const signers = [
    ...layers.map(({ crypto }) => ({ name: crypto.name, signer: exactEvm.localSigner(account.privateKey, crypto) })),
    { name: "viem's account", signer: account }
  ]
  const rows: Array<Row> = []
  for (const { name, signer } of signers) {
    const sign = (index: number) => signer.signTransaction({ ...transaction, nonce: index })
    const value = yield* Effect.promise(() => CpuTime.microsOf(count, sign))
    rows.push({ name: `transaction signing, ${name}`, value, unit: "µs CPU" })
  }
  return rows
})
