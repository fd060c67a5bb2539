/** Top-ups over CCTP, whose messages get their names and their fees from the issuer's attester: one that withholds, forges or repeats. */
import { assert, describe, it } from "@effect/vitest"
import { PaymentDeclined, PaymentJournal, SettlementPending } from "@pontage/core"
import { DollarToken, LocalCctp } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { encodeFunctionData, isAddress, parseAbiItem } from "viem"

import * as TopUpMarket from "./TopUpMarket.ts"

const { price, purse } = TopUpMarket

const bridged = parseAbiItem(
  "event Bridged(address indexed from, bytes32 indexed nonce, bytes32 indexed message, uint256 arriving)"
)

const opened = Effect.gen(function* () {
  const market = yield* TopUpMarket.open("cctp")
  const { account, attester, bridges, facilitator, first, second } = market
  const messenger = bridges[1]?.bridge ?? ""
  if (attester === undefined || !isAddress(messenger)) return yield* Effect.die(new Error("there is no attester"))
  const { router } = market
  const transmitter = yield* Effect.promise(() =>
    second.client.readContract({ address: messenger, abi: LocalCctp.abi, functionName: "localMessageTransmitter" })
  )
  const departures = Effect.promise(() =>
    first.client.getLogs({ address: router, event: bridged, args: { from: account.address }, fromBlock: 0n })
  )
  /** The transaction of the only departure, once there is one. */
  const departed = Effect.map(
    Effect.repeat(departures, { until: (logs) => logs.length > 0, schedule: Schedule.spaced("100 millis") }),
    ([log]) => log?.transactionHash ?? "0x"
  )
  const receive = ({ attestation, message }: Record<"attestation" | "message", `0x${string}`>) =>
    second.send({
      to: transmitter,
      data: encodeFunctionData({ abi: LocalCctp.abi, functionName: "receiveMessage", args: [message, attestation] }),
      from: second.accounts.stranger.address
    })
  const recordOf = (paymentId: string) =>
    Effect.promise(async () => (await (await fetch(`${facilitator}/payments/${paymentId}`)).json()) as DeliveryRecord)
  return { ...market, attester, departed, receive, recordOf, order: { to: second.network, amount: "$10" } }
})

interface DeliveryRecord {
  readonly delivery?: { readonly status: string; readonly amount?: string; readonly detail?: string }
}

const failureOf = (promise: Promise<unknown>) =>
  Effect.promise(() =>
    promise.then(
      (value: unknown) => assert.fail(`expected a failure, got ${String(value)}`),
      (error: unknown) => error
    )
  )

const pendingOf = Effect.fnUntraced(function* (promise: Promise<unknown>) {
  const error = yield* failureOf(promise)
  return error instanceof SettlementPending ? error : assert.fail(String(error))
})

/** A journal that outlives one call. */
const kept = () => PaymentJournal.make(PaymentJournal.memoryLog())

/** The record of a payment once its delivery is in this state. */
const once = (record: Effect.Effect<DeliveryRecord>, is: (delivery: DeliveryRecord["delivery"]) => boolean) =>
  Effect.repeat(record, { until: ({ delivery }) => is(delivery), schedule: Schedule.spaced("100 millis") })

describe("a top-up over CCTP", () => {
  it.live("that the issuer withholds is not taken for an earlier one of the same amount", () =>
    Effect.gen(function* () {
      const { behave, buyer, order, there, topUps } = yield* opened
      const journal = kept()
      const earlier = yield* Effect.promise(() => buyer({ journal }).topUp(order))
      yield* behave("ignore")
      yield* pendingOf(buyer({ journal, waitSeconds: 2 }).topUp(order))
      assert.deepStrictEqual([topUps(), yield* there], [2, earlier.amount])
      yield* behave("deliver")
      const later = yield* Effect.promise(() => buyer({ journal }).topUp(order))
      assert.notStrictEqual(later.arrived, earlier.arrived)
      assert.deepStrictEqual([topUps(), yield* there], [2, earlier.amount + later.amount])
    })
  )

  it.live("arrives once, by a stranger's delivery of an attestation that the issuer has replaced meanwhile", () =>
    Effect.gen(function* () {
      const { attester, behave, buyer, departed, isArrived, order, receive, recordOf, there } = yield* opened
      const journal = kept()
      yield* behave("ignore")
      const { paymentId } = yield* pendingOf(buyer({ journal, waitSeconds: 1 }).topUp(order))
      const transaction = yield* departed
      const attested = yield* attester.attested(transaction)
      if (attested === undefined) return assert.fail("nothing was sent")
      assert.strictEqual((yield* receive(attested)).status, "success")
      assert.strictEqual((yield* receive(attested)).status, "reverted")
      const amount = yield* there
      assert.isTrue(isArrived(amount, price))
      yield* attester.behave("repeat")
      const receipt = yield* Effect.promise(() => buyer({ journal }).topUp(order))
      assert.strictEqual(receipt.amount, amount)
      assert.strictEqual(receipt.departed, transaction)
      // The facilitator knows only the later attestation, without a fee; the chain shows what was delivered.
      const { delivery } = yield* once(recordOf(paymentId), (seen) => seen?.status === "delivered")
      assert.strictEqual(delivery?.amount, `${amount}`)
      assert.strictEqual(yield* there, amount)
    })
  )

  it.live("is not delivered by a forged attestation, and waits for the issuer's", () =>
    Effect.gen(function* () {
      const { attester, buyer, here, order, recordOf, there, topUps } = yield* opened
      const journal = kept()
      yield* attester.behave("forge")
      const { paymentId } = yield* pendingOf(buyer({ journal, waitSeconds: 1 }).topUp(order))
      const { delivery } = yield* once(recordOf(paymentId), (seen) => seen?.status === "stuck")
      assert.match(delivery?.detail ?? "", /InvalidSignature/)
      const left = yield* here
      assert.strictEqual(yield* there, 0n)
      yield* attester.behave("attest")
      const receipt = yield* Effect.promise(() => buyer({ journal }).topUp(order))
      assert.strictEqual(receipt.paymentId, paymentId)
      assert.deepStrictEqual([topUps(), yield* here, yield* there], [1, left, receipt.amount])
    })
  )

  it.live("to an account that the token refuses waits until it takes it, and nothing is lost", () =>
    Effect.gen(function* () {
      const { account, buyer, order, recordOf, second, there, topUps } = yield* opened
      const journal = kept()
      const refuse = (functionName: "blacklist" | "unBlacklist") =>
        second.send({
          to: second.token.address,
          data: encodeFunctionData({ abi: DollarToken.abi, functionName, args: [account.address] })
        })
      assert.strictEqual((yield* refuse("blacklist")).status, "success")
      const { paymentId } = yield* pendingOf(buyer({ journal, waitSeconds: 1 }).topUp(order))
      const { delivery } = yield* once(recordOf(paymentId), (seen) => seen?.status === "stuck")
      assert.match(delivery?.detail ?? "", /Blacklisted/)
      assert.strictEqual((yield* refuse("unBlacklist")).status, "success")
      const receipt = yield* Effect.promise(() => buyer({ journal }).topUp(order))
      assert.deepStrictEqual([topUps(), yield* there], [1, receipt.amount])
    })
  )

  it.live("counts what the issuer may take as its fee, and is not signed for another kind, rate or finality", () =>
    Effect.gen(function* () {
      const { buyer, here, signed, url } = yield* opened
      const feeOf = Effect.fnUntraced(function* (settings: TopUpMarket.BuyerSettings) {
        const quotation = yield* Effect.promise(() => buyer(settings).quote(url))
        return quotation?.payable[0]?.topUp?.fee ?? quotation?.declined.map(({ rule }) => rule).join()
      })
      const free = yield* feeOf({ carrier: TopUpMarket.withQuotes({ issuerRate: "0", fee: "0" }) })
      // Up to a cent, which arrives unless the issuer takes it.
      assert.isTrue(typeof free === "bigint" && free < 10_000n, String(free))
      const tenth = TopUpMarket.withQuotes({ issuerRate: "1000000", fee: "0" })
      const dear = yield* feeOf({ carrier: tenth })
      assert.isTrue(typeof dear === "bigint" && dear >= price / 9n && dear < price / 9n + 10_001n, String(dear))
      const limits = { perRequest: "$30", perDay: "$11" }
      assert.strictEqual(yield* feeOf({ carrier: tenth, limits }), "over_day_limit")
      for (const [change, rule] of [
        [{ issuerRate: "1000001" }, "top_up_unavailable"],
        [{ kind: "oft" }, "top_up_unavailable"],
        [{ options: "0x" }, "terms_unsupported"],
        [{ options: `0x${"0".repeat(61)}1f4` }, "terms_unsupported"]
      ] as const) {
        const error = yield* failureOf(buyer({ carrier: TopUpMarket.withQuotes(change) })(url))
        assert.strictEqual(error instanceof PaymentDeclined ? error.rule : String(error), rule)
      }
      assert.deepStrictEqual([signed, yield* here], [[], purse])
    })
  )
})
