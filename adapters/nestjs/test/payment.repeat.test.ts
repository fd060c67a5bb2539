/** A served response comes again to the byte on both hosts, without a run. */
import { createHash } from "node:crypto"
import { once } from "node:events"
import { request } from "node:http"

import { assert, describe, it } from "@effect/vitest"
import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  HttpCode,
  Res,
  StreamableFile,
  UseFilters
} from "@nestjs/common"

import * as LedgerSeller from "../../../core/test/server/LedgerSeller.ts"
import { Paid } from "../src/payment.decorator.ts"
import { PaymentRefusedException } from "../src/payment.exception.ts"
import { type HostResponse, nodeResponse } from "../src/payment.http.ts"
import { PaymentModule } from "../src/payment.module.ts"
import { PaymentRoutes } from "../src/payment.routes.ts"
import { build, type Host, hosts, listen } from "./TestApp.ts"

/** Runs of the handlers, and the events of the handler that waits. */
const state = { runs: 0, entered: Promise.withResolvers<void>() }

const sold = LedgerSeller.open().terms

@Controller()
@Paid({ ...sold, repeat: "same" })
class Goods {
  @Get("json")
  json() {
    return { run: ++state.runs }
  }

  @Get("text")
  @HttpCode(203)
  text(@Res({ passthrough: true }) response: HostResponse) {
    nodeResponse(response).appendHeader("Set-Cookie", "one=1")
    nodeResponse(response).appendHeader("Set-Cookie", "two=2")
    return `run ${++state.runs} \u{1f600}`
  }

  @Get("file")
  file() {
    return new StreamableFile(Buffer.from([0, 1, 2, ++state.runs]))
  }

  @Get("empty/204")
  @HttpCode(204)
  nothing() {
    state.runs++
  }

  @Get("empty/205")
  @HttpCode(205)
  reset() {
    state.runs++
  }

  @Get("empty/304")
  @HttpCode(304)
  unchanged() {
    state.runs++
  }

  @Get("slow")
  async slow(@Res({ passthrough: true }) response: HostResponse) {
    state.runs++
    state.entered.resolve()
    if (state.runs === 1) await once(nodeResponse(response), "close")
    return `run ${state.runs}`
  }

  @Get("public")
  async public(@Res({ passthrough: true }) response: HostResponse) {
    state.entered.resolve()
    const node = nodeResponse(response)
    await once(node, "close")
    // Fastify's own response has the headers until it is sent.
    const { header = node.setHeader.bind(node) }: { header?: typeof node.setHeader } = Object(response)
    header.call(response, "Cache-Control", "public, max-age=86400")
    return `run ${++state.runs}`
  }

  @Get("late")
  @Paid({ ...sold, repeat: "same", settle: "after-handler" })
  late() {
    return `run ${++state.runs}`
  }

  @Get("other")
  @Paid(sold)
  other() {
    return `run ${++state.runs}`
  }
}

interface Answer {
  readonly status: (status: number) => Answer
  readonly send: (body: unknown) => unknown
}

/** Answers every exception in its own words, but for a refusal's body, as filters of applications do. */
@Catch()
class OwnWords implements ExceptionFilter<unknown> {
  catch(exception: unknown, host: ArgumentsHost) {
    const response = host.switchToHttp().getResponse<Answer>()
    if (exception instanceof PaymentRefusedException) {
      return response.status(exception.getStatus()).send(exception.getResponse())
    }
    return response.status(200).send({ message: String(exception) })
  }
}

const goods = () => ({ run: ++state.runs })

@Controller("method")
class FilteredMethods {
  @Get("above")
  @UseFilters(OwnWords)
  @Paid({ ...sold, repeat: "same" })
  above() {
    return goods()
  }

  @Get("below")
  @Paid({ ...sold, repeat: "same" })
  @UseFilters(OwnWords)
  below() {
    return goods()
  }
}

@Controller("class")
@UseFilters(OwnWords)
class FilteredClass {
  @Get("decorated")
  @Paid({ ...sold, repeat: "same" })
  decorated() {
    return goods()
  }

  @Get("mapped")
  mapped() {
    return goods()
  }
}

@Controller("sold-class")
@UseFilters(OwnWords)
@Paid({ ...sold, repeat: "same" })
class FilteredSoldClass {
  @Get()
  get() {
    return goods()
  }
}

const open = async (host: Host) => {
  const { ledger, options, transfers } = LedgerSeller.open()
  ledger.deposit("acct-alice", 10n ** 9n)
  const payments = PaymentModule.forRoot({ ...options, routes: { "GET /class/mapped": { ...sold, repeat: "same" } } })
  const controllers = [Goods, FilteredMethods, FilteredClass, FilteredSoldClass]
  const app = await build(host, { controllers, imports: [payments] })
  const port = await listen(app)
  await app.get(PaymentRoutes).ready()
  state.runs = 0
  state.entered = Promise.withResolvers()
  const ask = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
    const bytes = new Uint8Array(await response.arrayBuffer())
    const head = [...response.headers].filter(([name]) => !["date", "connection", "keep-alive"].includes(name))
    return {
      status: response.status,
      head,
      text: new TextDecoder().decode(bytes),
      sha256: createHash("sha256").update(bytes).digest("hex")
    }
  }
  /** The response once the run that goes meanwhile has ended. */
  const askOnceThere = async (path: string, headers: Readonly<Record<string, string>>): ReturnType<typeof ask> => {
    const got = await ask(path, headers)
    return got.status === 409 && got.text.includes("in_flight") ? askOnceThere(path, headers) : got
  }
  const pay = async (path: string) => LedgerSeller.payFor("acct-alice", (await ask(path)).text)
  return { port, ask, askOnceThere, pay, transfers, [Symbol.asyncDispose]: () => app.close() }
}

/** Paths of handlers below a filter of the application that catches everything. */
const belowFilters = ["/method/above", "/method/below", "/class/decorated", "/class/mapped", "/sold-class"]

const isFramed = ([name]: readonly [string, string]) => name !== "transfer-encoding" && name !== "content-length"

describe.each(hosts)("on $name", (host) => {
  it.each(["/json", "/text", "/file", "/late", ...belowFilters])(
    "the response of %s comes again, status, headers and bytes",
    async (path) => {
      await using shop = await open(host)
      const payment = await shop.pay(path)
      const first = await shop.ask(path, payment)
      const again = await shop.askOnceThere(path, payment)
      assert.isBelow(first.status, 300)
      const { head, ...rest } = again
      assert.deepStrictEqual({ ...rest, head: head.filter(isFramed) }, { ...first, head: first.head.filter(isFramed) })
      assert.strictEqual(state.runs, 1)
      assert.strictEqual(shop.transfers(), 1n)
    }
  )

  it.each([
    [204, undefined],
    [205, "0"],
    [304, undefined]
  ])("a response of %i comes again with the length %s", async (status, length) => {
    await using shop = await open(host)
    const payment = await shop.pay(`/empty/${status}`)
    assert.strictEqual((await shop.ask(`/empty/${status}`, payment)).status, status)
    const again = await shop.askOnceThere(`/empty/${status}`, payment)
    assert.strictEqual(again.status, status)
    assert.strictEqual(new Map(again.head).get("content-length"), length)
    assert.strictEqual(state.runs, 1)
  })

  it("a response whose client disconnected while the handler worked comes again", async () => {
    await using shop = await open(host)
    const payment = await shop.pay("/slow")
    const asking = request({ host: "127.0.0.1", port: shop.port, path: "/slow", headers: payment, agent: false })
    asking.on("error", () => undefined).end()
    await state.entered.promise
    asking.destroy()
    assert.strictEqual((await shop.askOnceThere("/slow", payment)).text, "run 1")
    assert.strictEqual(state.runs, 1)
  })

  it("a response that its handler called public after its client had left comes again private, with its receipt", async () => {
    await using shop = await open(host)
    const payment = await shop.pay("/public")
    const asking = request({ host: "127.0.0.1", port: shop.port, path: "/public", headers: payment, agent: false })
    asking.on("error", () => undefined).end()
    await state.entered.promise
    asking.destroy()
    const { head, text } = await shop.askOnceThere("/public", payment)
    assert.strictEqual(text, "run 1")
    const headers = new Map(head)
    assert.strictEqual(headers.get("cache-control"), "private")
    assert.match(headers.get("vary") ?? "", /X-Payment/i)
    assert.isTrue(headers.has("x-payment-response"))
  })

  it("a payment for one route brings no response of another", async () => {
    await using shop = await open(host)
    const payment = await shop.pay("/json")
    await shop.ask("/json", payment)
    assert.strictEqual((await shop.ask("/text", payment)).status, 409)
    const plain = await shop.pay("/other")
    await shop.ask("/other", plain)
    assert.strictEqual((await shop.askOnceThere("/other", plain)).status, 409)
  })
})
