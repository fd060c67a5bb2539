/** Verifications that share a request: each gets the result that it would get alone, after a short wait. */
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"

import { layerEach } from "../../../../core/test/LayerEach.ts"
import { TransferProbe } from "../../src/artifacts/TransferProbe.ts"
import { Delegate7702, DollarToken, EvmTestChain, GasBurner1271, ReturnBomb1271 } from "../../src/testing/index.ts"
import * as Batch from "../EvmTestBatch.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as Token from "../EvmTestToken.ts"
import * as RpcProxy from "../RpcProxy.ts"

const chain = EvmTestChain.EvmTestChain

/** Long enough for all that a test asks for to find each other on a busy machine. */
const verifyWindowMillis = 200

const Call = Schema.decodeUnknownSync(
  Schema.Struct({ to: Schema.optionalKey(Schema.String), data: Schema.String, gas: Schema.String })
)

/** A scheme facilitator behind a proxy that has proven the chain's token; the calls it makes from now on, those of probes apart. */
const watched = Effect.fnUntraced(function* (options: Payment.FacilitatorOptions = {}) {
  const proxy = yield* RpcProxy.make
  const schemeFacilitator = yield* Payment.scheme(yield* chain, { rpcUrl: proxy.url, verifyWindowMillis, ...options })
  yield* schemeFacilitator.verify(yield* Payment.read(schemeFacilitator, yield* Payment.payment()))
  proxy.requests.length = 0
  const asked = () => {
    const calls = proxy.requests.filter(({ method }) => method === "eth_call").map(({ params }) => Call(params[0]))
    const probes = calls.filter(({ to }) => to === undefined)
    assert.isTrue(probes.every(({ data }) => data.startsWith(TransferProbe.bytecode)))
    assert.isTrue(calls.every(({ gas }) => Number(gas) > 0 && Number(gas) <= 5_000_000))
    return { probes: probes.length, alone: calls.length - probes.length, all: proxy.requests.length }
  }
  return { asked, schemeFacilitator, proxy }
})

type Watched = Effect.Success<ReturnType<typeof watched>>["schemeFacilitator"]

const words = (
  schemeFacilitator: Watched,
  payments: ReadonlyArray<Effect.Success<ReturnType<typeof Payment.payment>>>
) =>
  Effect.forEach(
    payments,
    (request) =>
      Payment.outcome(
        Effect.flatMap(Payment.read(schemeFacilitator, request), (payment) => schemeFacilitator.verify(payment))
      ),
    { concurrency: "unbounded" }
  )

const paymentsOf = (places: ReadonlyArray<number>, deviation: Payment.Deviation = {}) =>
  Effect.forEach(places, (place) =>
    Effect.gen(function* () {
      return (yield* Batch.signedBy(yield* Batch.payerAt(place), deviation)).request
    })
  )

const places = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index)

/** Refuses calls that are probes, and passes the others on. */
const withoutProbes =
  (fault: RpcProxy.Fault): RpcProxy.Fault =>
  async (response, request, pass) => {
    if (Call(request.params[0]).to === undefined) return fault(response, request, pass)
    response.end(await pass())
  }

describe.concurrent("TransferSimulation", () => {
  layerEach(EvmTestChain.layer({ payers: 60, payerBalance: 10_000n }))((it) => {
    it.effect("gives each the response that it would get alone, for every reason there is, in any company", () =>
      Effect.gen(function* () {
        const { accounts, client, delegate, deploy, mint, send, token } = yield* chain
        const other = yield* deploy(DollarToken, [token.name, token.symbol, token.version])
        const timestamp = (yield* Effect.promise(() => client.getBlock())).timestamp
        const payers = yield* Effect.forEach(places(13, 1), Batch.payerAt)
        const deviations: ReadonlyArray<readonly [string, Payment.Deviation]> = [
          ["ok", {}],
          ["ok", { signed: { value: 1n } }],
          ["INSUFFICIENT_BALANCE balance_below_amount", { signed: { value: 10_001n } }],
          ["already_used nonce_used", {}],
          ["already_used nonce_used", {}],
          ["EXPIRED_PAYMENT expired", { signed: { validBefore: timestamp } }],
          ["EXPIRED_PAYMENT not_yet_valid", { signed: { validAfter: timestamp + 3_600n } }],
          ["unsupported_authorization account_blocked", {}],
          ["INVALID_SIGNATURE token_refused", {}],
          ["INVALID_SIGNATURE token_refused", {}],
          ["ok", {}],
          ["INSUFFICIENT_BALANCE balance_below_amount", { token: other }],
          ["INSUFFICIENT_BALANCE balance_below_amount", { signed: { value: 2n ** 96n - 1n } }]
        ]
        const signed = yield* Effect.forEach(payers, (payer, index) => Batch.signedBy(payer, deviations[index]?.[1]))
        const from = accounts.stranger.address
        const [used, canceled] = [signed[3], signed[4]]
        const [, , , , canceler, , , blocked, burner, bomber, faithful] = payers
        if (!used || !canceled || !canceler || !blocked || !burner || !bomber || !faithful)
          return assert.fail("there are enough of them")
        yield* send({ from, ...used.call })
        yield* mint(used.authorization.from, 10_000n)
        yield* send({ from, ...(yield* Token.cancellation(canceled.authorization, canceler)) })
        yield* Token.rule("blacklist", blocked.address)
        yield* delegate(burner, yield* deploy(GasBurner1271))
        yield* delegate(bomber, yield* deploy(ReturnBomb1271))
        yield* delegate(faithful, yield* deploy(Delegate7702))

        const expected = deviations.map(([word]) => word)
        const requests = signed.map(({ request }) => request)
        const { asked, schemeFacilitator, proxy } = yield* watched({ tokens: [other], contractPayers: "any" })
        const lonely = yield* Payment.scheme(yield* chain, {
          verifyWindowMillis: 0,
          tokens: [other],
          contractPayers: "any"
        })
        assert.deepStrictEqual(yield* words(lonely, requests), expected)
        yield* words(schemeFacilitator, requests)
        for (let turn = 0; turn < requests.length; turn++) {
          const turned = <A>(list: ReadonlyArray<A>) => [...list.slice(turn), ...list.slice(0, turn)]
          proxy.requests.length = 0
          assert.deepStrictEqual(yield* words(schemeFacilitator, turned(requests)), turned(expected), `turn ${turn}`)
          // All together, and each of the eight that the token refuses once more.
          assert.strictEqual(asked().probes, 9)
          // Those with code: two that are refused, twice, and one that signs, now and up to the end of its validity.
          assert.strictEqual(asked().alone, 7)
        }
        yield* Token.rule("unBlacklist", blocked.address)
      })
    )

    it.effect("asks one question for 25 payers, and two for 41", () =>
      Effect.gen(function* () {
        const { asked, schemeFacilitator, proxy } = yield* watched()
        assert.deepStrictEqual(yield* words(schemeFacilitator, yield* paymentsOf(places(25, 20))), Array(25).fill("ok"))
        assert.deepStrictEqual(asked(), { probes: 1, alone: 0, all: 1 })
        proxy.requests.length = 0
        const enough = [...places(40, 20), ...places(1)]
        assert.deepStrictEqual(yield* words(schemeFacilitator, yield* paymentsOf(enough)), Array(41).fill("ok"))
        assert.deepStrictEqual(asked(), { probes: 2, alone: 0, all: 2 })
      })
    )

    it.effect("asks one question for one that is alone, and for each where there is no window", () =>
      Effect.gen(function* () {
        const { asked, schemeFacilitator } = yield* watched()
        assert.deepStrictEqual(yield* words(schemeFacilitator, yield* paymentsOf([20])), ["ok"])
        assert.deepStrictEqual(asked(), { probes: 1, alone: 0, all: 1 })
        const without = yield* watched({ verifyWindowMillis: 0 })
        assert.deepStrictEqual(
          yield* words(without.schemeFacilitator, yield* paymentsOf(places(5, 20))),
          Array(5).fill("ok")
        )
        assert.deepStrictEqual(without.asked(), { probes: 5, alone: 0, all: 5 })
      })
    )

    it.effect("asks once for copies of one payment", () =>
      Effect.gen(function* () {
        const { asked, schemeFacilitator } = yield* watched()
        const [request] = yield* paymentsOf([20])
        if (request === undefined) return assert.fail("a payment was signed")
        assert.deepStrictEqual(
          yield* words(
            schemeFacilitator,
            Array.from({ length: 10 }, () => request)
          ),
          Array(10).fill("ok")
        )
        assert.deepStrictEqual(asked(), { probes: 1, alone: 0, all: 1 })
      })
    )

    it.effect("does not let two payments of one payer see each other: each alone would be covered", () =>
      Effect.gen(function* () {
        const { asked, schemeFacilitator } = yield* watched()
        const requests = [...(yield* paymentsOf([20, 20])), ...(yield* paymentsOf([21]))]
        assert.deepStrictEqual(yield* words(schemeFacilitator, requests), ["ok", "ok", "ok"])
        assert.deepStrictEqual(asked(), { probes: 2, alone: 0, all: 2 })
      })
    )

    it.effect("does not let a payer pay with what another of the company would pay it", () =>
      Effect.gen(function* () {
        const { accounts } = yield* chain
        const payee = Payment.parsed(accounts.payers[21]?.address ?? "")
        const { asked, schemeFacilitator } = yield* watched()
        const beyond = { signed: { value: 10_001n }, requirements: { maxAmountRequired: "10001" } }
        for (const order of [0, 1]) {
          const [rich] = yield* paymentsOf([20], { signed: { to: payee } })
          const [poor] = yield* paymentsOf([21], beyond)
          const [other] = yield* paymentsOf([22])
          if (!rich || !poor || !other) return assert.fail("three payments were signed")
          const requests = order === 0 ? [rich, poor, other] : [poor, rich, other]
          const covered = yield* words(schemeFacilitator, requests)
          assert.strictEqual(covered[1 - order], "INSUFFICIENT_BALANCE balance_below_amount")
          assert.deepStrictEqual([covered[order], covered[2]], ["ok", "ok"])
        }
        // In each order two groups, and for the one that is refused the newest block and the transfer once more.
        assert.deepStrictEqual(asked(), { probes: 6, alone: 0, all: 8 })
      })
    )

    it.effect("asks each alone where a node cannot, or will not, answer for all", () =>
      Effect.gen(function* () {
        const { asked, schemeFacilitator, proxy } = yield* watched()
        const requests = [
          ...(yield* paymentsOf(places(4, 20))),
          ...(yield* paymentsOf([24], { signed: { value: 10_001n } }))
        ]
        const expected = ["ok", "ok", "ok", "ok", "INSUFFICIENT_BALANCE balance_below_amount"]
        for (const fault of [
          RpcProxy.refusal(-32_602, "invalid params: missing to"),
          RpcProxy.refusal(3, "execution reverted", "0x"),
          RpcProxy.refusal(-32_000, "gas limit exceeds the cap"),
          RpcProxy.httpError,
          RpcProxy.broken,
          RpcProxy.result("0x"),
          RpcProxy.result("0x01010101"),
          RpcProxy.result("0x010101010101"),
          RpcProxy.result("0x0101010100ffff"),
          RpcProxy.result("0x01010101000000")
        ]) {
          proxy.requests.length = 0
          proxy.spoil("eth_call", withoutProbes(fault))
          assert.deepStrictEqual(yield* words(schemeFacilitator, requests), expected)
          assert.strictEqual(asked().probes, 1)
        }
      })
    )

    it.effect("makes no payment valid or invalid when the node is gone", () =>
      Effect.gen(function* () {
        const { schemeFacilitator, proxy } = yield* watched()
        const requests = yield* paymentsOf(places(3, 20))
        proxy.spoil("eth_call", RpcProxy.broken)
        assert.deepStrictEqual(yield* words(schemeFacilitator, requests), Array(3).fill("ChainUnavailable"))
        proxy.mend()
        assert.deepStrictEqual(yield* words(schemeFacilitator, requests), Array(3).fill("ok"))
      })
    )

    it.effect("goes on for the others when the first who asked goes away", () =>
      Effect.gen(function* () {
        const { schemeFacilitator } = yield* watched()
        const payments = yield* Effect.forEach(yield* paymentsOf([20, 21]), (request) =>
          Payment.read(schemeFacilitator, request)
        )
        const [first, second] = yield* Effect.forEach(payments, (payment) =>
          Effect.forkChild(schemeFacilitator.verify(payment))
        )
        if (!first || !second) return assert.fail("two were asked")
        yield* Effect.yieldNow
        yield* Fiber.interrupt(first)
        yield* Fiber.join(second)
      })
    )
  })
})
