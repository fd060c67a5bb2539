/** The ledger grants a voucher again while the end of an earlier draw by it is not reported yet. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import { FacilitatorUnavailable } from "../../src/protocol/ProtocolError.ts"
import type { SchemeServer } from "../../src/scheme/SchemeServer.ts"
import * as ServerSchemeRegistry from "../../src/scheme/ServerSchemeRegistry.ts"
import * as PaymentGate from "../../src/server/PaymentGate.ts"
import * as PriceResolver from "../../src/server/shop/PriceResolver.ts"
import * as FakeFacilitator from "./FakeFacilitator.ts"
import * as FakeScheme from "./FakeScheme.ts"
import { payment, request } from "./GateTestRequest.ts"
import { verdictOf } from "./LedgerGate.ts"

const scheme = "batch-settlement"
const network = "eip155:8453"

const channels = (): SchemeServer => {
  const server = FakeScheme.evm(network)
  return { ...server, scheme: { ...server.scheme, name: scheme }, draws: { receipt: (facts) => facts } }
}

const terms = { scheme, network, payTo: FakeScheme.alice } as const

/** A draw by the same voucher, whatever is bought. */
const draw = FakeFacilitator.settled({ paymentId: "draw-0xchannel-1000", isDraw: true, status: "included" })

const away = new FacilitatorUnavailable({ message: "the reply was lost" })

const record = {
  status: "included" as const,
  network,
  asset: FakeScheme.usdc,
  payer: "0xpayer",
  payTo: FakeScheme.alice,
  amount: "0",
  transaction: "",
  execution: "served" as const,
  runs: 1,
  history: []
}

/** A shop whose report and page cost what each response says. The replies to its reports of ends are lost until the test ends. */
const open = Effect.gen(function* () {
  let isLost = true
  const { layer, told } = FakeFacilitator.make({
    supported: Effect.succeed({
      kinds: [{ protocolVersion: 2 as const, scheme, network, draws: true as const }],
      signers: {}
    }),
    settle: () => Effect.succeed(draw),
    finish: (paymentId) => (isLost ? Effect.fail(away) : Effect.succeed({ ...record, paymentId }))
  })
  const gate = yield* PaymentGate.make({
    origin: "https://shop.example",
    secret: "the shop's own secret, 32 long...."
  }).pipe(Effect.provide([layer, PriceResolver.layerDollar, ServerSchemeRegistry.layer([channels()])]))
  const priced = { charge: ({ header }: { header: (name: string) => string | undefined }) => header("price") ?? "" }
  const report = yield* gate.route("GET /report", { ...terms, ...priced, price: "$0.001" })
  const page = yield* gate.route("GET /page", { ...terms, ...priced, price: "$0.0007" })
  yield* gate.ready
  yield* Effect.addFinalizer(() => {
    isLost = false
    return TestClock.adjust("5 seconds")
  })
  const buy = (route: typeof report) => gate.decide(route, request("/", payment(undefined, { scheme, network })))
  /** Serves a response with this price. Its report goes on in the background. */
  const served = Effect.fnUntraced(function* (route: typeof report, price: string) {
    const decision = yield* buy(route)
    assert(decision._tag === "Granted", `expected a grant, got ${verdictOf(decision)}`)
    decision.settlementFor?.(200, () => price)
    return yield* Effect.forkChild(decision.finish("served"), { startImmediately: true })
  })
  const ends = () => told.flatMap((one) => (one.ask === "finish" ? [[one.outcome, one.charge]] : []))
  return { buy, served, report, page, ends }
})

describe("a draw that the ledger has granted again while its end is being reported", () => {
  it.effect("runs if the earlier one cost nothing: its voucher is as good as before", () =>
    Effect.gen(function* () {
      const { buy, ends, report, served } = yield* open
      yield* served(report, "$0")
      assert.strictEqual(verdictOf(yield* buy(report)), "Granted")
      assert.deepStrictEqual(ends(), [["served", 0n]])
    })
  )

  it.effect("runs if the earlier one was for another amount: each amount is a draw of its own", () =>
    Effect.gen(function* () {
      const { buy, ends, page, report, served } = yield* open
      yield* served(report, "$0.0003")
      assert.strictEqual(verdictOf(yield* buy(page)), "Granted")
      assert.deepStrictEqual(ends(), [["served", 300n]])
    })
  )

  it.effect("is charged what the earlier one was charged if that has served it", () =>
    Effect.gen(function* () {
      const { buy, ends, report, served } = yield* open
      yield* served(report, "$0.0003")
      assert.strictEqual(verdictOf(yield* buy(report)), "409 spent")
      yield* Effect.yieldNow
      assert.deepStrictEqual(ends(), [
        ["served", 300n],
        ["served", 300n]
      ])
    })
  )

  it.effect("is charged if it costs something, although the earlier one that cost nothing is reported later", () =>
    Effect.gen(function* () {
      const { buy, report, served } = yield* open
      yield* served(report, "$0")
      yield* served(report, "$0.0002")
      assert.strictEqual(verdictOf(yield* buy(report)), "409 spent")
    })
  )
})
