/** Laws of responses in parts, and of clients that leave. */
import { once } from "node:events"

import * as HostMarket from "./HostMarket.ts"
import { demand, equal, type HostLaw, law, type Signal, signal, type TrialParts } from "./HostTrial.ts"
import * as NodeWire from "./NodeWire.ts"

const { terms } = HostMarket

interface Slow {
  /** The second part leaves after it. */
  readonly second: Signal
  readonly started: Signal
}

/** A handler whose response waits between its parts. */
const slow = (settle: "before-handler" | "after-handler") => {
  const state: { now: Slow; ran: number } = { now: { second: signal(), started: signal() }, ran: 0 }
  async function* body({ second, started }: Slow) {
    yield "the first part,"
    started.give()
    await second.promise
    yield " and the second"
  }
  const parts = (): TrialParts => {
    state.now = { second: signal(), started: signal() }
    state.ran = 0
    return {
      sold: { "GET /stream": { ...terms, settle } },
      routes: [{ method: "GET", path: "/stream", handler: () => (state.ran++, { body: body(state.now) }) }]
    }
  }
  return { state, parts }
}

const streaming = slow("before-handler")
const held = slow("after-handler")

/** All of them. */
export const laws: ReadonlyArray<HostLaw> = [
  law("a streamed response leaves part by part", streaming.parts, async ({ market, payment, port }) => {
    const { second } = streaming.state.now
    const socket = NodeWire.send(port, "/stream", { headers: await payment("/stream") })
    const first = await NodeWire.received(socket, "first part")
    demand("the second part has not come yet", !first.includes("second"))
    second.give()
    await NodeWire.received(socket, "second")
    equal("end", await market.nextEnd(), "served")
  }),
  law(
    "a client that leaves in the middle of a short response is owed it again",
    streaming.parts,
    async ({ ask, market, payment, port }) => {
      const headers = await payment("/stream")
      const socket = NodeWire.send(port, "/stream", { headers })
      await NodeWire.received(socket, "first part")
      socket.destroy()
      equal("end", await market.nextEnd(), "failed")
      streaming.state.now.second.give()
      equal("second response", (await ask("/stream", { headers })).body, "the first part, and the second")
      equal("transfers", market.transfers(), 1)
    }
  ),
  law(
    "nothing runs for a client that leaves while its payment settles",
    streaming.parts,
    async ({ ask, market, payment, port }) => {
      const headers = await payment("/stream")
      const [asked, left] = [signal(), signal()]
      market.pause = () => {
        asked.give()
        return left.promise
      }
      const socket = NodeWire.send(port, "/stream", { headers })
      await asked.promise
      socket.destroy()
      await once(socket, "close")
      // The host has seen it once a later request of another connection is answered.
      await ask("/unknown")
      left.give()
      equal("end", await market.nextEnd(), "notRun")
      equal("executions", streaming.state.ran, 0)
    }
  ),
  law("after-handler: a streamed response waits for the payment", held.parts, async ({ ask, market, payment }) => {
    held.state.now.second.give()
    const { body, complete, status } = await ask("/stream", { headers: await payment("/stream") })
    equal("status", status, 200)
    equal("body", body, "the first part, and the second")
    demand("the response is complete", complete)
    equal("end", await market.nextEnd(), "served")
  }),
  law(
    "after-handler: a client that leaves while the handler runs pays nothing",
    held.parts,
    async ({ ask, market, payment, port }) => {
      const { second, started } = held.state.now
      const socket = NodeWire.send(port, "/stream", { headers: await payment("/stream") })
      await started.promise
      socket.destroy()
      await once(socket, "close")
      await ask("/unknown")
      second.give()
      equal("end", await market.nextEnd(), "failed")
      equal("transfers", market.transfers(), 0)
    }
  )
]
