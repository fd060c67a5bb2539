/** Routes over CCTP against an attester that is wrong, slow or silent, and against strangers. */
import { createServer } from "node:http"

import { assert, describe, it } from "@effect/vitest"
import type { Departure, PaymentRequirements, Push } from "@pontage/core"
import { LocalCctp, ReadBatch } from "@pontage/evm/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { encodeFunctionData, isHex, parseTransaction } from "viem"

import * as CctpChains from "../../src/bridge/CctpChains.ts"
import * as LocalAttester from "../../src/bridge/LocalAttester.ts"
import * as RoutedSchemes from "../../src/bridge/RoutedSchemes.ts"
import * as LoopbackServer from "../../src/LoopbackServer.ts"
import * as CctpPayments from "./CctpPayments.ts"
import * as RoutedPayments from "./RoutedPayments.ts"

type Offer = PaymentRequirements.PaymentRequirements

const routeIn = ({ extra = {} }: Offer): Readonly<Record<string, unknown>> => Object(extra["route"])

const wordOf = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
  Effect.match(effect, {
    onSuccess: () => "ok",
    onFailure: (error) => ("detail" in error ? String(error.detail) : error._tag)
  })

/** Payments of the shop's offer, or of one that a hostile shop or payer has made of it. */
const opened = Effect.gen(function* () {
  const payments = yield* CctpPayments.make
  const { client, facilitator, first } = payments
  const offer = yield* payments.offer
  const buyer = client(first.accounts.payers[0])
  const signed = Effect.fnUntraced(function* (requirements: Offer) {
    const asset = buyer.asset(requirements)
    if (asset === undefined) return yield* Effect.die(new Error("the buyer does not know the token"))
    const validBefore = Math.floor((yield* Clock.currentTimeMillis) / 1000) + 600
    return yield* buyer.sign({ requirements, asset, validAfter: 0, validBefore, binding: undefined })
  })
  const read = (requirements: Offer) =>
    Effect.flatMap(signed(requirements), ({ payload }) => facilitator.read(requirements, payload))
  /** Settles one, and gives its departure. */
  const departed = Effect.gen(function* () {
    const payment = yield* read(offer)
    yield* facilitator.verify(payment)
    const [lane = ""] = facilitator.lanes
    const number = yield* facilitator.nextSlot(lane, "known")
    const head = yield* facilitator.chainHead
    const { prepared } = yield* facilitator.prepare([payment], { lane, number }, head, undefined, undefined)
    yield* facilitator.submit(prepared)
    if (!isHex(prepared.transaction)) return yield* Effect.die(new Error("no hash"))
    const { blockHash, blockNumber } = yield* first.receipt(prepared.transaction)
    const block = { number: blockNumber, hash: blockHash }
    const departure: Departure = { payment, transaction: prepared.transaction, block, attempt: 1 }
    return departure
  })
  const observe = (departure: Departure) => facilitator.onward?.observe(departure) ?? Effect.die("no routes")
  return { ...payments, offer, read, departed, observe }
})

/** The offer with other terms of its route, which ask for the same amount. */
const withRoute = (offer: Offer, change: Readonly<Record<string, string>>): Offer => ({
  ...offer,
  extra: { ...offer.extra, route: { ...routeIn(offer), ...change } as Record<string, string> }
})

describe("a route over CCTP", () => {
  it.live("brings its price at least, for the issuer's fee, and is refused where that is too low", () =>
    Effect.gen(function* () {
      const { attester, departed, facilitator, observe, offer, read, received } = yield* opened
      const { amount, fee, kind, minimum } = routeIn(offer)
      assert.strictEqual(kind, "cctp")
      assert.strictEqual(minimum, `${RoutedPayments.price}`)
      // 1.3 basis points of the whole, and 30 % more while the quote holds.
      assert.strictEqual(BigInt(String(amount)) - RoutedPayments.price, 1_691n)
      assert.strictEqual(`${BigInt(String(amount)) + BigInt(String(fee))}`, offer.maxAmountRequired)
      const greedy = withRoute(offer, { minimum: `${BigInt(String(amount)) - 1n}` })
      const verified = Effect.flatMap(read(greedy), (payment) => facilitator.verify(payment))
      assert.strictEqual(yield* wordOf(verified), "route_issuer_fee")
      assert.strictEqual(yield* wordOf(read(withRoute(offer, { kind: "oft" }))), "SigningFailed")
      const departure = yield* departed
      yield* attester.attest
      const ready = yield* observe(departure)
      if (ready._tag !== "Ready") return assert.fail(ready._tag)
      const arriving = BigInt(ready.push.requirements.maxAmountRequired)
      assert.isTrue(arriving > RoutedPayments.price && arriving < BigInt(String(amount)))
      assert.strictEqual(yield* received, 0n)
    })
  )

  it.live("covers the least fee that the messenger accepts, where the attester names less", () =>
    Effect.gen(function* () {
      const { attester, bridges, facilitator, first, offer, read, second, source } = yield* opened
      const least = encodeFunctionData({ abi: LocalCctp.abi, functionName: "setMinFee", args: [5_000n] })
      assert.strictEqual((yield* first.send({ to: source, data: least })).status, "success")
      // An offer of before is refused, and nothing is taken.
      const verified = Effect.flatMap(read(offer), (payment) => facilitator.verify(payment))
      assert.strictEqual(yield* wordOf(verified), "transfer_refused")
      const schemes = RoutedSchemes.between({ first, second }, { bridges, attesterUrl: attester.url })
      const later = yield* schemes.facilitator
      const option = { asset: first.token.address, payTo: first.accounts.payee.address }
      const dearer = yield* RoutedPayments.offerOf(schemes.server, later, option, second.network)
      const { amount } = routeIn(dearer)
      // Five basis points of the whole, and 30 % more.
      assert.strictEqual(BigInt(String(amount)) - RoutedPayments.price, 6_505n)
      yield* later.verify(yield* read(dearer))
    })
  )

  it.live("has a message of its own beside another payment of the same terms in a stranger's transaction", () =>
    Effect.gen(function* () {
      const { attester, facilitator, first, observe, offer, read, router } = yield* opened
      const [lane = ""] = facilitator.lanes
      const number = yield* facilitator.nextSlot(lane, "known")
      const head = yield* facilitator.chainHead
      const payments = [yield* read(offer), yield* read(offer)]
      const calls = yield* Effect.forEach(payments, (payment) =>
        Effect.map(
          facilitator.prepare([payment], { lane, number }, head, undefined, undefined),
          ({ prepared: { bytes } }) => {
            const { data } = isHex(bytes) ? parseTransaction(bytes) : { data: undefined }
            return { target: router, allowFailure: false, callData: data ?? "0x" }
          }
        )
      )
      const batch = yield* first.deploy(ReadBatch)
      const data = encodeFunctionData({ abi: ReadBatch.abi, functionName: "aggregate3", args: [calls] })
      const { blockHash, blockNumber, status, transactionHash } = yield* first.send({ to: batch, data })
      assert.strictEqual(status, "success")
      yield* attester.attest
      const block = { number: blockNumber, hash: blockHash }
      const names = yield* Effect.forEach(payments, (payment) =>
        Effect.map(observe({ payment, transaction: transactionHash, block, attempt: 1 }), (seen) =>
          seen._tag === "Ready" ? String(Object(seen.push.payload).message).slice(26, 90) : seen._tag
        )
      )
      assert.strictEqual(new Set(names).size, 2, names.join())
      for (const name of names) assert.match(name, /^[0-9a-f]{64}$/)
    })
  )

  it.live("is attested again where its attestation has expired", () =>
    Effect.gen(function* () {
      const { attester, departed, observe } = yield* opened
      const departure = yield* departed
      attester.terms.expires = 1n
      yield* attester.attest
      const over = yield* observe(departure)
      assert.strictEqual(over._tag, "Blocked")
      assert.include("reason" in over ? over.reason : "", "expired")
      assert.strictEqual((yield* observe(departure))._tag, "Ready")
    })
  )

  it.live("is pushed with its next attestation where the first one expires before the push is sent", () =>
    Effect.gen(function* () {
      const { attester, deliveries, departed, observe, second } = yield* opened
      const departure = yield* departed
      const refusalOf = ({ payload, requirements }: Push) => {
        const offer = { ...requirements, extra: { delivers: "pay_0" } }
        return wordOf(Effect.flatMap(deliveries.read(offer, payload), (payment) => deliveries.verify(payment)))
      }
      attester.terms.expires = (yield* Effect.promise(() => second.client.getBlockNumber())) + 5n
      yield* attester.attest
      const first = yield* observe(departure)
      if (first._tag !== "Ready") return assert.fail(first._tag)
      assert.strictEqual(yield* refusalOf(first.push), "ok")
      yield* second.mine(5)
      assert.strictEqual(yield* refusalOf(first.push), "delivery_reverted")
      assert.strictEqual((yield* observe(departure))._tag, "Blocked")
      const next = yield* observe(departure)
      if (next._tag !== "Ready") return assert.fail(next._tag)
      assert.isTrue(next.push.renewable)
      assert.notDeepEqual(next.push.payload, first.push.payload)
      assert.strictEqual(yield* refusalOf(next.push), "ok")
    })
  )

  it.live("is neither quoted nor observed by an attester that responds with anything else", () =>
    Effect.gen(function* () {
      const { departed, bridges, first, second } = yield* opened
      const departure = yield* departed
      let respond: readonly [number, string] = [200, "[]"]
      const server = createServer((_request, response) => void response.writeHead(respond[0]).end(respond[1]))
      const attesterUrl = yield* LoopbackServer.listen(server)
      const facilitator = yield* RoutedSchemes.between({ first, second }, { bridges, attesterUrl }).facilitator
      const observe = facilitator.onward?.observe(departure) ?? Effect.die("no routes")
      const [left] = yield* facilitator.unquoted ?? Effect.succeed([])
      // The reason is public: the host may be an internal one, and the attester's words are for the log alone.
      assert.strictEqual(left?.reason, "bridge_unavailable")
      const message = { status: "complete", message: `0x${"00".repeat(376)}`, attestation: "0x01" }
      for (const [status, body, expected] of [
        [500, "{}", /status 500/],
        [200, "<html>", /not JSON/],
        [200, "[1]", /something else/],
        [200, JSON.stringify({ messages: [{ status: 7 }] }), /something else/],
        [200, `"${"a".repeat(300_000)}"`, /more than 262144 bytes/]
      ] as const) {
        respond = [status, body]
        assert.match((yield* Effect.flip(observe)).message, expected)
      }
      for (const messages of [
        [],
        [message],
        [{ ...message, message: "0x" }],
        [{ ...message, attestation: "PENDING" }]
      ]) {
        respond = [200, JSON.stringify({ messages })]
        assert.strictEqual((yield* observe)._tag, "Underway")
      }
      respond = [404, "{}"]
      assert.strictEqual((yield* observe)._tag, "Underway")
    })
  )

  it.live("is not served with constants that a chain contradicts: each stops the start, with its name", () =>
    Effect.gen(function* () {
      const chains = yield* CctpChains.make
      const { url: attesterUrl } = yield* LocalAttester.make(chains.first, chains.attester)
      const [near, far] = CctpChains.bridgesOf(chains)
      if (near === undefined || far === undefined) return assert.fail("no bridges")
      const wrongStart = Effect.fnUntraced(function* (bridges: RoutedSchemes.Bridges) {
        return (yield* Effect.flip(RoutedSchemes.between(chains, { bridges, attesterUrl }).facilitator)).message
      })
      const stranger = chains.first.accounts.stranger.address
      assert.match(yield* wrongStart([near, { ...far, endpointId: 6 }]), /is of the domain 7, not 6/)
      assert.match(yield* wrongStart([{ ...near, endpointId: 9 }, far]), /is of the domain 3, not 9/)
      assert.match(yield* wrongStart([near, { ...far, asset: stranger }]), /does not make/)
      assert.match(yield* wrongStart([near, { ...far, bridge: stranger }]), /names no transmitter/)
      assert.match(yield* wrongStart([near]), /no known bridge leads/)
      const without = RoutedSchemes.between(chains, { bridges: [near, far] }).facilitator
      assert.match((yield* Effect.flip(without)).message, /no known bridge leads/)
    })
  )
})
