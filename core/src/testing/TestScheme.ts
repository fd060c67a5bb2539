/**
 * `exact` on a ledger in memory (`TestLedger`): the smallest scheme that keeps all the laws, with its three halves. It is
 * the example to read before writing a scheme, and the chain of tests that need faults no real node commits on demand.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Schema from "effect/Schema"

import { Entropy, identifier } from "../platform/Entropy.ts"
import { Hash } from "../platform/Hash.ts"
import * as Amount from "../protocol/Amount.ts"
import type { Asset } from "../protocol/Asset.ts"
import * as Binding from "../protocol/Binding.ts"
import * as Network from "../protocol/Network.ts"
import { type PaymentError, refuse } from "../protocol/PaymentError.ts"
import { RequestBinding } from "../protocol/PaymentPayload.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import { ChainUnavailable } from "../protocol/ProtocolError.ts"
import { invalid, type ValidationError } from "../protocol/ValidationError.ts"
import type { Scheme } from "../scheme/Scheme.ts"
import type { SchemeClient, SigningRequest } from "../scheme/SchemeClient.ts"
import type {
  Observation,
  Payment,
  Prepared,
  SchemeFacilitator,
  Slot,
  Submission,
  Survey
} from "../scheme/SchemeFacilitator.ts"
import type { SchemeServer } from "../scheme/SchemeServer.ts"
import type { LedgerOrder, LedgerTransaction, TestLedger } from "./TestLedger.ts"

/**
 * The one network; `ledger:1` is its alias.
 *
 * @category constants
 */
export const network = Network.make("ledger:test")

/**
 * The one token: a dollar of six decimals.
 *
 * @category constants
 */
export const asset: Asset = {
  network,
  address: "acct-dollar",
  symbol: "TUSD",
  decimals: 6,
  dollar: true,
  extra: {}
}

/**
 * The definition.
 *
 * @category constants
 */
export const scheme: Scheme = {
  name: "exact",
  family: "ledger",
  network: (text) => (text === "ledger:test" || text === "ledger:1" ? network : undefined),
  address: (text) => (/^acct-[a-z0-9-]{1,32}$/i.test(text) ? text.toLowerCase() : undefined)
}

const Payload = Schema.Struct({
  payer: Schema.String,
  payTo: Schema.String,
  asset: Schema.String,
  amount: Amount.FromText,
  nonce: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{22}$/)),
  validAfter: Schema.Int,
  validBefore: Schema.Int,
  signature: Schema.String,
  binding: Schema.optionalKey(RequestBinding)
})

type Payload = typeof Payload.Type

/** The payload on its way: its amount is text. */
type Encoded = typeof Payload.Encoded

const decodePayload = Schema.decodeUnknownEffect(Payload)

const text = new TextEncoder()

/** Whoever knows the account's secret can make it, like a bank's code; nobody else can. */
const signatureOf = Effect.fnUntraced(function* (payload: Omit<Encoded, "signature">) {
  const hash = yield* Hash
  const { amount, asset: token, nonce, payTo, payer, validAfter, validBefore } = payload
  const terms = JSON.stringify([payer, payTo, token, amount, nonce, validAfter, validBefore])
  return Base64Url.encode(yield* hash.hmacSha256(text.encode(`secret of ${payer}`), text.encode(terms)))
})

const boundNonce = (binding: RequestBinding) =>
  Effect.map(Binding.tag(binding), (tag) => Base64Url.encode(tag.subarray(0, 16)))

/**
 * The payer's half, for the account of this name.
 *
 * @category constructors
 */
export const client = (payer: string): SchemeClient => ({
  scheme,
  network,
  asset: (requirements) =>
    requirements.asset !== undefined && scheme.address(requirements.asset) === asset.address ? asset : undefined,
  sign: (request) => sign(payer, request)
})

const sign = Effect.fnUntraced(function* (payer: string, request: SigningRequest) {
  const { binding, requirements, validAfter, validBefore } = request
  const nonce = yield* binding === undefined ? Effect.map(Entropy, identifier) : boundNonce(binding)
  const terms = {
    payer,
    payTo: scheme.address(requirements.payTo) ?? requirements.payTo,
    asset: request.asset.address,
    amount: requirements.maxAmountRequired,
    nonce,
    validAfter,
    validBefore,
    ...(binding && { binding: { ...binding } })
  }
  return { payer, nonce, payload: { ...terms, signature: yield* signatureOf(terms) } }
})

/**
 * The seller's half.
 *
 * @category constructors
 */
export const server = (ledger: TestLedger): SchemeServer => ({
  scheme,
  network,
  asset: (_, wanted) =>
    wanted === undefined || wanted === asset.symbol || scheme.address(wanted) === asset.address ? asset : undefined,
  assetNames: () => [asset.symbol],
  prove: () => asked(ledger, () => undefined)
})

/**
 * The settling half, with signers of these names.
 *
 * @category constructors
 */
export const facilitator = (ledger: TestLedger, lanes: ReadonlyArray<string> = ["signer-1"]): SchemeFacilitator => {
  const half: SchemeFacilitator<Payload> = {
    scheme,
    network,
    lanes,
    read: (requirements, payload) => read(requirements, payload),
    verify: (payment) => verify(ledger, payment),
    balance: ({ authorization }) => asked(ledger, () => ledger.balanceOf(authorization.payer)),
    nextSlot: (lane) => asked(ledger, () => ledger.nextSlot(lane)),
    survey: asked(ledger, () => ({ head: ledger.head() })),
    prepare: ({ payload }, slot, survey) => asked(ledger, () => prepared(orderOf(payload), slot, survey)),
    fill: (slot, survey) => asked(ledger, () => prepared(undefined, slot, survey)),
    submit: ({ bytes }) => submit(ledger, transactionOf(bytes)),
    observe: (payment, { head, transaction }) => asked(ledger, () => observe(ledger, payment, transaction, head)),
    signers: asked(ledger, () => lanes.map((address) => ({ address, balance: 1n })))
  }
  return half
}

/** Asks the ledger; nobody answers while it is down. */
const asked = <A>(ledger: TestLedger, question: () => A): Effect.Effect<A, ChainUnavailable> =>
  Effect.suspend(() => (ledger.faults.down ? Effect.fail(unavailable("the ledger is down")) : Effect.sync(question)))

const unavailable = (message: string) => new ChainUnavailable({ network, message })

const read = Effect.fnUntraced(function* (requirements: PaymentRequirements, json: unknown) {
  const payload = yield* Effect.mapError(decodePayload(json), (error) =>
    invalid("malformed", "payload_fields", `the payload is no order: ${error.message}`)
  )
  const { binding, nonce } = payload
  if (binding !== undefined && nonce !== (yield* boundNonce(binding))) {
    return yield* invalid("binding_mismatch", "nonce_not_bound", "the nonce is not the one of the challenge and salt")
  }
  const { amount, asset: token, payTo, payer, validAfter, validBefore } = payload
  const authorization = { payer, payTo, asset: token, amount, nonce, validAfter, validBefore, binding }
  return { requirements, payload, authorization }
})

const verify = Effect.fnUntraced(function* (
  ledger: TestLedger,
  { payload }: Payment<Payload>
): Effect.fn.Return<void, PaymentError | ValidationError | ChainUnavailable> {
  const { signature, ...terms } = payload
  if (signature !== (yield* signatureOf({ ...terms, amount: `${terms.amount}` }))) {
    return yield* refuse("INVALID_SIGNATURE", "payer_mismatch", `the signature is not one of ${terms.payer}`)
  }
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  if (payload.validBefore <= now) return yield* refuse("EXPIRED_PAYMENT", "expired", "the ledger's time is over")
  const error = yield* asked(ledger, () => obstacle(ledger, orderOf(payload)))
  if (error !== undefined) return yield* error
})

const obstacle = (ledger: TestLedger, order: LedgerOrder): PaymentError | ValidationError | undefined => {
  const use = ledger.useOf(order)
  if (use !== undefined) return invalid("already_used", use.transaction, `the nonce was used in ${use.transaction}`)
  return ledger.balanceOf(order.payer) < order.amount
    ? refuse("INSUFFICIENT_BALANCE", "balance_below_amount", `${order.payer} holds less than ${order.amount}`)
    : undefined
}

const orderOf = ({ amount, nonce, payTo, payer }: Payload): LedgerOrder => ({ payer, payTo, amount, nonce })

const prepared = (order: LedgerOrder | undefined, slot: Slot | undefined, { head }: Survey): Prepared => {
  const { lane, number } = slot ?? { lane: "none", number: 0n }
  const transaction = [lane, number, order?.payer ?? "fill", order?.nonce ?? "", head].join("/")
  return { slot, transaction, bytes: Schema.encodeSync(Bytes)({ id: transaction, lane, slot: number, order }), head }
}

const Bytes = Schema.fromJsonString(
  Schema.Struct({
    id: Schema.String,
    lane: Schema.String,
    slot: Amount.FromText,
    order: Schema.UndefinedOr(
      Schema.Struct({ payer: Schema.String, payTo: Schema.String, amount: Amount.FromText, nonce: Schema.String })
    ).pipe(Schema.optional)
  })
)

const decodeBytes = Schema.decodeSync(Bytes)

const transactionOf = (bytes: string): LedgerTransaction => {
  const { id, lane, order, slot } = decodeBytes(bytes)
  return { id, lane, slot, order }
}

const submit = Effect.fnUntraced(function* (
  ledger: TestLedger,
  transaction: LedgerTransaction
): Effect.fn.Return<Submission, ChainUnavailable> {
  const answer = yield* asked(ledger, () => ledger.submit(transaction))
  if (answer === undefined) return yield* unavailable("the answer was lost")
  if (answer === "accepted") return { _tag: "Accepted" }
  return answer === "slotUsed" ? { _tag: "SlotUsed" } : { _tag: "Refused", message: answer.refused }
})

const observe = (ledger: TestLedger, { payload }: Payment<Payload>, transaction: string, head: bigint): Observation => {
  const receipt = ledger.receipt(transaction)
  if (receipt === undefined) return { _tag: "Pending" }
  if (receipt.paid) return { _tag: "Settled", transaction, block: receipt.block, external: false }
  const order = orderOf(payload)
  const use = ledger.useOf(order)
  if (use?.paid === true && use.block > head) {
    return { _tag: "Settled", transaction: use.transaction, block: use.block, external: true }
  }
  const error = obstacle(ledger, order) ?? invalid("unsupported_authorization", "reverted", "the transfer was refused")
  return { _tag: "Failed", transaction: use?.transaction ?? transaction, error }
}
