/**
 * The payments that one core verifies in a second without the chain: decode the authorization, hash it,
 * recover who signed, compare.
 */
import { Eip3009, EvmAddress, type EvmCrypto, EvmHex, EvmSignature, ExactEvm } from "@pontage/evm"
import type { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"

import * as CpuTime from "../CpuTime.ts"
import type { Row } from "../Row.ts"
import * as CryptoLayers from "./CryptoLayers.ts"

const payments = 256
/** Passes are long enough for the clock and short enough to find a quiet moment: about 150 ms each. */
const passOf = (target: number) => Math.ceil(target / 8)

/** One row for each cryptography. */
export const measure = Effect.fnUntraced(function* (chain: EvmTestChain.Shape) {
  const { chainId, token } = chain
  const domain = { ...token, chainId, verifyingContract: EvmAddress.fromText(token.address) ?? EvmAddress.zero }
  const signed = yield* Effect.forEach(Array.from({ length: payments }), (_, index) => sign(chain, domain, index))
  const rows: Array<Row> = []
  for (const { crypto, target } of yield* CryptoLayers.all) {
    const verify = (index: number): void => {
      if (!isPayers(domain, signed[index % payments], crypto)) throw new Error("a good payment does not verify")
    }
    const micros = yield* Effect.promise(() => CpuTime.microsOf(passOf(target), verify))
    const note = `target at least ${target}`
    rows.push({ name: `offline verify, ${crypto.name}`, value: 1e6 / micros, unit: "per CPU s", note })
  }
  return rows
})

const isPayers = (domain: Eip3009.Domain, json: unknown, crypto: EvmCrypto.Shape): boolean => {
  const { authorization, signature } = Effect.runSync(ExactEvm.decodePayload(json))
  const parsed = EvmSignature.fromText(signature)
  if (parsed._tag !== "Ecdsa") return false
  const digest = Eip3009.digest(domain, authorization, crypto.keccak256)
  return EvmSignature.recoverAddress(digest, parsed, crypto) === authorization.from
}

const sign = Effect.fnUntraced(function* ({ accounts }: EvmTestChain.Shape, domain: Eip3009.Domain, index: number) {
  const payer = accounts.payers[index % accounts.payers.length] ?? accounts.payers[0]
  const authorization: Eip3009.TransferWithAuthorization = {
    from: EvmAddress.fromText(payer.address) ?? EvmAddress.zero,
    to: EvmAddress.fromText(accounts.payee.address) ?? EvmAddress.zero,
    value: 10_000n,
    validAfter: 0n,
    validBefore: 4_000_000_000n,
    nonce: `0x${EvmHex.toWord(BigInt(index + 1) << 64n)}`
  }
  const signature = yield* Effect.promise(() => payer.signTypedData(Eip3009.typedData(domain, authorization)))
  const written = {
    ...authorization,
    from: payer.address,
    to: accounts.payee.address,
    value: "10000",
    validAfter: "0",
    validBefore: "4000000000"
  }
  return { signature, authorization: written }
})
