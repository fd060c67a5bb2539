/**
 * A bridge between two ledgers in memory, with the faults of real ones: it attests late or never, its messages are delivered by
 * strangers, and a delivery fails while its recipient is frozen. A payment to the account `acct-to-<name>` on the first ledger goes on
 * to `acct-<name>` on the second one, less the bridge's fee.
 */
import * as Effect from "effect/Effect"
import * as Encoding from "effect/encoding/Hex"
import * as Result from "effect/Result"

import { Hash } from "../../platform/Hash.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import type { DeliveryObservation, Departure, Onward } from "../../scheme/Onward.ts"
import type {
  Inclusion,
  ObservedPayment,
  SchemeFacilitator,
  TransactionObservation
} from "../../scheme/SchemeFacilitator.ts"
import type { OnwardOffers, OnwardOption } from "../../scheme/SchemeServer.ts"
import * as LedgerFacilitator from "./LedgerFacilitator.ts"
import { arriving, asked, asset, crossingFee, farNetwork, type Payload, scheme, signatureOf } from "./LedgerScheme.ts"
import { type LedgerOrder, type TestLedger, toOrder } from "./TestLedger.ts"

/** The faults of a bridge. A test sets and clears them at any time. */
export interface BridgeFaults {
  /** Departures are not attested. */
  withheld: boolean
  /** A delivery would fail: the far token has frozen its recipient. */
  frozen: boolean
  /** A push that the far ledger refuses can still be made: it is `Unmoved` once its block is final, and does not fail. */
  refusable: boolean
  /** The number of times that departures were attested again: pushes of earlier attestations are refused. */
  renewals: number
}

/** A bridge. */
export interface TestBridge {
  readonly faults: BridgeFaults
  /** The onward part of the scheme facilitator of the first ledger. */
  readonly onward: Onward<Payload>
  /** The scheme facilitator of the second ledger, which settles pushes. */
  readonly farFacilitator: (lanes: ReadonlyArray<string>) => SchemeFacilitator
  /** The amount that arrives. */
  readonly arriving: (amount: bigint) => bigint
  /** Another party delivers the message of this payment, in a block of its own. It must be attested. */
  readonly deliverByStranger: (order: LedgerOrder) => Effect.Effect<void>
  /** The amount that was attested and is not delivered yet. */
  readonly undelivered: () => bigint
}

/** The fee of each crossing. */
export const fee = crossingFee

/** A message is valid for as long as anybody can wait. */
const forever = 4_102_444_800
/** The end of the validity tells the attestations of a message apart. */
const validityOf = ({ renewals }: BridgeFaults): number => forever + renewals
const marker = "acct-to-"

/**
 * The offers of a shop's account on the second ledger, for the scheme server of the first one. A quote is `{ fee, quotedUntil, least }`;
 * the price has to be at least `least`.
 */
export const offers = ({ payTo }: OnwardOption): Result.Result<OnwardOffers, string> => {
  const offer = (price: bigint, quoted: bigint) => ({
    payTo: `${marker}${payTo.slice("acct-".length)}`,
    amount: price + quoted,
    extra: { assetTransferMethod: "route", arriving: `${price}` }
  })
  return Result.succeed({
    network: farNetwork,
    onRecord: (price) => offer(price, 0n),
    quoted: (price, [quote]) => {
      if (quote === undefined) return undefined
      const isEnough = price >= BigInt(Number(quote["least"] ?? 0))
      const quotedUntil = Number(quote["quotedUntil"])
      return { quotedUntil, offer: isEnough ? offer(price, BigInt(Number(quote["fee"]))) : undefined }
    }
  })
}
const text = new TextEncoder()

/** Makes a bridge from the first ledger to the second one. */
export const make = (near: TestLedger, far: TestLedger): TestBridge => {
  const faults: BridgeFaults = { withheld: false, frozen: false, refusable: false, renewals: 0 }
  const attested = new Set<string>()

  /** Attests a message once. An attestation stays, whatever becomes of its departure. */
  const attest = (account: string, order: LedgerOrder): boolean => {
    const isHere = near.useOf(order)?.paid === true
    if (!attested.has(account) && isHere && !faults.withheld) {
      attested.add(account)
      far.deposit(account, arriving(order.amount))
    }
    return attested.has(account)
  }

  const observe = Effect.fnUntraced(function* ({ attempt, payment: { payload } }: Departure<Payload>) {
    const order = toOrder(payload)
    const account = yield* accountOf(order)
    const isAttested = yield* asked(near, () => attest(account, order))
    const arrival = yield* asked(far, () => arrivalOf(far, account))
    if (arrival !== undefined) return arrival
    if (!isAttested) return { _tag: "Underway", reason: "the departure is not attested yet" } as const
    if (faults.frozen) return { _tag: "Blocked", reason: "the recipient is frozen on the far ledger" } as const
    const terms = { amount: arriving(order.amount), attempt, validBefore: validityOf(faults) }
    return { _tag: "Ready", push: yield* pushOf(account, order, terms) } as const
  })

  return {
    faults,
    arriving,
    onward: {
      destination: ({ authorization: { payTo } }) => (payTo.startsWith(marker) ? farNetwork : undefined),
      observe
    },
    farFacilitator: (lanes) => delivering(far, LedgerFacilitator.make(far, { network: farNetwork, lanes }), faults),
    deliverByStranger: Effect.fnUntraced(function* (order) {
      const account = yield* accountOf(order)
      far.settleByStranger({
        payer: account,
        payTo: recipientOf(order),
        amount: arriving(order.amount),
        nonce: "by-a-stranger",
        validAfter: 0,
        validBefore: forever
      })
    }),
    undelivered: () => [...attested].reduce((sum, account) => sum + far.balanceOf(account), 0n)
  }
}

/**
 * A ledger's facilitator knows an order by its nonce. A push is done once its message's account has paid, by whichever order: then it is
 * refused as used, and settled for its lane.
 */
const delivering = (far: TestLedger, ledgers: SchemeFacilitator, faults: BridgeFaults): SchemeFacilitator => {
  const unpaid = (seen: Seen, inclusion: Inclusion | undefined): Seen => {
    if (seen._tag !== "Failed" || !faults.refusable) return seen
    const isFinal = inclusion !== undefined && inclusion.block.number <= far.final().number
    return isFinal ? { ...seen, _tag: "Unmoved" } : { _tag: "Pending" }
  }
  const arrivalFor = ({ payment }: ObservedPayment) => arrivalOf(far, payment.authorization.payer)
  return {
    ...ledgers,
    verify: (payment) =>
      Effect.flatMap(
        asked(far, () => arrivalOf(far, payment.authorization.payer)),
        (arrival) => {
          if (arrival !== undefined)
            return Effect.fail(invalid("already_used", arrival.transaction, `delivered by ${arrival.transaction}`))
          return payment.authorization.validBefore === validityOf(faults)
            ? ledgers.verify(payment)
            : Effect.fail(invalid("unsupported_authorization", "attestation_over", "its attestation is over"))
        }
      ),
    observe: (observedPayments, attempts) =>
      Effect.map(ledgers.observe(observedPayments, attempts), ({ inclusion, observations }) => ({
        inclusion,
        observations: observations.map((seen, index): Seen => {
          const observed = observedPayments[index]
          const arrival = observed && arrivalFor(observed)
          return seen._tag === "Settled" || arrival === undefined ? unpaid(seen, inclusion) : settledBy(arrival)
        })
      })),
    conclude: (observed) =>
      Effect.map(ledgers.conclude(observed), (conclusion) => {
        const arrival = arrivalFor(observed)
        return conclusion._tag === "Settled" || arrival === undefined ? conclusion : settledBy(arrival)
      })
  }
}

type Seen = TransactionObservation["observations"][number]

const settledBy = ({ block, transaction }: Arrived) =>
  ({ _tag: "Settled", transaction, block, external: true }) as const

/** The account of a message on the far ledger: it holds the message's money until that is delivered, so once at most. */
const accountOf = Effect.fnUntraced(function* ({ nonce, payer }: LedgerOrder) {
  const digest = yield* (yield* Hash).sha256(text.encode(JSON.stringify([payer, nonce])))
  return `acct-m-${Encoding.encode(digest).slice(0, 24)}`
})

const recipientOf = ({ payTo }: LedgerOrder): string => `acct-${payTo.slice(marker.length)}`

type Arrived = DeliveryObservation & { readonly _tag: "Delivered" }

const arrivalOf = (far: TestLedger, account: string): Arrived | undefined => {
  const transfer = far.transfers.find(({ payer }) => payer === account)
  const use = transfer && far.useOf(transfer)
  if (transfer === undefined || use === undefined) return undefined
  const { hash, number } = use.block
  return {
    _tag: "Delivered",
    transaction: use.transaction,
    block: { number, hash },
    amount: transfer.amount,
    final: number <= far.final().number
  }
}

/** The push is an order of the message's own account, which any party can submit. */
const pushOf = Effect.fnUntraced(function* (
  account: string,
  order: LedgerOrder,
  {
    amount,
    attempt,
    validBefore
  }: Record<"attempt" | "validBefore", number> & {
    readonly amount: bigint
  }
) {
  const payTo = recipientOf(order)
  const terms = {
    payer: account,
    payTo,
    asset: asset.address,
    amount: `${amount}`,
    nonce: `push-${attempt}-${account.slice(-15)}`.slice(0, 22),
    validAfter: 0,
    validBefore
  }
  return {
    requirements: {
      scheme: scheme.name,
      network: farNetwork,
      maxAmountRequired: terms.amount,
      resource: "urn:pontage:delivery",
      payTo,
      asset: asset.address
    },
    payload: { ...terms, signature: yield* signatureOf(terms) },
    renewable: true as const
  }
})
