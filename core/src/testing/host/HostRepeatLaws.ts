/** Laws of `repeat: "same"`: the payer of a served payment gets the same response again, and nothing runs twice. */
import { once } from "node:events"

import * as HostMarket from "./HostMarket.ts"
import { demand, equal, type HostLaw, law, type Signal, signal, type TrialParts } from "./HostTrial.ts"
import * as NodeWire from "./NodeWire.ts"

const { terms } = HostMarket

const ran = { times: 0 }

const repeating = (settle: "before-handler" | "after-handler") => (): TrialParts => {
  ran.times = 0
  return {
    sold: { "GET /report": { ...terms, settle, repeat: "same" } },
    headers: { "x-request-id": "7" },
    routes: [
      { method: "GET", path: "/report", handler: () => ({ headers: { etag: '"1"' }, body: `goods ${++ran.times}` }) }
    ]
  }
}

const waiting: { started: Signal; left: Signal } = { started: signal(), left: signal() }

/** A handler that calls its response public. In the order before the handler it waits until its client has left. */
const leaving = (settle: "before-handler" | "after-handler") => (): TrialParts => {
  Object.assign(waiting, { started: signal(), left: signal() })
  ran.times = 0
  const handler = async () => {
    const body = `goods ${++ran.times}`
    if (settle === "before-handler") {
      waiting.started.give()
      await waiting.left.promise
    }
    return { headers: { "cache-control": "public, max-age=86400", "surrogate-control": "max-age=86400" }, body }
  }
  return {
    sold: { "GET /report": { ...terms, settle, repeat: "same" } },
    routes: [{ method: "GET", path: "/report", handler }]
  }
}

const orders = ["before-handler", "after-handler"] as const

const comesAgain = orders.map((settle) =>
  law(`${settle}: a served payment that comes again brings the same response`, repeating(settle), async (trial) => {
    const { ask, market, payment } = trial
    const headers = await payment("/report")
    const first = await ask("/report", { headers })
    equal("status", first.status, 200)
    equal("end", await market.nextEnd(), "served")
    const again = await ask("/report", { headers })
    equal("status", again.status, 200)
    equal("body", again.body, "goods 1")
    equal("etag", again.headers["etag"], '"1"')
    equal("the application's own header", again.headers["x-request-id"], "7")
    equal("cache-control", again.headers["cache-control"], "private")
    demand("it carries the receipt", again.headers["x-payment-response"] === first.headers["x-payment-response"])
    equal("executions", ran.times, 1)
    equal("transfers", market.transfers(), 1)
  })
)

const staysPrivate = orders.map((settle) =>
  law(
    `${settle}: a response that is kept after its client has left comes again with the gate's headers`,
    leaving(settle),
    async ({ ask, market, payment, port }) => {
      const headers = await payment("/report")
      const { left, started } = waiting
      if (settle === "after-handler") {
        market.pause = () => {
          started.give()
          return left.promise
        }
      }
      const socket = NodeWire.send(port, "/report", { headers })
      await started.promise
      socket.destroy()
      await once(socket, "close")
      // The host has seen it once a later request of another connection is answered.
      await ask("/unknown")
      left.give()
      equal("end", await market.nextEnd(), "served")
      const again = await ask("/report", { headers })
      equal("status", again.status, 200)
      equal("body", again.body, "goods 1")
      equal("cache-control", again.headers["cache-control"], "private")
      equal("surrogate-control", again.headers["surrogate-control"], "no-store")
      const vary = again.headers["vary"] ?? ""
      demand(`it varies by the payment: ${vary}`, vary.toLowerCase().includes("x-payment"))
      demand("it carries a receipt", again.headers["x-payment-response"] !== undefined)
      equal("executions", ran.times, 1)
      equal("transfers", market.transfers(), 1)
    }
  )
)

/** All of them. */
export const laws: ReadonlyArray<HostLaw> = [...comesAgain, ...staysPrivate]
