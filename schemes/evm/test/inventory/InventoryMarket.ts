/** An operator with an inventory between two real chains, and its buyers. */
import { type DeliveryObservation, Network, type Payment, type SchemeFacilitator } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

import { EvmAddress, exactEvm } from "../../src/index.ts"
import type * as EvmTestAccounts from "../../src/testing/EvmTestAccounts.ts"
import * as EvmTestChain from "../../src/testing/EvmTestChain.ts"

export const price = 10_000_000n
export const fee = 50_000n
export const firstChainId = 31_337
export const secondChainId = 31_338
/** Blocks behind the first chain's head from which a payment counts as final. */
export const finalityDepth = 1

/** The same for the operator's payments on the second chain. */
export const deliveryDepth = 30

/** Signs and sends the transaction of a payment, and returns its place on the chain. */
export const settled = Effect.fnUntraced(function* (facilitator: SchemeFacilitator, payment: Payment) {
  const [lane = ""] = facilitator.lanes
  const number = yield* facilitator.nextSlot(lane, "known")
  const { prepared } = yield* facilitator.prepare([payment], { lane, number }, yield* facilitator.chainHead)
  yield* facilitator.submit(prepared)
  const observed = { payment, since: prepared.head }
  const look = Effect.map(facilitator.observe([observed], [prepared]), ({ observations: [first] }) => first)
  const seen = yield* Effect.repeat(look, {
    until: (one) => one?._tag !== "Pending",
    schedule: Schedule.spaced("20 millis")
  })
  if (seen?._tag !== "Settled") return yield* Effect.die(new Error(`the payment is ${seen?._tag}`))
  return seen
})

/** The operator's payment to the shop, as the far facilitator reads it. */
export const payoutOf = Effect.fnUntraced(function* (far: SchemeFacilitator, ready: DeliveryObservation) {
  if (ready._tag !== "Ready") return yield* Effect.die(new Error(`the payout is ${ready._tag}`))
  const { payload, requirements } = ready.push
  return yield* far.read({ ...requirements, extra: { ...requirements.extra, delivers: "pay_of_this_test" } }, payload)
})

/** Both chains. */
export const chains = Effect.all({
  first: EvmTestChain.make({ chainId: firstChainId }),
  second: EvmTestChain.make({ chainId: secondChainId })
})

/** The nodes that the operator reads; default those of the chains. */
interface Urls {
  readonly nearUrl?: string
  readonly farUrl?: string
}

/** An operator with both schemes and a stock on the second chain; `paid` signs a buyer's payment and reads it. */
export const opened = Effect.fnUntraced(function* (
  { first, second }: Effect.Success<typeof chains>,
  { farUrl = second.rpcUrl, nearUrl = first.rpcUrl }: Urls = {}
) {
  const { payee, payers, signers } = first.accounts
  const operator = signers[3]
  const assets = [
    { network: first.network, ...first.token },
    { network: second.network, ...second.token }
  ]
  const shared = { assets, finalityDepth }
  const to = { network: second.network, rpcUrl: farUrl, finalityDepth: deliveryDepth }
  yield* second.mint(operator.address, 100_000_000n)
  const inventory = { signer: operator, pairs: [{ to, fee, perDay: 100_000_000n, lossBudget: price }] }
  const start = exactEvm.facilitator({ ...shared, signer: signers[0], rpcUrl: nearUrl, inventory })
  const facilitator = yield* start
  const { onward } = facilitator
  if (onward === undefined) return yield* Effect.die(new Error("the facilitator has no onward part"))
  const farBy = (signer: EvmTestAccounts.TestAccount, rpcUrl: string = second.rpcUrl) =>
    exactEvm.facilitator({ assets, finalityDepth: deliveryDepth, signer, rpcUrl })
  const far = yield* farBy(signers[1], farUrl)
  const network = Network.make(first.network)
  const requirements = {
    scheme: "exact",
    network,
    maxAmountRequired: `${price + fee}`,
    resource: "https://shop.example/report",
    payTo: operator.address,
    asset: first.token.address,
    extra: {
      assetTransferMethod: "inventory",
      inventory: {
        network: second.network,
        asset: EvmAddress.checksum(EvmAddress.fromText(second.token.address) ?? EvmAddress.zero),
        payTo: payee.address,
        amount: `${price}`,
        fee: `${fee}`,
        quotedUntil: 4_102_444_800
      }
    }
  }
  const clientOf = (signer: EvmTestAccounts.TestAccount) =>
    exactEvm.client({ signer, network, assets, routes: exactEvm.routes({ inventories: [operator.address] }) })
  const paid = Effect.fnUntraced(function* (index: number) {
    const client = clientOf(payers[index] ?? payers[0])
    const asset = client.asset(requirements)
    if (asset === undefined) return yield* Effect.die(new Error("the token is not known"))
    const validBefore = Math.floor((yield* Clock.currentTimeMillis) / 1000) + 600
    const { payload } = yield* client.sign({ requirements, asset, validAfter: 0, validBefore, binding: undefined })
    return yield* facilitator.read(requirements, payload)
  })
  const stranger = yield* exactEvm.facilitator({ ...shared, signer: signers[2], rpcUrl: first.rpcUrl, inventory })
  return { facilitator, start, stranger, far, farBy, onward, requirements, clientOf, paid, operator }
})
