/** A shop, its payers and a facilitator on a local TON chain, for the tests of settlement. */
import {
  FacilitatorSchemeRegistry,
  type Claim,
  LaneLeases,
  LocalFacilitator,
  MemoryPaymentStore,
  type Payment,
  type PaymentFailure,
  PaymentPayload,
  type PaymentRequest,
  type PaymentRequirements,
  type PaymentStore,
  type SchemeClient,
  type SchemeFacilitator,
  type Settled
} from "@pontage/core"
import { Cell, type MessageRelaxed, loadMessageRelaxed } from "@ton/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import type { Options } from "../src/exact/ExactTonChain.ts"
import { exactTon, type TonExpense, TonNetwork } from "../src/index.ts"
import { type TestJetton, type TonTestAccounts, TonTestChain } from "../src/testing/index.ts"

export const amount = 10_000n
export const validSeconds = 60

type Account = TonTestAccounts.TestAccount
type Requirements = PaymentRequirements.PaymentRequirements

/** Differences of a trial from the default one. */
export interface Wish extends Partial<Options> {
  readonly jetton?: TestJetton.TestJetton
}

/** A scheme facilitator of the first relayer, with its offer and its payers. */
export interface Trial {
  readonly chain: TonTestChain.Shape
  readonly facilitator: SchemeFacilitator
  readonly requirements: Requirements
  readonly expenses: ReadonlyArray<TonExpense>
  readonly clientOf: (account: Account, kind?: "w5-internal" | "external") => SchemeClient
}

/** Makes a trial. */
export const make = Effect.fnUntraced(function* (wish: Wish = {}) {
  const chain = yield* TonTestChain.TonTestChain
  const { accounts, network, rpcUrl } = chain
  const { jetton = chain.jetton, ...options } = wish
  const assets = [chain.jetton, chain.governed].map(({ decimals, raw, symbol }) => ({
    network,
    address: raw,
    symbol,
    decimals
  }))
  const expenses: Array<TonExpense> = []
  const facilitator = yield* exactTon.facilitator({
    signer: accounts.relayers[0],
    rpcUrl,
    network,
    assets,
    batches: { windowMillis: 20 },
    // Each node here responds; on a busy machine a block of 200 messages takes longer than the default of 10 seconds.
    rpcTimeoutMillis: 600_000,
    onExpense: (expense) => expenses.push(expense),
    ...options
  })
  const requirements: Requirements = {
    scheme: "exact",
    network: TonNetwork.local,
    maxAmountRequired: `${amount}`,
    resource: "https://shop.example/report",
    payTo: accounts.payee.raw,
    asset: jetton.raw,
    extra: { ...facilitator.extra }
  }
  const clientOf: Trial["clientOf"] = (signer, kind = "w5-internal") =>
    exactTon.client({ signer, network, rpcUrl, assets, kind })
  return { chain, facilitator, requirements, expenses, clientOf } satisfies Trial
})

/** A signed payload of a payer. */
export const signed = Effect.fnUntraced(function* (
  { clientOf, requirements }: Trial,
  account: Account,
  kind?: "w5-internal" | "external"
) {
  const client = clientOf(account, kind)
  const asset = client.asset(requirements)
  if (asset === undefined) return yield* Effect.die("the payer knows the asset")
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const order = { requirements, asset, validAfter: 0, validBefore: now + validSeconds, binding: undefined }
  return (yield* client.sign(order)).payload
})

/** The payment that the scheme facilitator reads from a payload. */
export const read = ({ facilitator, requirements }: Trial, payload: unknown) => facilitator.read(requirements, payload)

/** A payment of a payer, signed and read. */
export const payment = (trial: Trial, account: Account, kind?: "w5-internal" | "external") =>
  Effect.flatMap(signed(trial, account, kind), (payload) => read(trial, payload))

/** The request to a facilitator with this payload. */
export const request = ({ requirements }: Trial, payload: unknown): PaymentRequest => ({
  paymentPayload: PaymentPayload.sealPayload("exact", requirements.network, payload),
  paymentRequirements: requirements
})

type Service = Effect.Success<ReturnType<typeof LocalFacilitator.make>>

/** Runs with a local facilitator over these records; by default over new ones. */
export const withService = <A, E>(
  facilitator: SchemeFacilitator,
  use: (service: Service) => Effect.Effect<A, E>,
  records: Layer.Layer<PaymentStore.PaymentStore> = MemoryPaymentStore.layer
) =>
  Effect.scoped(
    Effect.provide(
      Effect.flatMap(LocalFacilitator.make({}), use),
      Layer.mergeAll(
        records,
        LaneLeases.layerSole,
        Layer.orDie(FacilitatorSchemeRegistry.layer([Effect.succeed(facilitator)]))
      ),
      { local: true }
    )
  )

let claims = 0

/** A claim of its own. */
export const newClaim = (): Claim => ({ id: `claim-${++claims}`, resource: "the-report" })

/** One word for an outcome. */
export const wordOf = <A>(effect: Effect.Effect<A, PaymentFailure>): Effect.Effect<string> =>
  Effect.match(effect, {
    onSuccess: () => "ok",
    onFailure: (error) => {
      if (error._tag === "PaymentError") return `${error.code} ${error.detail}`
      return error._tag === "ValidationError" ? `${error.reason} ${error.detail}` : error._tag
    }
  })

export const isSettled = ({ status }: Settled): boolean => status === "included" || status === "final"

/** Prepares payments in the next slot and submits the transaction. */
export const sent = Effect.fnUntraced(function* ({ facilitator }: Trial, payments: ReadonlyArray<Payment>) {
  const [lane = ""] = facilitator.lanes
  const number = yield* facilitator.nextSlot(lane, "known")
  const { count, prepared } = yield* facilitator.prepare(payments, { lane, number }, yield* facilitator.chainHead)
  yield* facilitator.submit(prepared)
  return { count, prepared }
})

/** Prepares the first of these payments in the next slot, and returns the payments to observe. */
export const relayed = Effect.fnUntraced(function* (trial: Trial, payments: ReadonlyArray<Payment>) {
  const { facilitator } = trial
  const [lane = ""] = facilitator.lanes
  const number = yield* facilitator.nextSlot(lane, "known")
  const { count, prepared } = yield* facilitator.prepare(payments, { lane, number }, yield* facilitator.chainHead)
  return {
    count,
    prepared,
    observedPayments: payments.slice(0, count).map((payment) => ({ payment, since: prepared.head }))
  }
})

/** A signed request as a message that another account sends. */
export const carried = (boc: string, value: bigint): MessageRelaxed => {
  const message = loadMessageRelaxed(Cell.fromBase64(boc).beginParse())
  if (message.info.type !== "internal") throw new Error("a request is inside an internal message")
  return { ...message, info: { ...message.info, value: { coins: value } } }
}

/** Number of external messages that a wallet has carried out. */
export const externals = Effect.fnUntraced(function* (account: Account) {
  const { transactions } = yield* TonTestChain.TonTestChain
  return (yield* transactions(account.address)).filter(({ inMessage }) => inMessage?.info.type === "external-in").length
})
