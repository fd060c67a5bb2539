/** A metered response whose handler writes without regard to its reader, over a real connection. */
import { createServer, type ServerResponse } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"

import * as Effect from "effect/Effect"
import { afterEach, assert, describe, it, vi } from "vitest"

import * as MeteredNodeResponse from "../../../src/server/http/MeteredNodeResponse.ts"
import { MeterEnded } from "../../../src/server/http/PaymentMeter.ts"
import { stallMillis, StreamMeter } from "../../../src/server/http/StreamMeter.ts"

/** A piece is more than a connection's buffers hold. */
const piece = "x".repeat(16_000_000)

interface Terms {
  readonly unit?: string
  readonly closed?: Effect.Effect<void>
}

const meterOf = (charges: Array<bigint>, { closed = Effect.never, unit = "token" }: Terms) => {
  const window = {
    amount: 100n,
    charge: (amount: bigint) =>
      Effect.as(
        Effect.sync(() => charges.push(amount)),
        "charged" as const
      ),
    release: () => Effect.void
  }
  return new StreamMeter({
    unit,
    tick: 1n,
    below: 400,
    first: window,
    window: 100n,
    next: () => Effect.succeed("budget"),
    closed,
    receipt: (sums) => Effect.succeed({ ...sums, channelId: "0x1", at: 0, owed: 0n })
  })
}

/** Resolves in a later turn of the event loop. */
const turn = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve)
  })

type Handler = (response: ServerResponse, meter: StreamMeter) => Promise<void>

/** Serves one request, and calls `client` with its connection. Resolves once the handler is through. */
const served = async (
  handler: Handler,
  client: (socket: Socket) => void,
  terms: Terms = {}
): Promise<ReadonlyArray<bigint>> => {
  const charges: Array<bigint> = []
  const over = Promise.withResolvers<void>()
  const server = createServer((_, response) => {
    const meter = meterOf(charges, terms)
    MeteredNodeResponse.join(response, meter)
    response.once("close", () => void Effect.runPromise(meter.finish("served")))
    response.writeHead(200, { "content-type": "application/octet-stream" })
    void handler(response, meter).then(over.resolve, over.reject)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve)
  })
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
  socket.on("error", () => undefined)
  socket.write("GET / HTTP/1.1\r\nhost: shop\r\n\r\n")
  client(socket)
  await over.promise.finally(() => {
    socket.destroy()
    server.closeAllConnections()
    server.close()
  })
  return charges
}

describe("a metered response of Node", () => {
  afterEach(() => void vi.useRealTimers())

  for (const unit of ["token", "byte"])
    it(`charges the next ${unit} once its reader has taken what was written`, async () => {
      const full: Array<boolean> = []
      await served(
        async (response, meter) => {
          for (let count = 0; count < 4; count++) {
            // oxlint-disable-next-line no-await-in-loop -- a piece is sent once it is charged
            await meter.charge()
            full.push(response.writableNeedDrain)
            response.write(piece)
          }
          response.end()
        },
        (socket) => socket.resume(),
        { unit }
      )
      assert.deepStrictEqual(full, [false, false, false, false])
    })

  it("waits no more once its reader has left", async () => {
    let end: unknown
    const charges = await served(
      async (response, meter) => {
        await meter.charge()
        response.write(piece)
        const waiting = meter.charge().catch((error: unknown) => error)
        response.socket?.destroy()
        end = await waiting
      },
      (socket) => socket.pause()
    )
    assert.instanceOf(end, MeterEnded)
    assert.deepStrictEqual(charges, [1n])
  })

  it("disconnects a reader that takes nothing for too long, and charges what was sent for", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
    let end: unknown
    const charges = await served(
      async (response, meter) => {
        await meter.charge()
        response.write(piece)
        const waiting = meter.charge().catch((error: unknown) => error)
        await turn()
        vi.advanceTimersByTime(2 * stallMillis)
        end = await waiting
        assert.isTrue(response.destroyed)
      },
      (socket) => socket.pause()
    )
    assert.instanceOf(end, MeterEnded)
    assert.strictEqual(end.end, "gone")
    assert.deepStrictEqual(charges, [1n])
  })

  it("that is ended waits for its reader without a look at it each moment, and disconnects it too", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout"] })
    const closing = Promise.withResolvers<void>()
    let end: unknown
    const charges = await served(
      async (response, meter) => {
        await meter.charge()
        response.write(piece)
        const waiting = meter.charge().catch((error: unknown) => error)
        await turn()
        closing.resolve()
        end = await waiting
        await turn()
        assert.strictEqual(vi.getTimerCount(), 1)
        const closed = new Promise<void>((resolve) => {
          response.once("close", resolve)
        })
        vi.advanceTimersByTime(2 * stallMillis)
        await closed
      },
      (socket) => socket.pause(),
      { closed: Effect.promise(() => closing.promise) }
    )
    assert.instanceOf(end, MeterEnded)
    assert.strictEqual(end.end, "closed")
    assert.deepStrictEqual(charges, [1n])
  })
})
