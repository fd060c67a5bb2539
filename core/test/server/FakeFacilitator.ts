/**
 * A facilitator that says what a test tells it to and writes down what it was asked.
 */
import {
  type Claim,
  Facilitator,
  NotOnRecord,
  type PaymentRequest,
  type ExecutionEnd,
  type Settled
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export type Told =
  | { readonly ask: "settle" | "claim"; readonly request: PaymentRequest; readonly claim: Claim | undefined }
  | {
      readonly ask: "finish"
      readonly paymentId: string
      readonly claimId: string
      readonly outcome: ExecutionEnd
      readonly charge?: bigint
    }

type Service = Facilitator["Service"]

/** Stands for the term of the offer that is paid. */
const asOffered = "as offered"

/** Left of a first run. */
const entitlement = { runs: 4, until: 1_800_000_000_000 }

/** A payment of whatever is offered, unless a test changes its terms. */
export const settled = (changes: Partial<Settled> = {}): Settled => ({
  paymentId: "pay_0123456789abcdefghijkl",
  status: "final",
  execution: "granted",
  transaction: "0xfeed",
  payer: "0xpayer",
  network: asOffered,
  payTo: asOffered,
  asset: asOffered,
  amount: asOffered,
  entitlement,
  ...changes
})

const answering = ({ paymentRequirements }: PaymentRequest, value: Settled): Settled => {
  const { asset = "", maxAmountRequired, network, payTo } = paymentRequirements
  const offered = { network, payTo, asset, amount: maxAmountRequired }
  const missing = Object.entries(offered).filter(([term]) => Reflect.get(value, term) === asOffered)
  return { ...value, ...Object.fromEntries(missing) }
}

export const kinds = ["eip155:8453", "eip155:1", "ton:mainnet"].map((network) => ({
  protocolVersion: 2 as const,
  scheme: "exact",
  network
}))

/** Ends of executions without a waiter, or waiters for ends to come. */
const makeEnds = () => {
  const ends: Array<ExecutionEnd> = []
  const waiters: Array<(outcome: ExecutionEnd) => void> = []
  return {
    push: (outcome: ExecutionEnd) => {
      const waiter = waiters.shift()
      if (waiter === undefined) ends.push(outcome)
      else waiter(outcome)
    },
    next: (): Promise<ExecutionEnd> => {
      const [end] = ends.splice(0, 1)
      return end === undefined ? new Promise((resolve) => waiters.push(resolve)) : Promise.resolve(end)
    }
  }
}

/** It has nothing on record, so what only a record could grant is refused. */
const unlessNew = (claim: Claim | undefined, value: Settled) =>
  claim?.onlyKnown === true ? Effect.fail(new NotOnRecord("not on record")) : Effect.succeed(value)

/**
 * The service, what it was asked, and the next end of a run that is reported to it; by default it grants and settles
 * everything.
 */
export const make = (says: Partial<Service> = {}) => {
  const told: Array<Told> = []
  const ends = makeEnds()
  const service = Facilitator.of({
    verify: () => Effect.die("the gate never verifies"),
    payment: () => Effect.die("the gate never looks a payment up"),
    supported: says.supported ?? Effect.succeed({ kinds, signers: {} }),
    settle: (request, claim) =>
      Effect.suspend(() => {
        told.push({ ask: "settle", request, claim })
        const answer = says.settle?.(request, claim) ?? unlessNew(claim, settled())
        return Effect.map(answer, (value) => answering(request, value))
      }),
    claim: (request, claim) =>
      Effect.suspend(() => {
        told.push({ ask: "claim", request, claim })
        const answer =
          says.claim?.(request, claim) ?? unlessNew(claim, settled({ status: "accepted", transaction: "" }))
        return Effect.map(answer, (value) => answering(request, value))
      }),
    finish: (paymentId, claimId, outcome, charge) =>
      Effect.suspend(() => {
        told.push({ ask: "finish", paymentId, claimId, outcome, ...(charge !== undefined && { charge }) })
        ends.push(outcome)
        return (
          says.finish?.(paymentId, claimId, outcome, charge) ??
          Effect.succeed({
            paymentId,
            status: "final" as const,
            network: "eip155:8453",
            asset: "0xasset",
            payer: "0xpayer",
            payTo: "0xpayee",
            amount: "10000",
            transaction: "0xfeed",
            execution: "served" as const,
            runs: 1,
            history: []
          })
        )
      })
  })
  return { service, told, nextEnd: ends.next, layer: Layer.succeed(Facilitator, service) }
}

/** The reports, in order. */
export const outcomes = (told: ReadonlyArray<Told>): ReadonlyArray<ExecutionEnd> =>
  told.flatMap((one) => (one.ask === "finish" ? [one.outcome] : []))
