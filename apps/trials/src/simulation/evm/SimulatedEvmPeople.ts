/**
 * The people of a simulated EVM chain: the same keys in every simulation, and the fastest cryptography of this machine. All
 * libraries sign alike (RFC 6979), so a seed tells the same story everywhere.
 */
import { EvmAddress, type EvmCrypto, EvmHex, exactEvm } from "@pontage/evm"
import * as NativeCrypto from "@pontage/evm/native"
import { wasm } from "@pontage/evm/wasm"
import * as Effect from "effect/Effect"

/** A person with a key. */
export interface SimulatedPerson {
  readonly signer: ReturnType<typeof exactEvm.localSigner>
  readonly address: EvmAddress.Address
}

let chosen: EvmCrypto.Shape | undefined

/**
 * The cryptography; native, or else WebAssembly. It remembers whom a signature is by: scheme, nodes and blocks all look at the
 * same ones.
 */
export const crypto = (): EvmCrypto.Shape =>
  (chosen ??= remembering(Effect.runSync(Effect.catch(NativeCrypto.make, () => Effect.succeed(wasm)))))

const mostRemembered = 4_096

const remembering = (crypto: EvmCrypto.Shape): EvmCrypto.Shape => {
  const keys = new Map<string, Uint8Array | undefined>()
  return {
    ...crypto,
    recoverPublicKey: (digest, signature, recovery) => {
      const name = String.fromCharCode(...digest, ...signature, recovery)
      if (keys.has(name)) return keys.get(name)
      if (keys.size >= mostRemembered) keys.clear()
      const key = crypto.recoverPublicKey(digest, signature, recovery)
      keys.set(name, key)
      return key
    }
  }
}

const known = new Map<number, SimulatedPerson>()

/** To make a signer costs a millisecond, and simulations come by the thousand. */
const person = (number: number): SimulatedPerson => {
  const found = known.get(number) ?? personOf(number)
  known.set(number, found)
  return found
}

const personOf = (number: number): SimulatedPerson => {
  const signer = exactEvm.localSigner(`0x${EvmHex.toWord(number)}`, crypto())
  return { signer, address: EvmAddress.fromTail(EvmHex.fromTrusted(signer.address)) }
}

/** A facilitators' signer, by its place. */
export const signerAt = (place: number): SimulatedPerson => person(1_001 + place)

/** A payer, by its place. */
export const payerAt = (place: number): SimulatedPerson => person(2_001 + place)

/** The payee, and a stranger who has coin and no part in a payment. */
export const bystanders = (): { readonly payee: SimulatedPerson; readonly stranger: SimulatedPerson } => ({
  payee: person(3_001),
  stranger: person(3_002)
})
