/** Readers of a metered stream that stop taking it, over real connections to each kind of host: they are disconnected, and pay for what was sent. */
import { connect, type Socket } from "node:net"

import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { afterEach, vi } from "vitest"

import { chainLayer } from "./ChannelShopTrial.ts"
import * as StreamBuyer from "./StreamBuyer.ts"
import * as StreamShops from "./StreamShops.ts"

const { opened, tick, windowAmount, windowUnits } = StreamShops

/** The time for which a reader may take nothing, as the documents name it: five minutes. */
const stallMillis = 300_000

/** A piece is more than a connection's buffers hold. */
const size = 16_000_000

/** Resolves in a later turn of the event loop. */
const turn = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve)
  })

/** Sends a request, and takes nothing of its response after the first bytes. */
const stalledAt = async (url: string, headers: Readonly<Record<string, string>>): Promise<Socket> => {
  const { host, hostname, pathname, port, search } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on("error", () => undefined)
  const fields = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\n${fields.join("")}\r\n`)
  await new Promise<void>((resolve, reject) => {
    socket.once("close", () => reject(new Error("the response ended before its first byte")))
    socket.once("data", (bytes) => {
      socket.pause()
      assert.match(bytes.toString("latin1"), /^HTTP\/1\.1 200 /)
      resolve()
    })
  })
  return socket
}

/** Takes what comes until there were more bytes than this, and then nothing more. */
const read = (socket: Socket, bytes: number) =>
  new Promise<void>((resolve, reject) => {
    socket.once("close", () => reject(new Error(`the response ended after ${socket.bytesRead} bytes`)))
    const take = () => {
      if (socket.bytesRead <= bytes) return
      socket.pause()
      socket.off("data", take)
      resolve()
    }
    socket.on("data", take)
    socket.resume()
  })

layer(chainLayer, { timeout: "15 minutes", excludeTestServices: true })("a reader that stalls", (it) => {
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  for (const host of ["Koa", "Hono", "a fetch handler", "Next's route handlers"] as const) {
    it.effect(`on ${host} is disconnected, and its unused window is released`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const shop = yield* opened(host)
          const { key } = yield* shop.chain.payer
          yield* Effect.promise(async () => {
            const buyer = StreamBuyer.make(shop, key)
            const url = `${shop.origin}/bytes`
            const offer = await buyer.offerOf(url)
            const payload = await buyer.depositOf(offer, windowAmount, 100n * windowAmount)
            vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
            // The server of fetch handlers prints the error by which their body ends.
            vi.spyOn(console, "error").mockReturnValue()
            const socket = await stalledAt(`${url}?units=${windowUnits}&size=${size}`, buyer.headerOf(offer, payload))
            const standing = () => Effect.runPromise(shop.ledger.find(buyer.idOf(offer)))
            assert.deepInclude(await standing(), { charged: 0n, reserved: windowAmount })
            // oxlint-disable-next-line no-await-in-loop -- one look after the other
            while ((await standing())?.reserved !== 0n) {
              vi.advanceTimersByTime(stallMillis)
              // oxlint-disable-next-line no-await-in-loop -- the timers' work comes before the next look
              await turn()
            }
            assert.isBelow(shop.made.units, windowUnits)
            assert.deepInclude(await standing(), { charged: tick * BigInt(shop.made.units), reserved: 0n })
            const closed = new Promise<void>((resolve) => {
              socket.once("close", () => resolve())
            })
            socket.resume()
            await closed
            assert.isBelow(socket.bytesRead, size)
          })
        })
      )
    )

    it.effect(`on ${host} that goes on in time gets all of it`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const shop = yield* opened(host)
          const { key } = yield* shop.chain.payer
          yield* Effect.promise(async () => {
            const buyer = StreamBuyer.make(shop, key)
            const url = `${shop.origin}/bytes`
            const offer = await buyer.offerOf(url)
            const payload = await buyer.depositOf(offer, windowAmount, 100n * windowAmount)
            vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
            const socket = await stalledAt(`${url}?units=3&size=${size}`, buyer.headerOf(offer, payload))
            for (let pieces = 1; pieces <= 3; pieces++) {
              vi.advanceTimersByTime(0.6 * stallMillis)
              // oxlint-disable-next-line no-await-in-loop -- the reader takes one piece after the other
              await read(socket, pieces * size)
            }
            socket.destroy()
            const standing = () => Effect.runPromise(shop.ledger.find(buyer.idOf(offer)))
            // oxlint-disable-next-line no-await-in-loop -- one look after the other
            while ((await standing())?.reserved !== 0n) await turn()
            assert.deepInclude(await standing(), { charged: 3n * tick })
          })
        })
      )
    )
  }
})
