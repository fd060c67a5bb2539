/**
 * A shop without a chain: a scheme that takes every name for an address, and a facilitator that remembers in memory who
 * claimed which payment and what it was told about its end.
 */
import {
  type Claim,
  Facilitator,
  Network,
  type ExecutionEnd,
  PaymentPayload,
  type PaymentRequest,
  refuse,
  type SchemeServer,
  type Settled
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

import type { PaymentModuleOptions } from "../src/payment.options.ts"

export const network = Schema.decodeSync(Network.Network)("eip155:31337")

export const origin = "https://shop.example"

/** Options of the tests' shop. */
export const terms = { network, price: "$0.01", payTo: "seller" } as const

const asset = {
  network,
  address: "token",
  symbol: "USD",
  decimals: 6,
  dollar: true,
  extra: { name: "Dollar", version: "1" }
}

const scheme: SchemeServer = {
  scheme: {
    name: "exact",
    family: "eip155",
    network: (text) => (text === network ? network : undefined),
    address: (text) => text
  },
  network,
  asset: (_network, text) => (text === undefined || text === asset.address ? asset : undefined),
  assetNames: () => [asset.symbol],
  prove: () => Effect.void
}

const Signed = Schema.Struct({ nonce: Schema.String, word: Schema.optionalKey(Schema.String) })
const decodeSigned = Schema.decodeUnknownSync(Signed)

/** The value of `X-Payment`. The facilitator settles it, unless `word` says otherwise. */
export const payment = (nonce: string, word?: "poor" | "late-poor"): string =>
  JSON.stringify(PaymentPayload.sealPayload("exact", network, word === undefined ? { nonce } : { nonce, word }))

interface Held {
  readonly claim: Claim
  run: "running" | "free" | "entitled" | "spent"
}

/** The end of an execution that the facilitator received. */
export interface Report {
  readonly paymentId: string
  readonly outcome: ExecutionEnd
}

/** The facilitator's memory. */
export class TestFacilitator {
  /** Transfers, by nonce. */
  readonly settled: Array<string> = []
  readonly reports: Array<Report> = []
  /** Waited for before anything is settled. */
  pause: () => Promise<void> = () => Promise.resolve()
  /** Told of every transfer. */
  onSettled: () => void = () => {}
  readonly #held = new Map<string, Held>()
  readonly #listeners: Array<(report: Report) => void> = []

  /** The end of this payment's run, as soon as it is reported. */
  reported(nonce: string): Promise<ExecutionEnd> {
    const known = this.reports.find(({ paymentId }) => paymentId === nonce)
    if (known !== undefined) return Promise.resolve(known.outcome)
    return new Promise((resolve) => {
      this.#listeners.push(({ outcome, paymentId }) => {
        if (paymentId === nonce) resolve(outcome)
      })
    })
  }

  finish(paymentId: string, claimId: string, outcome: ExecutionEnd): void {
    const held = this.#held.get(paymentId)
    if (held === undefined || held.claim.id !== claimId) return
    const unserved = this.settled.includes(paymentId) ? "entitled" : "free"
    held.run = outcome === "served" ? "spent" : unserved
    const report = { paymentId, outcome }
    this.reports.push(report)
    for (const listener of this.#listeners) listener(report)
  }

  claim(nonce: string, claim: Claim): Settled["execution"] {
    const held = this.#held.get(nonce)
    if (held === undefined) {
      this.#held.set(nonce, { claim, run: "running" })
      return "granted"
    }
    if (held.claim.resource !== claim.resource) return "conflict"
    if (held.claim.id === claim.id) return "granted"
    if (held.run === "running") return "held"
    if (held.run === "spent") return "spent"
    this.#held.set(nonce, { claim, run: "running" })
    return "granted"
  }

  readonly layer = Layer.succeed(Facilitator, {
    verify: () => Effect.succeed({ payer: "buyer" }),
    claim: (request, claim) => answer(request, "accepted", (nonce) => this.claim(nonce, claim)),
    settle: (request, claim) =>
      Effect.andThen(
        Effect.promise(() => this.pause()),
        answer(request, "final", (nonce, word) => {
          const late = claim !== undefined && this.#held.get(nonce)?.claim.id === claim.id
          if (word === "poor" || (word === "late-poor" && late)) return undefined
          const execution = claim === undefined ? "held" : this.claim(nonce, claim)
          if (execution !== "granted") return execution
          this.settled.push(nonce)
          this.onSettled()
          return execution
        })
      ),
    finish: (paymentId, claimId, outcome) =>
      Effect.sync(() => {
        this.finish(paymentId, claimId, outcome)
        return {
          paymentId,
          status: "final" as const,
          network,
          asset: asset.address,
          payer: "buyer",
          payTo: "seller",
          amount: "10000",
          transaction: "0x1",
          execution: "free" as const,
          runs: 1,
          history: []
        }
      }),
    payment: () => Effect.undefined,
    supported: Effect.succeed({ kinds: [{ protocolVersion: 2 as const, scheme: "exact", network }], signers: {} })
  })
}

const answer = (
  { paymentPayload, paymentRequirements }: PaymentRequest,
  status: "accepted" | "final",
  decide: (nonce: string, word: string | undefined) => Settled["execution"]
) =>
  Effect.suspend(() => {
    const opened = PaymentPayload.openPayload(paymentPayload)
    const { nonce, word } = decodeSigned(opened._tag === "Success" ? opened.success : undefined)
    const execution = decide(nonce, word)
    if (execution === undefined) return Effect.fail(refuse("INSUFFICIENT_BALANCE", "balance", "not enough tokens"))
    const { asset = "", maxAmountRequired: amount, payTo } = paymentRequirements
    return Effect.succeed<Settled>({
      paymentId: nonce,
      status,
      execution,
      transaction: "0x1",
      network,
      payer: "buyer",
      payTo,
      asset,
      amount,
      entitlement: { runs: 4, until: 1_800_000_000_000 }
    })
  })

/** The module's options over this facilitator. */
export const shopOptions = (
  facilitator: TestFacilitator,
  routes?: PaymentModuleOptions["routes"]
): PaymentModuleOptions => ({
  origin,
  facilitator: facilitator.layer,
  schemes: [scheme],
  secret: "a secret of at least thirty-two characters",
  ...(routes === undefined ? {} : { routes })
})
