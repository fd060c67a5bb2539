/**
 * A shop of the simulation: the real gate in front of a handler, and beside it a server of another kind that settles without a
 * claim, as x402's servers do.
 */
import type {
  Decision,
  SettleAfter,
  GateRequest,
  Granted,
  PaymentFailure,
  PaymentRequest,
  SchemeServer
} from "@pontage/core"
import { Facilitator, PaymentGate, PriceResolver, ServerSchemeRegistry } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"

import type { Service } from "./SimulatedFacilitator.ts"
import type { SimulatedProcess } from "./SimulatedProcess.ts"

/** An answer on its way to a buyer. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The events of a handler's run. `paymentId` names the payment whose money has moved for it. */
export interface RunReports {
  readonly began: (paymentId: string) => number
  readonly ended: (run: number, end: "delivered" | "broken") => void
}

/** The parts of a shop. */
export interface Options {
  readonly process: SimulatedProcess
  readonly facilitator: Service
  readonly scheme: SchemeServer
  readonly network: string
  readonly payTo: string
  readonly validitySeconds: number
  readonly handlerMillis: number
  readonly isAfterHandler: boolean
  readonly reports: RunReports
}

/** A shop that is open once its gate is. */
export interface SimulatedShop {
  readonly process: SimulatedProcess
  readonly origin: string
  /** The response to a request; `undefined` while the shop opens. */
  readonly respond: (target: string, headers: Readonly<Record<string, string>>) => Effect.Effect<Reply> | undefined
  /** The server of another kind: it verifies, settles, serves, and knows no claims. */
  readonly settleUnclaimed: (request: PaymentRequest) => Effect.Effect<UnclaimedReply>
}

/** The response of a server without claims: the goods, a final refusal, or that the outcome is unknown. */
export type UnclaimedReply = "served" | "unknown" | { readonly refused: string }

/** Opens a shop. */
export const open = (options: Options): SimulatedShop => {
  const { facilitator, process, reports } = options
  const origin = `https://${process.name}.example`
  let ask: ((request: GateRequest) => Effect.Effect<Decision>) | undefined
  process.run(opening(options, origin), (exit) => {
    if (Exit.isSuccess(exit)) ask = exit.value
  })
  return {
    process,
    origin,
    respond: (target, headers) => {
      const decide = ask
      return decide && served(options, decide(requestOf(target, headers)), target)
    },
    settleUnclaimed: (request) =>
      Effect.gen(function* () {
        const verified = yield* Effect.result(facilitator.verify(request))
        if (Result.isFailure(verified)) return refusedBy(verified.failure)
        const settled = yield* Effect.result(facilitator.settle(request))
        if (Result.isFailure(settled)) return refusedBy(settled.failure)
        reports.ended(reports.began(settled.success.paymentId), "delivered")
        return "served"
      })
  }
}

const opening = ({ facilitator, network, payTo, process, scheme, ...options }: Options, origin: string) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const making = PaymentGate.make({ origin, secret: `the secret of ${process.name}, 32 long....` })
    const gate = yield* making.pipe(
      Effect.provide(ServerSchemeRegistry.layer([scheme])),
      Effect.provideService(PriceResolver.PriceResolver, PriceResolver.dollar),
      Effect.provideService(Facilitator, facilitator),
      Effect.provideService(Scope.Scope, scope)
    )
    const route = yield* gate.route("GET /goods", {
      scheme: "exact",
      network,
      payTo,
      price: "$0.01",
      maxTimeoutSeconds: options.validitySeconds,
      settle: options.isAfterHandler ? "after-handler" : "before-handler"
    })
    yield* gate.ready
    return (request: GateRequest) => gate.decide(route, request)
  })

const requestOf = (target: string, headers: Readonly<Record<string, string>>): GateRequest => {
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  return {
    method: "GET",
    target,
    header: (name) => lower[name],
    headers: lower,
    params: {},
    query: {},
    body: undefined,
    native: undefined
  }
}

type Restore = <A>(effect: Effect.Effect<A>) => Effect.Effect<A>

/**
 * As hosts do it: a buyer who hangs up does not stop what is decided, only the handler; what it was granted is given back, and counts as
 * no run where the buyer was gone before the handler began.
 */
const served = (options: Options, deciding: Effect.Effect<Decision>, target: string): Effect.Effect<Reply> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(deciding, (decision): Effect.Effect<Reply> => {
      switch (decision._tag) {
        case "Free":
          return Effect.die("nothing is free here")
        case "Repeated":
          return Effect.die("no response comes again here")
        case "Refused":
          return Effect.succeed(replyOf(decision.response))
        case "Granted":
          return Effect.andThen(
            unlessGone(restore, () => decision.finish("notRun")),
            run(options, decision, target, restore)
          )
        case "SettleAfter":
          return Effect.andThen(
            unlessGone(restore, () => decision.abandon("notRun")),
            Effect.flatMap(
              Effect.onInterrupt(restore(handled(options)), () => decision.abandon("failed")),
              () => Effect.flatMap(decision.complete(200), (end) => released(options, end, target, restore))
            )
          )
      }
    })
  )

/** Goes on unless the buyer has hung up already. */
const unlessGone = (restore: Restore, giveBack: () => Effect.Effect<void>): Effect.Effect<void> =>
  Effect.onInterrupt(restore(Effect.yieldNow), giveBack)

const released = (
  options: Options,
  end: Effect.Success<ReturnType<SettleAfter["complete"]>>,
  target: string,
  restore: Restore
): Effect.Effect<Reply> => {
  if (end._tag === "Refused") return Effect.succeed(replyOf(end.response))
  if (end._tag === "Uncharged") return Effect.die("a handler that succeeds is charged for")
  return run({ ...options, handlerMillis: 0 }, end, target, restore)
}

/** The handler runs; a buyer who hangs up meanwhile has it fail. */
const run = (options: Options, granted: Granted, target: string, restore: Restore): Effect.Effect<Reply> =>
  Effect.suspend(() => {
    const { reports } = options
    const number = reports.began(granted.settlement.paymentId)
    const broken = Effect.suspend(() => {
      reports.ended(number, "broken")
      return granted.finish("failed")
    })
    return Effect.flatMap(
      Effect.onInterrupt(restore(handled(options)), () => broken),
      () => handedOver(options, granted, target, number)
    )
  })

const handled = ({ handlerMillis }: Options): Effect.Effect<void> =>
  handlerMillis === 0 ? Effect.void : Effect.sleep(handlerMillis)

const handedOver = ({ reports }: Options, granted: Granted, target: string, number: number): Effect.Effect<Reply> =>
  Effect.as(
    Effect.suspend(() => {
      reports.ended(number, "delivered")
      return Effect.forkDetach(granted.finish("served"))
    }),
    replyOf({ status: 200, headers: granted.headers, body: target })
  )

const replyOf = ({ body, headers, status }: { status: number; headers: object; body: string }): Reply => ({
  status,
  headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
  body
})

/** Only a verdict about the payment is one; whatever else happened, the payer may come again. */
const refusedBy = (failure: PaymentFailure): UnclaimedReply =>
  failure._tag === "PaymentError" || failure._tag === "ValidationError"
    ? { refused: failure._tag === "PaymentError" ? failure.code : failure.reason }
    : "unknown"
