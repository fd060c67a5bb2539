/**
 * Two bridged chains for tests of the router, with routes of their payer and the price of a message.
 */
import * as Effect from "effect/Effect"
import { type Hex, pad, parseAbi, toHex } from "viem"

import * as BridgedChains from "../../src/bridge/BridgedChains.ts"
import * as SignedRoute from "./SignedRoute.ts"

const oftAbi = parseAbi([
  "function quoteSend((uint32 dstEid, bytes32 to, uint256 amountLD, uint256 minAmountLD, bytes extraOptions, bytes composeMsg, bytes oftCmd) sending, bool payInLzToken) view returns ((uint256 nativeFee, uint256 lzTokenFee) fee)"
])

/** The executor's options of type 3: gas for the receiver on the other chain. */
export const optionsFor = (gas: bigint): Hex => `0x000301001101${toHex(gas, { size: 16 }).slice(2)}`

/** Starts both chains and all of the contracts. */
export const make = Effect.gen(function* () {
  const chains = yield* BridgedChains.make
  const { first, lockbox } = chains
  const [facilitator] = first.accounts.signers
  const router = SignedRoute.addressed(chains.router)
  const routeOf = (other: Partial<SignedRoute.Route> = {}): Effect.Effect<SignedRoute.Route> =>
    Effect.sync(() => ({
      token: first.token.address,
      bridge: lockbox,
      destination: BridgedChains.eids.second,
      recipient: pad(first.accounts.payee.address),
      amount: 10_000n,
      minimum: 10_000n,
      fee: 150n,
      feeRecipient: facilitator.address,
      options: optionsFor(120_000n),
      tag: pad(toHex(++lastTag)),
      ...other
    }))
  const quote = ({ amount, bridge, destination, minimum, options: extraOptions, recipient }: SignedRoute.Route) =>
    Effect.promise(async () => {
      const sending = { dstEid: destination, to: recipient, amountLD: amount, minAmountLD: minimum, extraOptions }
      const args = [{ ...sending, composeMsg: "0x", oftCmd: "0x" }, false] as const
      const fee = await first.client.readContract({ address: bridge, abi: oftAbi, functionName: "quoteSend", args })
      return fee.nativeFee
    })
  return { ...chains, router, routeOf, quote, ...SignedRoute.make(first, router) }
})

let lastTag = 0n
