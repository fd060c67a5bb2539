/** The signers of the settings on EVM networks, and the addresses of nodes as a log may show them. */
import { Misconfigured } from "@pontage/core"
import { type EvmCrypto, exactEvm } from "@pontage/evm"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

/** The signer of a key; a key that is none is a mistake of this variable. */
export const make = (
  variable: string,
  key: Redacted.Redacted,
  crypto: EvmCrypto.Shape
): Effect.Effect<ReturnType<typeof exactEvm.localSigner>, Misconfigured> =>
  Effect.try({
    try: () => exactEvm.localSigner(key, crypto),
    catch: () => new Misconfigured({ message: `${variable}: one of the keys is not a valid private key` })
  })

/** The scheme, the name and the port of an address: its other parts may hold keys. */
export const originOf = (rpcUrl: Redacted.Redacted): string => {
  const text = Redacted.value(rpcUrl)
  return URL.canParse(text) ? new URL(text).origin : "of an address that is none"
}
