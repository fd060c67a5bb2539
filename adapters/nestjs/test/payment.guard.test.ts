import { assert, describe, it } from "@effect/vitest"
import { type CanActivate, Controller, Get, Head, Header, Injectable, Options, Post, UseGuards } from "@nestjs/common"
import { All, Catch, type ExceptionFilter, Next, Param, Query } from "@nestjs/common"
import { APP_GUARD } from "@nestjs/core"
import { RequestHeaders, Seller, Settlement } from "@pontage/core"
import * as Schema from "effect/Schema"

import { Paid, Payment } from "../src/payment.decorator.ts"
import { PaymentRefusedException } from "../src/payment.exception.ts"
import { hosts, start } from "./TestApp.ts"
import { payment, shopOptions, terms, TestFacilitator } from "./TestShop.ts"

const decodeReceipt = Schema.decodeUnknownSync(Schema.fromJsonString(Settlement.Settlement))

let runs = 0

@Injectable()
class ClosedGuard implements CanActivate {
  canActivate(): boolean {
    return false
  }
}

@Controller()
class ReportController {
  @Get("report")
  @Header("Cache-Control", "public, max-age=600")
  @Header("Vary", "Accept")
  @Paid({ ...terms, binding: "off", description: "Daily report" })
  report(@Payment() settlement: Settlement.Settlement) {
    runs++
    return { transaction: settlement.transaction, payer: settlement.payer }
  }

  @All("everything")
  @Paid(terms)
  everything() {
    runs++
    return "everything"
  }

  @Get("guarded")
  @UseGuards(ClosedGuard)
  @Paid(terms)
  guarded() {
    runs++
    return "guarded"
  }

  @Get("members")
  @Paid(terms)
  @UseGuards(ClosedGuard)
  members() {
    runs++
    return "members"
  }

  @Get("free")
  free(@Payment() settlement: unknown) {
    return { settled: settlement !== undefined }
  }

  @Get("gift")
  @Paid({ ...terms, price: "$0" })
  gift(@Payment() settlement: unknown) {
    return { settled: settlement !== undefined }
  }

  @Get("items/:item")
  @Paid({
    network: terms.network,
    payTo: terms.payTo,
    getPrice: ({ params, query }) => (params["item"] === "gold" && query["n"] === "2" ? "$0.5" : "$0.25")
  })
  item(@Param("item") item: string, @Query("n") n: string) {
    return { item, n }
  }

  @Get("files/*")
  @Paid({
    network: terms.network,
    payTo: terms.payTo,
    getPrice: ({ params }) => (Object.values(params).join() === "a/b" ? "$3" : "$4")
  })
  file() {
    return "file"
  }

  @Post("orders")
  @Paid({
    network: terms.network,
    payTo: terms.payTo,
    getPrice: ({ body }) => (JSON.stringify(body) === '{"rush":true}' ? "$2" : "$1")
  })
  order() {
    return "ordered"
  }
}

@Controller("shelf")
@Paid(terms)
class ShelfController {
  @Get("one")
  one() {
    return "one"
  }

  @Get("two")
  @Paid({ ...terms, price: "$0.02" })
  two() {
    return "two"
  }

  @Head("three")
  three() {
    return undefined
  }
}

/** A common part of applications: a filter that gives every error its own shape. */
@Catch()
class ShapingFilter implements ExceptionFilter {
  catch(): void {
    throw new TypeError("the application's filter was asked about a refusal")
  }
}

const pay = (nonce: string, word?: "poor"): RequestInit => ({ headers: { "X-Payment": payment(nonce, word) } })

const amountOf = async (response: Response): Promise<unknown> => {
  const text = await response.text()
  return /"maxAmountRequired":"(\d+)"/.exec(text)?.[1]
}

describe.each(hosts)("PaymentGuard on $name", (host) => {
  const parts = { controllers: [ReportController, ShelfController] }

  it("answers an unpaid request with what the gate says, to the letter", async () => {
    await using app = await start(host, parts)
    const seller = Seller.make(shopOptions(new TestFacilitator()))
    const route = seller.route("GET /report", { ...terms, binding: "off", description: "Daily report" })
    await seller.ready()
    const before = runs
    const response = await app.fetch("/report?day=1", { headers: { Origin: "https://page.example" } })
    const decision = await seller.decide(route, {
      method: "GET",
      target: "/report?day=1",
      header: RequestHeaders.fromRaw(["Origin", "https://page.example"]),
      headers: {},
      params: {},
      query: {},
      body: undefined,
      native: undefined
    })
    await seller.close()
    assert(decision._tag === "Refused")
    assert.strictEqual(response.status, 402)
    assert.strictEqual(await response.text(), decision.response.body)
    for (const [name, value] of Object.entries(decision.response.headers)) {
      // Each offer of x402 version 2 has its own random bits.
      if (name === "PAYMENT-REQUIRED") continue
      const expected = name === "Content-Type" ? `${value}; charset=utf-8` : value
      assert.strictEqual(response.headers.get(name), expected, name)
    }
    assert.strictEqual(response.headers.get("X-Payment"), '{"protocolVersion":2,"schemes":["exact"]}')
    assert.strictEqual(runs, before)
  })

  it("serves a paid request once, with its receipt", async () => {
    await using app = await start(host, parts)
    const before = runs
    const response = await app.fetch("/report", pay("n1"))
    assert.strictEqual(response.status, 200)
    assert.deepStrictEqual(await response.json(), { transaction: "0x1", payer: "buyer" })
    assert.deepStrictEqual(decodeReceipt(response.headers.get("X-Payment-Response")), {
      success: true,
      transaction: "0x1",
      network: terms.network,
      payer: "buyer",
      amount: "10000",
      paymentId: "n1"
    })
    assert.strictEqual(response.headers.get("Cache-Control"), "private")
    assert.strictEqual(response.headers.get("Vary"), "Accept, X-Payment, PAYMENT-SIGNATURE")
    assert.strictEqual(await app.facilitator.reported("n1"), "served")
    const again = await app.fetch("/report", pay("n1"))
    assert.strictEqual(again.status, 409)
    assert.strictEqual(runs, before + 1)
    assert.deepStrictEqual(app.facilitator.settled, ["n1"])
  })

  it("does not run the handler when the payment is refused", async () => {
    await using app = await start(host, parts)
    const before = runs
    const response = await app.fetch("/report", pay("n1", "poor"))
    assert.strictEqual(response.status, 402)
    assert.include(await response.text(), '"code":"INSUFFICIENT_BALANCE"')
    assert.strictEqual(response.headers.get("X-Payment-Response"), null)
    assert.strictEqual(runs, before)
  })

  it("does not take two payments for one", async () => {
    await using app = await start(host, parts)
    const before = runs
    const headers = new Headers([
      ["X-Payment", payment("n1")],
      ["X-Payment", payment("n2")]
    ])
    const response = await app.fetch("/report", { headers })
    assert.strictEqual(response.status, 402)
    assert.strictEqual(runs, before)
    assert.deepStrictEqual(app.facilitator.settled, [])
  })

  it("gates HEAD like GET", async () => {
    await using app = await start(host, parts)
    const before = runs
    const unpaid = await app.fetch("/report", { method: "HEAD" })
    assert.strictEqual(unpaid.status, 402)
    assert.strictEqual(runs, before)
    const paid = await app.fetch("/report", { method: "HEAD", ...pay("n1") })
    assert.strictEqual(paid.status, 200)
    assert.notStrictEqual(paid.headers.get("X-Payment-Response"), null)
    assert.strictEqual(runs, before + 1)
    assert.strictEqual((await app.fetch("/shelf/three", { method: "HEAD" })).status, 402)
  })

  it("answers OPTIONS without running the handler", async () => {
    await using app = await start(host, parts)
    const before = runs
    const response = await app.fetch("/everything", { method: "OPTIONS", ...pay("n1") })
    assert.strictEqual(response.status, 204)
    assert.strictEqual(await response.text(), "")
    assert.strictEqual(runs, before)
    assert.deepStrictEqual(app.facilitator.settled, [])
    assert.strictEqual((await app.fetch("/everything", { method: "DELETE" })).status, 402)
    assert.strictEqual((await app.fetch("/everything", { method: "DELETE", ...pay("n1") })).status, 200)
  })

  it("reports that the handler was never reached when a later guard refuses", async () => {
    await using app = await start(host, parts)
    const before = runs
    const response = await app.fetch("/guarded", pay("n1"))
    assert.strictEqual(response.status, 403)
    assert.strictEqual(await app.facilitator.reported("n1"), "notRun")
    assert.strictEqual(runs, before)
  })

  it("does not charge a request that an earlier guard refuses", async () => {
    await using app = await start(host, {
      controllers: [ReportController],
      providers: [{ provide: APP_GUARD, useClass: ClosedGuard }],
      routes: { "GET /free": terms }
    })
    assert.strictEqual((await app.fetch("/report", pay("n1"))).status, 403)
    assert.strictEqual((await app.fetch("/free", pay("n2"))).status, 403)
    assert.deepStrictEqual(app.facilitator.settled, [])
    await using open = await start(host, parts)
    assert.strictEqual((await open.fetch("/members", pay("n1"))).status, 403)
    assert.deepStrictEqual(open.facilitator.settled, [])
  })

  it("leaves other handlers alone, and sells for nothing what costs nothing", async () => {
    await using app = await start(host, parts)
    assert.deepStrictEqual(await (await app.fetch("/free", pay("n1"))).json(), { settled: false })
    assert.deepStrictEqual(await (await app.fetch("/gift", pay("n2"))).json(), { settled: false })
    assert.deepStrictEqual(app.facilitator.settled, [])
  })

  it("prices by path parameters, query and body", async () => {
    await using app = await start(host, parts)
    assert.strictEqual(await amountOf(await app.fetch("/items/gold?n=2")), "500000")
    assert.strictEqual(await amountOf(await app.fetch("/items/gold?n=1")), "250000")
    assert.strictEqual(await amountOf(await app.fetch("/files/a/b")), "3000000")
    const post = { method: "POST", headers: { "Content-Type": "application/json" } }
    assert.strictEqual(await amountOf(await app.fetch("/orders", { ...post, body: '{"rush":true}' })), "2000000")
    assert.strictEqual(await amountOf(await app.fetch("/orders", { ...post, body: "{}" })), "1000000")
  })

  it("sells a whole controller, at the handler's price where it has one", async () => {
    await using app = await start(host, parts)
    assert.strictEqual(await amountOf(await app.fetch("/shelf/one")), "10000")
    assert.strictEqual(await amountOf(await app.fetch("/shelf/two")), "20000")
    assert.strictEqual(await (await app.fetch("/shelf/two", pay("n1"))).text(), "two")
    assert.deepStrictEqual(app.facilitator.settled, ["n1"])
    assert.strictEqual(await app.facilitator.reported("n1"), "served")
  })

  it("keeps the response as it is in spite of a filter for everything", async () => {
    await using app = await start(host, {
      controllers: [ReportController],
      routes: { "GET /free": terms },
      prepare: (nest) => nest.useGlobalFilters(new ShapingFilter())
    })
    const [report, free] = await Promise.all([app.fetch("/report"), app.fetch("/free")])
    assert.deepStrictEqual([report.status, free.status], [402, 402])
    assert.match(await report.text(), /^\{"error":.*"accepts":\[/)
    assert.match(await free.text(), /^\{"error":.*"accepts":\[/)
  })
})

@Controller()
class ChainController {
  @Get("chain")
  @Paid(terms)
  first(@Next() next: () => void) {
    next()
  }

  @Get("chain")
  @Paid({ ...terms, price: "$100" })
  second() {
    runs++
    return "second"
  }
}

describe("two paid handlers in one request", () => {
  it("take two payments", async () => {
    const [express] = hosts
    assert(express !== undefined)
    await using app = await start(express, { controllers: [ChainController] })
    const before = runs
    const response = await app.fetch("/chain", pay("n1"))
    assert.strictEqual(response.status, 409)
    assert.strictEqual(runs, before)
  })
})

describe("PaymentRefusedException", () => {
  it("carries the response for filters of the application", () => {
    const answer = { status: 402, headers: {}, body: '{"error":"pay","accepts":[]}' }
    const refused = new PaymentRefusedException(answer)
    assert.strictEqual(refused.getStatus(), 402)
    assert.deepStrictEqual(refused.getResponse(), { error: "pay", accepts: [] })
    assert.strictEqual(new PaymentRefusedException({ ...answer, status: 204, body: "" }).getResponse(), "")
  })
})

@Controller()
class OptionsController {
  @Options("choices")
  @Paid(terms)
  choices() {
    return "choices"
  }
}

describe.each(hosts)("OPTIONS on $name", (host) => {
  it("is never sold", async () => {
    const failure = await start(host, { controllers: [OptionsController] }).catch((error: unknown) => error)
    assert.match(String(failure), /OptionsController\.choices: OPTIONS is never sold/)
  })
})
