/**
 * The service with an operator's inventory as a process of its own, between an EVM chain that buyers pay on and another network where it
 * pays shops: its variables, payments to it, and what it says of their deliveries.
 */
import { FacilitatorClient, Network, PaymentPayload, type PaymentRequirements } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import type { EvmTestChain } from "@pontage/evm/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

import * as ServiceProcess from "./ServiceProcess.ts"
import * as TestPayment from "./TestPayment.ts"

/** The price at the shop and the operator's fee, in the tokens' smallest unit. */
export const price = 10_000_000n
export const fee = 50_000n

/** The pause between two looks of a test. */
export const often = Schedule.spaced("100 millis")

/** The other network, where shops are paid. */
export interface FarPlace {
  readonly network: string
  readonly asset: string
  /** The shop's account. */
  readonly payee: string
  /** Further entries of the operator's EVM networks, and the variables of networks of other families. */
  readonly evm?: ReadonlyArray<object>
  readonly assets?: ReadonlyArray<object>
  readonly environment?: Readonly<Record<string, string>>
}

/** The entry of a chain among the EVM networks. */
export const entry = ({ network, rpcUrl }: EvmTestChain.Shape) => ({ network, rpcUrl, finalityDepth: 2 })

/** Settings of an inventory whose buyers pay on this chain, and payments to it. */
export const between = (first: EvmTestChain.Shape, far: FarPlace, perDay = 1_000_000_000n) => {
  const { signers } = first.accounts
  const operator = signers[3]
  const paidIn = { network: first.network, ...first.token }
  const environment: Readonly<Record<string, string>> = {
    PORT: "0",
    PONTAGE_STORE: ServiceProcess.freshFile(),
    PONTAGE_EVM: JSON.stringify([entry(first), ...(far.evm ?? [])]),
    PONTAGE_EVM_SIGNER_KEY: signers[0].privateKey,
    PONTAGE_EVM_ASSETS: JSON.stringify([paidIn, ...(far.assets ?? [])]),
    PONTAGE_BRIDGE_INVENTORY: JSON.stringify([
      { from: first.network, to: far.network, fee: `${fee}`, perDay: `${perDay}` }
    ]),
    PONTAGE_BRIDGE_INVENTORY_KEY: operator.privateKey,
    ...far.environment
  }
  const offerTo = (recipient: string): PaymentRequirements.PaymentRequirements => ({
    scheme: "exact",
    network: Network.make(first.network),
    maxAmountRequired: `${price + fee}`,
    resource: "https://shop.example/report",
    payTo: operator.address,
    asset: first.token.address,
    extra: {
      assetTransferMethod: "inventory",
      inventory: {
        network: far.network,
        asset: far.asset,
        payTo: recipient,
        amount: `${price}`,
        fee: `${fee}`,
        quotedUntil: 4_102_444_800
      }
    }
  })
  const paid = Effect.fnUntraced(function* (payer: number, recipient = far.payee) {
    const requirements = offerTo(recipient)
    const signer = first.accounts.payers[payer] ?? first.accounts.payers[0]
    const routes = exactEvm.routes({ inventories: [operator.address] })
    const client = exactEvm.client({ signer, network: first.network, assets: [paidIn], routes })
    const asset = client.asset(requirements)
    if (asset === undefined) return yield* Effect.die(new Error("the token is not known"))
    const validBefore = Math.floor((yield* Clock.currentTimeMillis) / 1000) + 60
    const { payload } = yield* client.sign({ requirements, asset, validAfter: 0, validBefore, binding: undefined })
    const paymentPayload = PaymentPayload.sealPayload("exact", first.network, payload)
    return { paymentPayload, paymentRequirements: requirements }
  })
  const settle = Effect.fnUntraced(function* (url: string, payer: number) {
    const client = yield* FacilitatorClient.make({ url })
    return yield* client.settle(yield* paid(payer), TestPayment.claim(payer))
  })
  return { operator, environment, offerTo, paid, settle }
}

/** Whether the nodes of all networks have responded to the service. It listens on the same port anew each time that one does. */
const isWhole = (url: string) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}/supported`).catch(() => undefined)
    return (
      response !== undefined && !Object.hasOwn(Object(await response.json().catch(() => ({ pending: [] }))), "pending")
    )
  })

/** Starts the service, and waits until it settles on all its networks. */
export const started = Effect.fnUntraced(function* (environment: Readonly<Record<string, string>>) {
  const service = yield* ServiceProcess.run(environment)
  const url = yield* service.url
  yield* Effect.repeat(isWhole(url), { until: (whole) => whole, schedule: often })
  const kill = Effect.andThen(
    Effect.sync(() => service.process.kill("SIGKILL")),
    service.exited
  )
  return { ...service, url, kill }
})

/** A delivery as the service tells it. */
export interface Delivery {
  readonly status: string
  readonly transaction?: string
  readonly amount?: string
  readonly detail?: string
}

const deliveryOf = (url: string, paymentId: string) =>
  Effect.promise(async () => {
    const { delivery } = (await (await fetch(`${url}/payments/${paymentId}`)).json()) as {
      readonly delivery?: Delivery
    }
    return delivery
  })

/** Waits for a state of a delivery. */
export const until = (url: string, paymentId: string, wanted: (seen: Delivery) => boolean) =>
  Effect.repeat(deliveryOf(url, paymentId), { until: (seen) => seen !== undefined && wanted(seen), schedule: often })

/** Waits for the delivery. */
export const delivered = (url: string, paymentId: string) =>
  until(url, paymentId, ({ status }) => status === "delivered")

/** Holds a payout, which anybody can read on its chain, against the service: it pays for nothing else, with a claim or without. */
export const refusals = Effect.fnUntraced(function* (
  url: string,
  payload: unknown,
  requirements: Omit<PaymentRequirements.PaymentRequirements, "scheme" | "resource" | "maxAmountRequired">
) {
  const paymentPayload = PaymentPayload.sealPayload("exact", requirements.network, payload)
  const paymentRequirements = {
    ...requirements,
    scheme: "exact",
    maxAmountRequired: `${price}`,
    resource: "https://shop.example/report"
  }
  const client = yield* FacilitatorClient.make({ url })
  return yield* Effect.forEach([undefined, TestPayment.claim(7)], (claim) =>
    Effect.map(Effect.flip(client.settle({ paymentPayload, paymentRequirements }, claim)), (refusal) =>
      "reason" in refusal ? refusal.reason : refusal._tag
    )
  )
})
