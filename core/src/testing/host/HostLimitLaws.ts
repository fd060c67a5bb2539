/**
 * Laws of an application that limits the time of a response: where it has answered by itself, the gate's late decision
 * changes nothing and breaks nothing.
 */
import process from "node:process"

import * as HostMarket from "./HostMarket.ts"
import { demand, equal, type HostLaw, law, type Signal, signal, type Trial, type TrialParts } from "./HostTrial.ts"
import * as NodeWire from "./NodeWire.ts"

const { terms } = HostMarket

interface State {
  isPending: boolean
  deciding: Signal
  decided: Signal
  /** Lets the response of another route end. */
  other: Signal
  runs: number
  end: () => void
}

const state: State = {
  isPending: false,
  deciding: signal(),
  decided: signal(),
  other: signal(),
  runs: 0,
  end: () => undefined
}

const limited =
  (more: { readonly settle?: "after-handler"; readonly repeat?: "same" } = {}) =>
  (): TrialParts => {
    Object.assign(state, { isPending: false, deciding: signal(), decided: signal(), other: signal(), runs: 0 })
    const getPrice = async () => {
      if (state.isPending) {
        state.deciding.give()
        await state.decided.promise
      }
      return terms.price
    }
    return {
      sold: { "GET /report": { network: terms.network, payTo: terms.payTo, getPrice, ...more } },
      limit: (end) => {
        state.end = end
      },
      routes: [
        { method: "GET", path: "/report", handler: () => (state.runs++, { body: "goods" }) },
        { method: "GET", path: "/other", handler: async () => (await state.other.promise, { body: "other" }) }
      ]
    }
  }

/** Asks for the report; the application answers by itself while the gate decides. */
const askTooLong = async ({ ask }: Trial, options: NodeWire.AskOptions): Promise<void> => {
  state.isPending = true
  const asking = ask("/report", options)
  await state.deciding.promise
  state.end()
  const { body, status } = await asking
  equal("status of the application's own response", status, 503)
  equal("body of the application's own response", body, "too late")
  state.isPending = false
  state.decided.give()
}

/** Breaks the law if a promise is rejected meanwhile and handled by no one: Node ends the process then. */
const survive = async (run: () => Promise<void>): Promise<void> => {
  const rejected: Array<string> = []
  const note = (error: unknown) => void rejected.push(String(error))
  process.on("unhandledRejection", note)
  try {
    await run()
  } finally {
    process.off("unhandledRejection", note)
  }
  equal("unhandled rejections", rejected.join(", "), "")
}

const orders = [{}, { settle: "after-handler" }] as const

const nameOf = (order: (typeof orders)[number]): string => ("settle" in order ? order.settle : "before-handler")

/** All of them. */
export const laws: ReadonlyArray<HostLaw> = [
  law("a refusal after the application's time limit ends nothing but its request", limited(), (trial) =>
    survive(async () => {
      await askTooLong(trial, {})
      equal("status of the next request", (await trial.ask("/report")).status, 402)
      equal("transfers", trial.market.transfers(), 0)
    })
  ),
  law(
    "a repeat after the application's time limit ends nothing but its request",
    limited({ repeat: "same" }),
    (trial) =>
      survive(async () => {
        const { ask, market, payment } = trial
        const headers = await payment("/report")
        equal("body", (await ask("/report", { headers })).body, "goods")
        equal("end", await market.nextEnd(), "served")
        await askTooLong(trial, { headers })
        equal("body of the next request", (await ask("/report", { headers })).body, "goods")
        equal("transfers", market.transfers(), 1)
      })
  ),
  ...orders.map((order) =>
    law(`${nameOf(order)}: a payment after the application's time limit is good again`, limited(order), (trial) =>
      survive(async () => {
        const { ask, market, payment } = trial
        const headers = await payment("/report")
        await askTooLong(trial, { headers })
        const end = await market.nextEnd()
        demand(`nothing is served, got ${end}`, end === "notRun" || end === "failed")
        equal("body of the next request", (await ask("/report", { headers })).body, "goods")
        equal("transfers", market.transfers(), 1)
      })
    )
  ),
  ...orders.map((order) =>
    law(
      `${nameOf(order)}: a payment is good again whose decision comes while the application's own response still waits to leave`,
      limited(order),
      (trial) =>
        survive(async () => {
          const { ask, market, payment, port } = trial
          const headers = await payment("/report")
          state.isPending = true
          const socket = NodeWire.send(port, "/other", {}, "keep-alive")
          const received = NodeWire.received(socket, "too late")
          NodeWire.write(socket, "/report", { headers })
          await state.deciding.promise
          state.end()
          state.isPending = false
          state.decided.give()
          const end = await market.nextEnd()
          demand(`nothing is served, got ${end}`, end === "notRun" || end === "failed")
          equal("runs of the handler", state.runs, 0)
          state.other.give()
          await received
          equal("body of the next request", (await ask("/report", { headers })).body, "goods")
          equal("transfers", market.transfers(), 1)
        })
    )
  )
]
