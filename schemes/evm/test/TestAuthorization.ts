/** Authorizations for tests: for the test chain's token, valid for an hour of the chain's time, signed by a key. */
import * as Effect from "effect/Effect"

import * as EvmAddress from "../src/primitives/EvmAddress.ts"
import * as EvmHex from "../src/primitives/EvmHex.ts"
import { type EvmTestAccounts, EvmTestChain } from "../src/testing/index.ts"
import * as Eip3009 from "../src/transfer/Eip3009.ts"

/** The parsed address of a text that is one. */
export const address = (text: string): EvmAddress.Address => EvmAddress.fromText(text) ?? EvmAddress.zero

let lastNonce = 0

/** The defaults are a payment of 10,000 units from the first payer to the payee, under a fresh nonce. */
export const make = Effect.fnUntraced(function* (fields: Partial<Eip3009.TransferWithAuthorization> = {}) {
  const { accounts, client } = yield* EvmTestChain.EvmTestChain
  const { timestamp } = yield* Effect.promise(() => client.getBlock())
  const authorization: Eip3009.TransferWithAuthorization = {
    from: address(accounts.payers[0].address),
    to: address(accounts.payee.address),
    value: 10_000n,
    validAfter: 0n,
    validBefore: timestamp + 3600n,
    nonce: `0x${EvmHex.toWord(++lastNonce)}`,
    ...fields
  }
  return authorization
})

/** The EIP-712 domain of a token with the name of the test chain's token. */
export const domain = Effect.fnUntraced(function* (token?: string) {
  const chain = yield* EvmTestChain.EvmTestChain
  const { name, version } = chain.token
  return { name, version, chainId: chain.chainId, verifyingContract: address(token ?? chain.token.address) }
})

/** The signature of a key over an authorization for a token. */
export const sign = Effect.fnUntraced(function* (
  authorization: Eip3009.TransferWithAuthorization,
  signer?: EvmTestAccounts.TestAccount,
  token?: string
) {
  const { accounts } = yield* EvmTestChain.EvmTestChain
  const data = Eip3009.typedData(yield* domain(token), authorization)
  return yield* Effect.promise(() => (signer ?? accounts.payers[0]).signTypedData(data))
})
