/**
 * A paid response is private to every cache, whoever sends it: a handler by value, by itself, by stream, by a web response,
 * or a filter of the application after an error.
 */
import { Readable } from "node:stream"

import { assert, describe, it } from "@effect/vitest"
import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  Inject,
  Res,
  StreamableFile,
  UseFilters
} from "@nestjs/common"
import { HttpAdapterHost } from "@nestjs/core"

import { Paid } from "../src/payment.decorator.ts"
import { hosts, start } from "./TestApp.ts"
import { payment, terms } from "./TestShop.ts"

const lax = {
  "Cache-Control": "public, max-age=60",
  "CDN-Cache-Control": "max-age=60",
  "Surrogate-Control": "max-age=60",
  Expires: "Fri, 31 Dec 2049 00:00:00 GMT",
  "X-Accel-Expires": "60"
}

interface SettingResponse {
  readonly header: (name: string, value: string) => unknown
  readonly send: (body: string) => unknown
}

const loosen = (response: Pick<SettingResponse, "header">) => {
  for (const [name, value] of Object.entries(lax)) response.header(name, value)
}

@Catch(RangeError)
class LaxFilter implements ExceptionFilter {
  readonly #host: HttpAdapterHost

  constructor(@Inject(HttpAdapterHost) host: HttpAdapterHost) {
    this.#host = host
  }

  catch(_error: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<SettingResponse>()
    loosen(response)
    this.#host.httpAdapter.reply(response, "sorry", 500)
  }
}

@Controller()
@UseFilters(LaxFilter)
class LaxController {
  @Get("value")
  @Paid(terms)
  value(@Res({ passthrough: true }) response: SettingResponse) {
    loosen(response)
    return "value"
  }

  @Get("late")
  @Paid({ ...terms, settle: "after-handler" })
  late(@Res({ passthrough: true }) response: SettingResponse) {
    loosen(response)
    return "late"
  }

  @Get("own")
  @Paid(terms)
  own(@Res() response: SettingResponse) {
    loosen(response)
    response.send("own")
  }

  @Get("stream")
  @Paid(terms)
  stream(@Res({ passthrough: true }) response: SettingResponse) {
    loosen(response)
    return new StreamableFile(Readable.from([Buffer.from("stream")]))
  }

  @Get("web")
  @Paid(terms)
  web() {
    return new Response("web", { headers: lax })
  }

  @Get("error")
  @Paid(terms)
  error() {
    throw new RangeError("down")
  }

  @Get("shared")
  @Paid({ ...terms, cache: "public, max-age=5" })
  shared(@Res({ passthrough: true }) response: SettingResponse) {
    response.header("CDN-Cache-Control", "max-age=60")
    return "shared"
  }
}

describe.each(hosts)("a paid response on $name", (host) => {
  it.each(["/value", "/late", "/own", "/stream", "/web", "/error"])(
    "from %s is private to every cache",
    async (path) => {
      await using app = await start(host, { controllers: [LaxController] })
      const { headers } = await app.fetch(path, { headers: { "X-Payment": payment("n1") } })
      assert.strictEqual(headers.get("Cache-Control"), "private")
      assert.strictEqual(headers.get("CDN-Cache-Control"), "no-store")
      assert.strictEqual(headers.get("Surrogate-Control"), "no-store")
      assert.strictEqual(headers.get("Expires"), "0")
      assert.strictEqual(headers.get("X-Accel-Expires"), "0")
      assert.notStrictEqual(headers.get("X-Payment-Response"), null)
    }
  )

  it("is the route's to share", async () => {
    await using app = await start(host, { controllers: [LaxController] })
    const { headers } = await app.fetch("/shared", { headers: { "X-Payment": payment("n1") } })
    assert.strictEqual(headers.get("Cache-Control"), "public, max-age=5")
    assert.strictEqual(headers.get("CDN-Cache-Control"), "max-age=60")
  })
})
