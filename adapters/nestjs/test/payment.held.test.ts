/**
 * A response that is settled after its handler leaves in no other way than through the settlement.
 */
import { connect } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  HttpException,
  NotFoundException,
  Param,
  ParseIntPipe,
  Res,
  UseFilters
} from "@nestjs/common"

import * as UpgradingClient from "../../../core/test/server/UpgradingClient.ts"
import { Paid } from "../src/payment.decorator.ts"
import { maximumHeldBytes } from "../src/payment.held.ts"
import { type HostResponse, nodeResponse } from "../src/payment.http.ts"
import { hosts, start } from "./TestApp.ts"
import { payment, terms } from "./TestShop.ts"

const late = { ...terms, settle: "after-handler" } as const

@Controller()
@Paid(late)
class SelfishController {
  @Get("end")
  end(@Res({ passthrough: true }) response: HostResponse) {
    nodeResponse(response).end("the goods")
  }

  @Get("head")
  head(@Res({ passthrough: true }) response: HostResponse) {
    nodeResponse(response).writeHead(200, { "X-Own": "1" }).end("the goods")
    return "the goods"
  }
}

/** Serialisations of the counted value. */
let serialised = 0

@Controller()
@Paid(late)
class ValueController {
  @Get("bigint")
  bigint() {
    return { n: 10n }
  }

  @Get("circle")
  circle() {
    const circle: { self?: unknown } = {}
    circle.self = circle
    return circle
  }

  @Get("throwing")
  throwing() {
    return {
      toJSON: () => {
        throw new HttpException("not to be shown", 403)
      }
    }
  }

  @Get("counted")
  counted() {
    return { toJSON: () => ({ times: ++serialised }) }
  }

  @Get("long")
  long() {
    return { text: "x".repeat(maximumHeldBytes) }
  }
}

interface Answer {
  readonly status: (status: number) => Answer
  readonly header: (name: string, value: string) => Answer
  readonly send: (body: unknown) => unknown
}

/** Answers every exception with goods of its own, whose status the request's path says. */
@Catch()
class Substitute implements ExceptionFilter<unknown> {
  catch(_exception: unknown, host: ArgumentsHost) {
    const { url } = host.switchToHttp().getRequest<{ readonly url: string }>()
    const response = host.switchToHttp().getResponse<Answer>()
    response.header("Cache-Control", "public, max-age=60").header("X-Secret", "42")
    response.status(Number(/status=(\d+)/.exec(url)?.[1] ?? 200)).send({ goods: "of the filter" })
  }
}

@Controller("filtered")
@UseFilters(Substitute)
class FilteredController {
  @Get("thrown")
  @Paid(late)
  thrown() {
    throw new NotFoundException()
  }

  @Get("number/:n")
  @Paid(late)
  number(@Param("n", ParseIntPipe) n: number) {
    return { n }
  }
}

@Controller("product")
class ProductController {
  @Get("missing")
  @Paid({ ...late, refused: "charged" })
  missing() {
    throw new NotFoundException()
  }

  @Get("number/:n")
  @Paid({ ...late, refused: "charged" })
  number(@Param("n", ParseIntPipe) n: number) {
    return { n }
  }
}

const ask = (port: number, path: string): Promise<string> =>
  new Promise((resolve) => {
    const chunks: Array<Buffer> = []
    const socket = connect(port, "127.0.0.1")
    socket.on("error", () => {})
    socket.on("data", (chunk) => chunks.push(Buffer.from(chunk)))
    socket.once("close", () => resolve(Buffer.concat(chunks).toString("utf8")))
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Payment: ${payment("n1")}\r\n\r\n`)
  })

const pay = (word?: "late-poor"): RequestInit => ({ headers: { "X-Payment": payment("n1", word) } })

describe.each(hosts)("a handler on $name that sends by itself", (host) => {
  it.each(["/end", "/head"])("at %s lets nothing leave, and nothing is charged", async (path) => {
    await using app = await start(host, { controllers: [SelfishController] })
    assert.notInclude(await ask(app.port, path), "goods")
    assert.strictEqual(await app.facilitator.reported("n1"), "failed")
    assert.deepStrictEqual(app.facilitator.settled, [])
  })
})

describe.each(hosts)("a WebSocket on $name", (host) => {
  it("is refused before the handler that it would be charged after", async () => {
    await using app = await start(host, { controllers: [ValueController] })
    serialised = 0
    const { close, status, text } = await UpgradingClient.ask(app.port, "/counted", { "x-payment": payment("n1") })
    await close()
    assert.strictEqual(status, 500)
    assert.match(text, /WebSocket/)
    assert.strictEqual(serialised, 0)
    assert.strictEqual(await app.facilitator.reported("n1"), "notRun")
    assert.deepStrictEqual(app.facilitator.settled, [])
  })
})

describe.each(hosts)("a value on $name", (host) => {
  it.each([
    ["/bigint", 500],
    ["/circle", 500],
    ["/throwing", 403],
    ["/long", 500]
  ])("that cannot be sent, from %s, costs nothing (%i)", async (path, status) => {
    await using app = await start(host, { controllers: [ValueController] })
    const first = await app.fetch(path, pay())
    assert.strictEqual(first.status, status)
    assert.strictEqual(first.headers.get("X-Payment-Response"), null)
    assert.strictEqual(await app.facilitator.reported("n1"), "failed")
    assert.strictEqual((await app.fetch(path, pay())).status, status)
    assert.deepStrictEqual(app.facilitator.settled, [])
  })

  it("is serialised once", async () => {
    await using app = await start(host, { controllers: [ValueController] })
    serialised = 0
    assert.deepStrictEqual(await (await app.fetch("/counted", pay())).json(), { times: 1 })
    assert.strictEqual(serialised, 1)
    assert.deepStrictEqual(app.facilitator.settled, ["n1"])
  })
})

describe.each(hosts)("an exception on $name that a filter of the application answers", (host) => {
  const parts = { controllers: [FilteredController, ProductController] }

  it("below 400 is charged and private", async () => {
    await using app = await start(host, parts)
    const response = await app.fetch("/filtered/thrown", pay())
    assert.strictEqual(response.status, 200)
    assert.deepStrictEqual(await response.json(), { goods: "of the filter" })
    assert.include(response.headers.get("X-Payment-Response") ?? "", '"paymentId":"n1"')
    assert.strictEqual(response.headers.get("Cache-Control"), "private")
    assert.deepStrictEqual(app.facilitator.settled, ["n1"])
    assert.strictEqual(await app.facilitator.reported("n1"), "served")
  })

  it.each([404, 503])("with %i costs nothing", async (status) => {
    await using app = await start(host, parts)
    const response = await app.fetch(`/filtered/thrown?status=${status}`, pay())
    assert.strictEqual(response.status, status)
    assert.deepStrictEqual(await response.json(), { goods: "of the filter" })
    assert.strictEqual(response.headers.get("X-Payment-Response"), null)
    assert.strictEqual(await app.facilitator.reported("n1"), "failed")
    assert.deepStrictEqual(app.facilitator.settled, [])
  })

  it("is dropped, with every header of the filter, when the payment fails then", async () => {
    await using app = await start(host, parts)
    const response = await app.fetch("/filtered/thrown", pay("late-poor"))
    assert.strictEqual(response.status, 402)
    assert.notInclude(await response.text(), "goods")
    assert.strictEqual(response.headers.get("X-Secret"), null)
    assert.strictEqual(response.headers.get("Cache-Control"), "no-store")
    assert.deepStrictEqual(app.facilitator.settled, [])
  })

  it("costs nothing with any status where a pipe has refused the request, and is private", async () => {
    await using app = await start(host, parts)
    const response = await app.fetch("/filtered/number/one", pay())
    assert.strictEqual(response.status, 200)
    assert.strictEqual(response.headers.get("X-Payment-Response"), null)
    assert.strictEqual(response.headers.get("Cache-Control"), "private")
    assert.strictEqual(await app.facilitator.reported("n1"), "notRun")
    assert.deepStrictEqual(app.facilitator.settled, [])
  })

  it("is charged where refusals are the product, unless a pipe has refused the request", async () => {
    await using app = await start(host, parts)
    assert.strictEqual((await app.fetch("/product/number/one", pay())).status, 400)
    assert.strictEqual(await app.facilitator.reported("n1"), "notRun")
    assert.deepStrictEqual(app.facilitator.settled, [])
    const response = await app.fetch("/product/missing", { headers: { "X-Payment": payment("n2") } })
    assert.strictEqual(response.status, 404)
    assert.include(response.headers.get("X-Payment-Response") ?? "", '"paymentId":"n2"')
    assert.deepStrictEqual(app.facilitator.settled, ["n2"])
  })
})
