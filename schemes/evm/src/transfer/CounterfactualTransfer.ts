/**
 * Transfers of contract accounts that are not deployed yet (ERC-6492): one call of the contract `CounterfactualSettler` deploys
 * the account, unless it exists by then, and submits its transfer to the token.
 */
import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import type { KnownFactories } from "./KnownFactories.ts"

/** The contract's address, and the factories that it may be asked to call. */
export interface CounterfactualSettling {
  readonly settler: EvmAddress.Address
  readonly factories: KnownFactories
}

/** An account to deploy: its address, its factory and the factory's calldata; and our contract, which can simulate it. */
export interface Deployment {
  readonly settler: EvmAddress.Address
  readonly payer: EvmAddress.Address
  readonly factory: EvmAddress.Address
  readonly factoryData: EvmHex.Hex
}

/** settle(address,address,bytes,address,bytes) */
const settleSelector = "0x439e0df4"
/** deploy(address,address,bytes) */
const deploySelector = "0x2db5b86f"

/**
 * Gas for the deployment, of which the contract gives the factory at most 500 000 and demands a 32nd more, for the transfer of
 * an account with code, and for the transaction; each byte of calldata comes in addition.
 */
const gasBase = 840_000n
const gasPerByte = 16n

/** A call to the contract. */
interface SettlerCall {
  readonly to: EvmAddress.Address
  readonly data: EvmHex.Hex
  readonly gas: bigint
}

const toCall = (to: EvmAddress.Address, data: EvmHex.Hex): SettlerCall => ({
  to,
  data,
  gas: gasBase + (gasPerByte * BigInt(data.length)) / 2n
})

/** The call that deploys the account where it is missing, and submits its transfer. */
export const settle = (
  { factory, factoryData, payer, settler }: Deployment,
  token: EvmAddress.Address,
  transfer: EvmHex.Hex
): SettlerCall =>
  toCall(
    settler,
    `${settleSelector}${AbiEncoding.parameters([
      AbiEncoding.address(payer),
      AbiEncoding.address(factory),
      AbiEncoding.bytes(factoryData),
      AbiEncoding.address(token),
      AbiEncoding.bytes(transfer)
    ])}`
  )

/** The call, for a simulation, that returns the account's code. */
export const deploy = ({ factory, factoryData, payer, settler }: Deployment): SettlerCall =>
  toCall(
    settler,
    `${deploySelector}${AbiEncoding.parameters([
      AbiEncoding.address(payer),
      AbiEncoding.address(factory),
      AbiEncoding.bytes(factoryData)
    ])}`
  )

/** The code that {@link deploy} has returned; `undefined` for other bytes. */
export const codeIn = (returned: EvmHex.Hex): EvmHex.Hex | undefined => {
  const length = Number.parseInt(returned.slice(66, 130), 16)
  const code: EvmHex.Hex = `0x${returned.slice(130, 130 + 2 * length)}`
  return `0x${AbiEncoding.parameters([AbiEncoding.bytes(code)])}` === returned && code !== "0x" ? code : undefined
}
