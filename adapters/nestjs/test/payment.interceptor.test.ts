import { connect, type Socket } from "node:net"
import { Readable } from "node:stream"

import { assert, describe, it } from "@effect/vitest"
import {
  BadRequestException,
  Body,
  type CallHandler,
  ConflictException,
  Controller,
  type ExecutionContext,
  Get,
  Header,
  HttpCode,
  Injectable,
  type NestInterceptor,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post,
  Redirect,
  Res,
  Sse,
  StreamableFile
} from "@nestjs/common"
import { APP_INTERCEPTOR } from "@nestjs/core"
import { interval, map, type Observable, of } from "rxjs"

import { Paid, Payment } from "../src/payment.decorator.ts"
import { maximumHeldBytes } from "../src/payment.held.ts"
import { hosts, start } from "./TestApp.ts"
import { payment, terms } from "./TestShop.ts"

const late = { ...terms, settle: "after-handler" } as const

/** A stream that has begun and never ends by itself. */
const begun = (): Readable => {
  const stream = new Readable({ read: () => {} })
  stream.push("begun")
  return stream
}

/** A stream that breaks after its first chunk was sent. */
const breaking = (): Readable => {
  let reads = 0
  return new Readable({
    read() {
      reads++
      if (reads === 1) this.push("begun")
      else setImmediate(() => this.destroy(new TypeError("the source broke")))
    }
  })
}

let crashes = 0

@Controller("early")
class EarlyController {
  @Get("crash")
  @Header("Cache-Control", "public")
  @Paid(terms)
  crash() {
    crashes++
    throw new TypeError("the handler broke")
  }

  @Get("missing")
  @Paid(terms)
  missing() {
    throw new NotFoundException()
  }

  @Get("number/:n")
  @Paid(terms)
  number(@Param("n", ParseIntPipe) n: number) {
    return n
  }

  @Get("stream")
  @Paid(terms)
  stream() {
    return new StreamableFile(begun())
  }

  @Get("breaking")
  @Paid(terms)
  breaking() {
    return new StreamableFile(breaking())
  }

  @Get("web")
  @Paid(terms)
  web() {
    return new Response("web", { status: 203, headers: { "Cache-Control": "public", "X-Payment-Response": "mine" } })
  }

  @Sse("events")
  @Paid(terms)
  events(): Observable<{ data: string }> {
    return interval(1).pipe(map((n) => ({ data: `${n}` })))
  }

  @Get("own")
  @Paid(terms)
  own(@Res() response: { send: (body: string) => unknown }) {
    response.send("own")
  }

  @Get("elsewhere")
  @Redirect("https://elsewhere.example", 302)
  @Paid(terms)
  elsewhere() {}
}

let lateRuns = 0

@Controller("late")
class LateController {
  @Get("value")
  @Header("Cache-Control", "public")
  @Paid(late)
  value(@Payment() settlement: unknown) {
    lateRuns++
    return { settledBefore: settlement !== undefined }
  }

  @Get("conflict")
  @Paid(late)
  conflict() {
    throw new ConflictException("not now")
  }

  @Get("coded")
  @HttpCode(404)
  @Paid(late)
  coded() {
    return "nothing here"
  }

  @Get("crash")
  @Paid(late)
  crash() {
    throw new TypeError("the handler broke")
  }

  @Get("secret")
  @Header("Content-Disposition", "attachment; filename=secret")
  @Header("Content-Type", "text/csv")
  @Paid(late)
  secret(@Res({ passthrough: true }) response: { header: (name: string, value: string) => unknown }) {
    response.header("X-Secret", "42")
    return "a,b"
  }

  @Get("stream")
  @Paid(late)
  stream() {
    return new StreamableFile(Readable.from(["held ", "back"]), { type: "text/plain" })
  }

  @Get("generated")
  @Paid(late)
  async *generated() {
    yield "held "
    yield "back"
  }

  @Get("breaking")
  @Paid(late)
  breaking() {
    return new StreamableFile(breaking())
  }

  @Get("huge")
  @Paid(late)
  huge() {
    return new StreamableFile(Readable.from([Buffer.alloc(maximumHeldBytes), Buffer.alloc(1)]))
  }

  @Get("web")
  @Paid(late)
  web() {
    return new Response("web", { status: 203, headers: { "Cache-Control": "public" } })
  }

  @Get("web-missing")
  @Paid(late)
  webMissing() {
    return new Response("missing", { status: 404 })
  }

  @Get("bodyless")
  @HttpCode(204)
  @Paid(late)
  bodyless() {}

  @Get("observed")
  @Paid(late)
  observed() {
    return of("first", "last")
  }

  @Post("checked")
  @Paid(late)
  checked(@Body() body: unknown) {
    if (JSON.stringify(body) !== '{"good":true}') throw new BadRequestException()
    return "good"
  }
}

/** Answers from its memory, as cache interceptors do, and wants the world to keep the response. */
@Injectable()
class CacheInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, _next: CallHandler): Observable<unknown> {
    return of("cached")
  }
}

const pay = (nonce: string, word?: "poor" | "late-poor"): RequestInit => ({
  headers: { "X-Payment": payment(nonce, word) }
})

/** A paid request as text. */
const plain = (path: string, nonce: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: shop.example\r\nX-Payment: ${payment(nonce)}\r\n\r\n`

const post = (body: string): RequestInit => ({
  method: "POST",
  headers: { "Content-Type": "application/json", "X-Payment": payment("n1") },
  body
})

describe.each(hosts)("a payment settled before the handler, on $name", (host) => {
  const parts = { controllers: [EarlyController] }

  it("keeps the receipt and reports a failure when the handler throws", async () => {
    await using app = await start(host, parts)
    const response = await app.fetch("/early/crash", pay("n1"))
    assert.strictEqual(response.status, 500)
    assert.include(response.headers.get("X-Payment-Response") ?? "", '"paymentId":"n1"')
    assert.strictEqual(response.headers.get("Cache-Control"), "private")
    assert.strictEqual(await app.facilitator.reported("n1"), "failed")
  })

  it("runs again for the same payment after a failure", async () => {
    await using app = await start(host, parts)
    await app.fetch("/early/crash", pay("n1"))
    await app.facilitator.reported("n1")
    assert.strictEqual((await app.fetch("/early/crash", pay("n1"))).status, 500)
  })

  it("counts a thrown 4xx as refused", async () => {
    await using app = await start(host, parts)
    const response = await app.fetch("/early/missing", pay("n1"))
    assert.strictEqual(response.status, 404)
    assert.include(response.headers.get("X-Payment-Response") ?? "", '"paymentId":"n1"')
    assert.strictEqual(await app.facilitator.reported("n1"), "refused")
  })

  it("counts what a pipe refuses as refused", async () => {
    await using app = await start(host, parts)
    assert.strictEqual((await app.fetch("/early/number/one", pay("n1"))).status, 400)
    assert.strictEqual(await app.facilitator.reported("n1"), "refused")
  })

  it.each(["/early/stream", "/early/events"])("reports a failure when the client leaves amid %s", async (path) => {
    await using app = await start(host, parts)
    const socket = connect(app.port, "127.0.0.1")
    socket.write(plain(path, "n1"))
    const chunk = await new Promise((resolve) => {
      socket.once("data", resolve)
    })
    assert.match(String(chunk), /^HTTP\/1\.1 200 .*"paymentId":"n1"/s)
    assert.deepStrictEqual(app.facilitator.reports, [])
    socket.destroy()
    assert.strictEqual(await app.facilitator.reported("n1"), "failed")
  })

  it("reports the ends of pipelined requests when their connection closes", async () => {
    await using app = await start(host, parts)
    const socket = connect(app.port, "127.0.0.1")
    socket.write(plain("/early/stream", "n1") + plain("/early/missing", "n2"))
    const bothSettled = new Promise<void>((resolve) => {
      app.facilitator.onSettled = () => {
        if (app.facilitator.settled.length === 2) resolve()
      }
    })
    await bothSettled
    socket.destroy()
    const ends = await Promise.all(["n1", "n2"].map((nonce) => app.facilitator.reported(nonce)))
    for (const end of ends) assert.oneOf(end, ["failed", "notRun"])
  })

  it("does not run the handler for a client that left while the payment settled", async () => {
    await using app = await start(host, parts)
    const before = crashes
    const gone = new Promise<void>((resolve) => {
      app.app.getHttpServer().once("connection", (socket: Socket) => socket.once("close", () => resolve()))
    })
    const leaving = new AbortController()
    app.facilitator.pause = () => {
      leaving.abort()
      return gone
    }
    await app.fetch("/early/crash", { ...pay("n1"), signal: leaving.signal }).catch(() => undefined)
    assert.strictEqual(await app.facilitator.reported("n1"), "notRun")
    assert.strictEqual(crashes, before)
    app.facilitator.pause = () => Promise.resolve()
    assert.strictEqual((await app.fetch("/early/crash", pay("n1"))).status, 500)
    assert.strictEqual(crashes, before + 1)
  })

  it("reports a failure when a stream breaks", async () => {
    await using app = await start(host, parts)
    const response = await app.fetch("/early/breaking", pay("n1"))
    await response.text().catch(() => undefined)
    assert.strictEqual(await app.facilitator.reported("n1"), "failed")
  })

  it("puts the receipt on a web Response and takes its public away", async () => {
    await using app = await start(host, parts)
    const response = await app.fetch("/early/web", pay("n1"))
    assert.strictEqual(response.status, 203)
    assert.strictEqual(await response.text(), "web")
    assert.include(response.headers.get("X-Payment-Response") ?? "", '"paymentId":"n1"')
    assert.strictEqual(response.headers.get("Cache-Control"), "private")
    assert.strictEqual(await app.facilitator.reported("n1"), "served")
  })

  it("serves handlers that send by themselves or redirect", async () => {
    await using app = await start(host, parts)
    const own = await app.fetch("/early/own", pay("n1"))
    assert.strictEqual(await own.text(), "own")
    assert.include(own.headers.get("X-Payment-Response") ?? "", '"paymentId":"n1"')
    assert.strictEqual(await app.facilitator.reported("n1"), "served")
    const elsewhere = await app.fetch("/early/elsewhere", { ...pay("n2"), redirect: "manual" })
    assert.strictEqual(elsewhere.status, 302)
    assert.strictEqual(await app.facilitator.reported("n2"), "served")
  })
})

describe.each(hosts)("a payment settled after the handler, on $name", (host) => {
  const parts = { controllers: [LateController] }

  it("settles between handler and response", async () => {
    await using app = await start(host, parts)
    const response = await app.fetch("/late/value", pay("n1"))
    assert.strictEqual(response.status, 200)
    assert.deepStrictEqual(await response.json(), { settledBefore: false })
    assert.include(response.headers.get("X-Payment-Response") ?? "", '"paymentId":"n1"')
    assert.strictEqual(response.headers.get("Cache-Control"), "private")
    assert.deepStrictEqual(app.facilitator.settled, ["n1"])
    assert.strictEqual(await app.facilitator.reported("n1"), "served")
  })

  it("asks for payment before the handler runs", async () => {
    await using app = await start(host, parts)
    const before = lateRuns
    assert.strictEqual((await app.fetch("/late/value")).status, 402)
    assert.strictEqual(lateRuns, before)
  })

  it.each([
    ["/late/conflict", 409],
    ["/late/coded", 404],
    ["/late/crash", 500],
    ["/late/web-missing", 404],
    ["/late/breaking", 500],
    ["/late/huge", 500]
  ])("does not charge for %s (%i)", async (path, status) => {
    await using app = await start(host, parts)
    const response = await app.fetch(path, pay("n1"))
    assert.strictEqual(response.status, status)
    assert.strictEqual(response.headers.get("X-Payment-Response"), null)
    assert.strictEqual(await app.facilitator.reported("n1"), "failed")
    assert.deepStrictEqual(app.facilitator.settled, [])
  })

  it("drops the response, and every header of it, when the payment fails then", async () => {
    await using app = await start(host, parts)
    const response = await app.fetch("/late/secret", pay("n1", "late-poor"))
    assert.strictEqual(response.status, 402)
    const text = await response.text()
    assert.match(text, /"code":"INSUFFICIENT_BALANCE".*"accepts":\[/)
    assert.notInclude(text, "a,b")
    assert.strictEqual(response.headers.get("X-Secret"), null)
    assert.strictEqual(response.headers.get("Content-Disposition"), null)
    assert.strictEqual(response.headers.get("Content-Type"), "application/json")
    assert.strictEqual(response.headers.get("Cache-Control"), "no-store")
    assert.strictEqual(response.headers.get("X-Payment-Response"), null)
    assert.deepStrictEqual(app.facilitator.settled, [])
  })

  it.each(["/late/stream", "/late/generated"])("holds the stream of %s back", async (path) => {
    await using app = await start(host, parts)
    const response = await app.fetch(path, pay("n1"))
    assert.strictEqual(response.status, 200)
    assert.include(response.headers.get("Content-Type") ?? "", "text/plain")
    assert.strictEqual(await response.text(), "held back")
    assert.include(response.headers.get("X-Payment-Response") ?? "", '"paymentId":"n1"')
    assert.strictEqual(await app.facilitator.reported("n1"), "served")
    const dropped = await app.fetch(path, pay("n2", "late-poor"))
    assert.strictEqual(dropped.status, 402)
    assert.notInclude(await dropped.text(), "held")
  })

  it("releases a web Response, an empty response and the last value of an Observable", async () => {
    await using app = await start(host, parts)
    const web = await app.fetch("/late/web", pay("n1"))
    assert.strictEqual(await web.text(), "web")
    assert.strictEqual(web.headers.get("Cache-Control"), "private")
    assert.include(web.headers.get("X-Payment-Response") ?? "", '"paymentId":"n1"')
    assert.strictEqual((await app.fetch("/late/bodyless", pay("n2"))).status, 204)
    assert.strictEqual(await (await app.fetch("/late/observed", pay("n3"))).text(), "last")
    assert.deepStrictEqual(app.facilitator.settled, ["n1", "n2", "n3"])
  })

  it("lets the same payment try again with better arguments", async () => {
    await using app = await start(host, parts)
    assert.strictEqual((await app.fetch("/late/checked", post("{}"))).status, 400)
    assert.strictEqual(await app.facilitator.reported("n1"), "failed")
    const response = await app.fetch("/late/checked", post('{"good":true}'))
    assert.strictEqual(response.status, 201)
    assert.deepStrictEqual(app.facilitator.settled, ["n1"])
  })

  it("charges for what an interceptor of the application answers in the handler's place", async () => {
    await using app = await start(host, {
      ...parts,
      providers: [{ provide: APP_INTERCEPTOR, useClass: CacheInterceptor }],
      prepare: (nest) => nest.useGlobalInterceptors(new CacheInterceptor())
    })
    const before = lateRuns
    const response = await app.fetch("/late/value", pay("n1"))
    assert.strictEqual(await response.text(), "cached")
    assert.strictEqual(lateRuns, before)
    assert.deepStrictEqual(app.facilitator.settled, ["n1"])
  })
})
