import { assert, describe, it } from "@effect/vitest"
import {
  All,
  Controller,
  Get,
  Head,
  Injectable,
  Module,
  Next,
  Post,
  RequestMethod,
  Res,
  Scope,
  Sse,
  Version,
  VersioningType
} from "@nestjs/common"
import { RouterModule } from "@nestjs/core"
import { type RouteConfig, Misconfigured } from "@pontage/core"
import { of } from "rxjs"

import { Paid } from "../src/payment.decorator.ts"
import { type AppParts, create, hosts, start } from "./TestApp.ts"
import { payment, terms } from "./TestShop.ts"

const cheap: RouteConfig = { ...terms, price: "$0.001" }
const dear: RouteConfig = { ...terms, price: "$1" }

@Controller("reports")
class ReportsController {
  @Get()
  list() {
    return "list"
  }

  @Get("today")
  today() {
    return "today"
  }

  @Head("silent")
  silent() {
    return undefined
  }

  @Post("today")
  write() {
    return "written"
  }

  @Get(["a", "b"])
  twice() {
    return "twice"
  }

  @Get(":day")
  day() {
    return "day"
  }
}

@Controller("reports")
class AnyController {
  @All("any")
  any() {
    return "any"
  }
}

@Controller("reports")
class LateController {
  @Get("late")
  late() {
    return "late"
  }
}

@Controller("priced")
class PricedController {
  @Get("own")
  @Paid(dear)
  own() {
    return "own"
  }

  @Get("other")
  other() {
    return "other"
  }
}

@Controller({ path: "dated", version: ["1", "2"] })
class DatedController {
  @Get("old")
  @Version("1")
  old() {
    return "old"
  }

  @Get("both")
  both() {
    return "both"
  }
}

@Controller("files")
class FilesController {
  @Get("list")
  list() {
    return "list"
  }

  @Get("raw/*")
  raw() {
    return "raw"
  }
}

@Module({ controllers: [FilesController] })
class FilesModule {}

@Controller("scoped")
class ScopedBase {
  @Get("one")
  one() {
    return "one"
  }
}

@Injectable({ scope: Scope.REQUEST })
class PerRequest {}

@Controller({ path: "scoped", scope: Scope.REQUEST })
class ScopedController extends ScopedBase {
  @Get("two")
  @Paid(terms)
  two() {
    return "two"
  }
}

const priceOf = async (response: Response): Promise<string | undefined> => {
  const text = await response.text()
  return response.status === 402 ? /"maxAmountRequired":"(\d+)"/.exec(text)?.[1] : text
}

const mistakeOf = async (host: (typeof hosts)[number], parts: AppParts): Promise<string> => {
  const app = await create(host, parts)
  const failure = await app.init().catch((error: unknown) => error)
  await app.close()
  assert.instanceOf(failure, Misconfigured)
  return failure.message
}

describe.each(hosts)("the map of routes on $name", (host) => {
  it("prices the handlers that its keys name, the most specific key first", async () => {
    await using app = await start(host, {
      controllers: [ReportsController],
      routes: { "GET /reports/:any": cheap, "GET /reports/today": dear }
    })
    assert.strictEqual(await priceOf(await app.fetch("/reports/today")), "1000000")
    assert.strictEqual(await priceOf(await app.fetch("/reports/1999")), "1000")
    assert.strictEqual(await priceOf(await app.fetch("/reports/b")), "1000")
    assert.strictEqual(await priceOf(await app.fetch("/reports")), "list")
    assert.strictEqual(await priceOf(await app.fetch("/reports/today", { method: "POST" })), "written")
    assert.strictEqual((await app.fetch("/reports/silent", { method: "HEAD" })).status, 402)
    const paid = await app.fetch("/reports/today", { headers: { "X-Payment": payment("n1") } })
    assert.strictEqual(await paid.text(), "today")
    assert.strictEqual(await app.facilitator.reported("n1"), "served")
  }, 10_000)

  it("is overridden by @Paid, whose key still has a handler", async () => {
    await using app = await start(host, { controllers: [PricedController], routes: { "GET /priced/own": cheap } })
    assert.strictEqual(await priceOf(await app.fetch("/priced/own")), "1000000")
    assert.strictEqual(await priceOf(await app.fetch("/priced/other")), "other")
  })

  it("knows global prefix, exclusions, versions and module paths", async () => {
    await using app = await start(host, {
      imports: [FilesModule, RouterModule.register([{ path: "archive", module: FilesModule }])],
      controllers: [DatedController, ReportsController],
      routes: {
        "GET /api/v1/dated/old": cheap,
        "GET /api/v1/dated/both": dear,
        "GET /api/v2/dated/both": dear,
        "GET /api/archive/files/*": cheap,
        "GET /reports/today": dear
      },
      prepare: (nest) =>
        nest
          .setGlobalPrefix("api", { exclude: [{ path: "reports/today", method: RequestMethod.GET }] })
          .enableVersioning({ type: VersioningType.URI })
    })
    assert.strictEqual(await priceOf(await app.fetch("/api/v1/dated/old")), "1000")
    assert.strictEqual(await priceOf(await app.fetch("/api/v1/dated/both")), "1000000")
    assert.strictEqual(await priceOf(await app.fetch("/api/v2/dated/both")), "1000000")
    assert.strictEqual(await priceOf(await app.fetch("/api/archive/files/list")), "1000")
    assert.strictEqual(await priceOf(await app.fetch("/api/archive/files/raw/a/b")), "1000")
    assert.strictEqual(await priceOf(await app.fetch("/reports/today")), "1000000")
    assert.strictEqual(await priceOf(await app.fetch("/api/reports/a")), "twice")
  })

  it("prices every version of a path where the version is in a header", async () => {
    await using app = await start(host, {
      controllers: [DatedController],
      routes: { "GET /dated/both": cheap },
      prepare: (nest) => nest.enableVersioning({ type: VersioningType.HEADER, header: "X-Version" })
    })
    assert.strictEqual(await priceOf(await app.fetch("/dated/both", { headers: { "X-Version": "1" } })), "1000")
    assert.strictEqual(await priceOf(await app.fetch("/dated/both", { headers: { "X-Version": "2" } })), "1000")
    assert.strictEqual(await priceOf(await app.fetch("/dated/old", { headers: { "X-Version": "1" } })), "old")
  })

  it("reaches controllers that are made for each request, and inherited handlers", async () => {
    await using app = await start(host, {
      controllers: [ScopedController],
      providers: [PerRequest],
      routes: { "GET /scoped/one": cheap }
    })
    assert.strictEqual(await priceOf(await app.fetch("/scoped/one")), "1000")
    assert.strictEqual(await priceOf(await app.fetch("/scoped/two")), "10000")
    const paid = await app.fetch("/scoped/one", { headers: { "X-Payment": payment("n1") } })
    assert.strictEqual(await paid.text(), "one")
  })
})

describe.each(hosts)("a mistake in the map on $name", (host) => {
  const controllers = [ReportsController, AnyController]

  it.each<[string, Record<string, RouteConfig>, RegExp]>([
    ["a key without a handler", { "GET /nowhere": cheap }, /route "GET \/nowhere": no handler/],
    [
      "a key that a general handler would serve",
      { "GET /reports/1999": cheap },
      /route "GET \/reports\/1999": no handler/
    ],
    [
      "a price function whose key names a parameter that the handler does not",
      { "GET /reports/:other": { network: terms.network, payTo: terms.payTo, getPrice: () => "$1" } },
      /route "GET \/reports\/:other": the path \/reports\/\S+ of \S+ has no parameter :other/
    ],
    ["a malformed key", { "get reports": cheap }, /route "get reports": expected a method/],
    ["half of a handler's paths", { "GET /reports/a": cheap }, /ReportsController\.twice also serves GET \/reports\/b/],
    [
      "two prices for one handler",
      { "GET /reports/a": cheap, "GET /reports/b": dear },
      /ReportsController\.twice also serves GET \/reports\/b, at another price/
    ],
    ["one method of many", { "GET /reports/any": cheap }, /AnyController\.any also serves every method/],
    [
      "an unknown network",
      { "GET /reports": { ...cheap, network: "eip155:5" } },
      /route "GET \/reports": network "eip155:5"/
    ]
  ])("%s is found at start", async (_name, routes, message) => {
    assert.match(await mistakeOf(host, { controllers, routes }), message)
  })

  it("is a free handler that the host prefers to the one that is sold", async () => {
    const parts: AppParts = { controllers: [ReportsController, LateController], routes: { "GET /reports/late": cheap } }
    if (host.name === "Express") {
      assert.match(
        await mistakeOf(host, parts),
        /route "GET \/reports\/late": ReportsController\.day is declared before/
      )
    } else {
      await using app = await start(host, parts)
      assert.strictEqual(await priceOf(await app.fetch("/reports/late")), "1000")
    }
  })

  it("is not two keys with one price for a handler of two paths", async () => {
    await using app = await start(host, { controllers, routes: { "GET /reports/a": cheap, "GET /reports/b": cheap } })
    assert.strictEqual(await priceOf(await app.fetch("/reports/a")), "1000")
    assert.strictEqual(await priceOf(await app.fetch("/reports/b")), "1000")
  })
})

const late: RouteConfig = { ...terms, settle: "after-handler" }

@Controller()
class ResController {
  @Get("res")
  @Paid(late)
  res(@Res() _response: unknown) {}
}

@Controller()
class NextController {
  @Get("next")
  @Paid(late)
  next(@Next() _next: unknown) {}
}

@Controller()
class SseController {
  @Sse("events")
  @Paid(late)
  events() {
    return of({ data: "1" })
  }
}

@Controller()
class BoundController {
  constructor() {
    this.report = this.report.bind(this)
  }

  @Get("report")
  @Paid(terms)
  report() {
    return "report"
  }
}

@Controller({ path: "rebound", scope: Scope.REQUEST })
class ReboundController {
  constructor() {
    this.report = this.report.bind(this)
  }

  @Get("report")
  @Paid(terms)
  report() {
    return "report"
  }
}

@Injectable()
class StrayProvider {
  @Paid(terms)
  stray() {
    return "stray"
  }
}

@Controller()
class DearController {
  @Get("dear")
  @Paid({ ...terms, price: "one dollar" })
  dear() {
    return "dear"
  }
}

describe.each(hosts)("a mistake with @Paid on $name", (host) => {
  it.each<[string, AppParts, RegExp]>([
    ["@Res() with after-handler", { controllers: [ResController] }, /ResController\.res: settle: "after-handler"/],
    ["@Next() with after-handler", { controllers: [NextController] }, /NextController\.next: settle: "after-handler"/],
    ["@Sse() with after-handler", { controllers: [SseController] }, /SseController\.events: settle: "after-handler"/],
    ["a method replaced in its instance", { controllers: [BoundController] }, /BoundController\.report: the method is/],
    ["a provider's method", { providers: [StrayProvider] }, /StrayProvider\.stray: @Paid sells HTTP handlers/],
    ["a wrong price", { controllers: [DearController] }, /route "GET \/dear": price: /]
  ])("%s is found at start", async (_name, parts, message) => {
    assert.match(await mistakeOf(host, parts), message)
  })

  it("stays closed where the method is replaced for each request", async () => {
    await using app = await start(host, { controllers: [ReboundController] })
    const response = await app.fetch("/rebound/report")
    assert.strictEqual(response.status, 500)
    assert.notInclude(await response.text(), "report")
  })
})
