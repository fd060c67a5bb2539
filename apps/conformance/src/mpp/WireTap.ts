/**
 * The wire between buyers and a shop: it keeps what was paid with, and loses a paid response when it is told to. Buyers know
 * its address alone, so programs of their own are seen as well as clients in this process.
 */
import { createServer, type IncomingHttpHeaders, request } from "node:http"

import { listen } from "@pontage/devnet/LoopbackServer"
import * as Effect from "effect/Effect"

/** A wire. */
export interface WireTap {
  readonly url: string
  /** Connects it to a shop. */
  readonly connect: (shop: string) => void
  /** The headers of each paid request, in order. */
  readonly paid: ReadonlyArray<Readonly<Record<string, string>>>
  /** Loses the next paid response: the shop has served it, and the buyer's connection breaks. */
  readonly loseNext: () => void
}

const paymentHeaders = ["authorization", "payment-authorization", "payment-signature", "x-payment"]

const paymentIn = (headers: IncomingHttpHeaders): Readonly<Record<string, string>> =>
  Object.fromEntries(
    paymentHeaders.flatMap((name) => {
      const text = headers[name]
      return typeof text === "string" ? [[name, text]] : []
    })
  )

/** Opens it as long as the scope. */
export const make = Effect.gen(function* () {
  const paid: Array<Readonly<Record<string, string>>> = []
  let target = ""
  let loses = false
  const server = createServer((incoming, outgoing) => {
    const payment = paymentIn(incoming.headers)
    const isPaid = Object.keys(payment).length > 0
    if (isPaid) paid.push(payment)
    const { headers, method, url } = incoming
    const onward = request(new URL(url ?? "/", target), { method, headers, agent: false }, (response) => {
      if (isPaid && loses) {
        loses = false
        response.resume().on("end", () => outgoing.destroy())
        return
      }
      outgoing.writeHead(response.statusCode ?? 500, response.headers)
      response.pipe(outgoing)
    })
    onward.on("error", () => outgoing.destroy())
    incoming.pipe(onward)
  })
  const url = yield* listen(server)
  const tap: WireTap = {
    url,
    connect: (shop) => void (target = shop),
    paid,
    loseNext: () => void (loses = true)
  }
  return tap
})
