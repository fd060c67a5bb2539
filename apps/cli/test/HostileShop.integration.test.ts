/** Servers that try to cheat a person at the command line. */
import { assert, describe, it } from "@effect/vitest"
import { protocolSeller } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as CliProcess from "./CliProcess.ts"
import * as OpenShop from "./OpenShop.ts"

const pay = (...args: ReadonlyArray<string>) =>
  Effect.promise(() => CliProcess.run(CliProcess.freshHome(), ["pay", ...args, "-y"]))

const escape = "\u001b"

describe("a hostile shop", () => {
  it.live("writes nothing but text to the terminal", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const description = `${escape}[2K${escape}]0;owned\u0007 free\u202e!\nprice $0.00`
        const { origin } = yield* OpenShop.listen((request, response) => {
          const error = OpenShop.isPaid(request) ? `${escape}[1A never` : "pay"
          const body = { error, accepts: [{ ...OpenShop.offer(origin), description }] }
          OpenShop.refuse(response, OpenShop.isPaid(request) ? { ...body, code: "INVALID_SIGNATURE" as const } : body)
        })
        const { code, err } = yield* pay(`${origin}/report`)
        assert.strictEqual(code, 4, err)
        assert.include(err, "\\u001b[2K")
        for (const control of [escape, "\u0007", "\u202e"]) assert.notInclude(err, control)
        assert.notMatch(err, /^\s*price \$0\.00/m)
      })
    )
  )

  it.live("gets one payment, also if it asks for another one after it", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const payments = new Set<unknown>()
        const { origin } = yield* OpenShop.listen((request, response) => {
          if (OpenShop.isPaid(request)) payments.add(request.headers["x-payment"])
          OpenShop.refuse(response, { error: "pay again", accepts: [OpenShop.offer(origin)] })
        })
        const { code, err } = yield* pay(`${origin}/report`)
        assert.deepStrictEqual([code, payments.size], [4, 1], err)
        assert.include(err, "refused payment")
      })
    )
  )

  it.live("gets nothing for a price above the limit, or by a redirect to another origin", () =>
    Effect.scoped(
      Effect.gen(function* () {
        let paid = 0
        const { origin: second } = yield* OpenShop.listen((request, response) => {
          if (OpenShop.isPaid(request)) paid++
          OpenShop.refuse(response, { error: "pay", accepts: [OpenShop.offer(second)] })
        })
        const { origin } = yield* OpenShop.listen((request, response) => {
          if (OpenShop.isPaid(request)) paid++
          if (request.url === "/away") return void response.writeHead(302, { location: second }).end()
          OpenShop.refuse(response, {
            error: "pay",
            accepts: [{ ...OpenShop.offer(origin), maxAmountRequired: "100001" }]
          })
        })
        const dear = yield* pay(`${origin}/report`)
        const away = yield* pay(`${origin}/away`, "-L")
        const stay = yield* pay(`${origin}/away`)
        assert.deepStrictEqual([dear.code, away.code, stay.code, paid], [3, 3, 0, 0], dear.err + away.err + stay.err)
        assert.include(away.err, "no payment is made across origins")
      })
    )
  )

  it.live("does not lead a payment away by a redirect of the paid request", () =>
    Effect.scoped(
      Effect.gen(function* () {
        let stolen = 0
        const arrived = Promise.withResolvers<void>()
        const { origin: thief } = yield* OpenShop.listen((_, response) => {
          stolen++
          response.end()
        })
        const { origin } = yield* OpenShop.listen((request, response) => {
          if (!OpenShop.isPaid(request))
            return OpenShop.refuse(response, { error: "pay", accepts: [OpenShop.offer(origin)] })
          response.writeHead(307, { location: thief }).end(() => arrived.resolve())
        })
        const running = CliProcess.start(CliProcess.freshHome(), ["pay", `${origin}/report`, "-y", "-L"])
        yield* Effect.promise(() => arrived.promise)
        running.interrupt()
        const { code, err } = yield* Effect.promise(() => running.ended)
        assert.deepStrictEqual([code, stolen], [5, 0], err)
      })
    )
  )

  it.live("cannot fill the memory with an endless demand", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { origin } = yield* OpenShop.listen((_, response) => {
          response.writeHead(402, { ...protocolSeller.refusal({ error: "pay", accepts: [] }).headers })
          const chunk = `"${"x".repeat(65_536)}",`
          const more = () => {
            while (!response.destroyed && response.write(chunk));
            response.once("drain", more)
          }
          response.write("[")
          more()
        })
        const { code, err } = yield* pay(`${origin}/report`)
        assert.deepStrictEqual([code, err.includes("longer than 65536 bytes")], [4, true], err)
      })
    )
  )

  it.live("is not believed with a receipt of another payment", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { origin } = yield* OpenShop.listen((request, response) => {
          if (!OpenShop.isPaid(request))
            return OpenShop.refuse(response, { error: "pay", accepts: [OpenShop.offer(origin)] })
          const receipt = {
            success: true,
            transaction: `0x${"a".repeat(64)}`,
            network: "eip155:8453",
            payer: "0x4444444444444444444444444444444444444444",
            amount: "1",
            paymentId: "pay_0123456789abcdefghijkl"
          } as const
          response.writeHead(200, { "x-payment-response": JSON.stringify(receipt) }).end("here")
        })
        const { code, err, out } = yield* pay(`${origin}/report`)
        assert.deepStrictEqual([code, out], [0, "here"], err)
        assert.include(err, "none: the shop served without one")
        assert.notInclude(err, "aaaaaaaa")
      })
    )
  )
})

describe("a shop that sells a redirect", () => {
  it.live("is paid once, and the command names the place or goes there", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const arrivals: Array<string> = []
        const { origin } = yield* OpenShop.listen((request, response) => {
          arrivals.push(`${request.url} ${OpenShop.isPaid(request) ? "paid" : "unpaid"}`)
          if (request.url === "/goods") return void response.end("the goods")
          const offer = OpenShop.offer(origin)
          if (!OpenShop.isPaid(request)) return OpenShop.refuse(response, { error: "pay", accepts: [offer] })
          const { maxAmountRequired: amount, network } = offer
          const receipt = { success: true, transaction: "0xabc", network, amount, payer: "", paymentId: "" } as const
          const headers = protocolSeller.receiptHeaders(receipt, { now: 0 })
          response.writeHead(303, { ...headers, location: "/goods" }).end()
        })
        const stay = yield* pay(`${origin}/report`)
        assert.strictEqual(stay.code, 0, stay.err)
        assert.include(stay.err, "What was bought is at /goods")
        const follow = yield* pay(`${origin}/report`, "-L")
        assert.deepStrictEqual([follow.code, follow.out], [0, "the goods"], follow.err)
        assert.deepStrictEqual(arrivals, [
          "/report unpaid",
          "/report paid",
          "/report unpaid",
          "/report paid",
          "/goods unpaid"
        ])
      })
    )
  )
})
