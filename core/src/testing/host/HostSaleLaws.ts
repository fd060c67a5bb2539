/** Laws of the plain sale: an unpaid request, a paid one, the ways in which an execution ends. */
import * as HostMarket from "./HostMarket.ts"
import { demand, equal, type HandlerReply, type HostLaw, law, type TrialParts } from "./HostTrial.ts"
import * as NodeWire from "./NodeWire.ts"

const { terms } = HostMarket

/** A shop with one sold and one free report, which counts the executions of the first. */
const counting = (reply: () => HandlerReply, more: Partial<TrialParts> = {}) => {
  const ran = { times: 0 }
  const parts = (): TrialParts => {
    ran.times = 0
    return {
      sold: { "GET /report": terms },
      routes: [
        { method: "GET", path: "/report", handler: () => (ran.times++, reply()) },
        { method: "POST", path: "/report", handler: async ({ body }) => ({ body: `free ${await body()}` }) },
        {
          method: "GET",
          path: "/free",
          handler: ({ query }) => ({ headers: { etag: '"1"' }, body: JSON.stringify(query) })
        }
      ],
      ...more
    }
  }
  return { ran, parts }
}

const goods = counting(() => ({ headers: { "x-own": "1" }, body: "the goods" }))
const shared = counting(() => ({ headers: { "cache-control": "public, max-age=60", expires: "1" }, body: "the goods" }))

const cors = counting(() => ({ body: "the goods" }), {
  headers: { vary: "Origin", "access-control-expose-headers": "X-Request-Id", "cache-control": "private" }
})

const sale: ReadonlyArray<HostLaw> = [
  law(
    "an unpaid request is answered 402 with an offer for its own URL, and runs nothing",
    goods.parts,
    async ({ ask, market }) => {
      const { body, headers, status } = await ask("/report?day=1")
      equal("status", status, 402)
      equal("cache-control", headers["cache-control"], "no-store")
      equal("resource", JSON.parse(body).accepts[0].resource, "https://shop.example/report?day=1")
      equal("executions", goods.ran.times, 0)
      equal("transfers", market.transfers(), 0)
    }
  ),
  law(
    "a paid request runs once and carries its receipt, private to every cache",
    shared.parts,
    async ({ ask, market, payment }) => {
      const { body, headers, status } = await ask("/report", { headers: await payment("/report") })
      equal("status", status, 200)
      equal("body", body, "the goods")
      demand("it carries a receipt", headers["x-payment-response"] !== undefined)
      equal("cache-control", headers["cache-control"], "private")
      equal("expires", headers["expires"], "0")
      equal("end", await market.nextEnd(), "served")
      equal("executions", shared.ran.times, 1)
      equal("transfers", market.transfers(), 1)
    }
  ),
  law("a free route is answered as without a gate", goods.parts, async ({ ask, market, subject }) => {
    const { sold: _, ...bare } = goods.parts()
    const alone = await subject.open({ shop: market.shop, ...bare })
    const asAlone = await NodeWire.ask(alone.port, "/free?a=1&b=2")
    await alone.close()
    const gated = await ask("/free?a=1&b=2")
    const seen = ({ body, headers: { date: _date, ...headers }, status }: typeof gated) =>
      JSON.stringify([status, headers, body])
    equal("response", seen(gated), seen(asAlone))
    const post = { method: "POST", headers: { "content-type": "text/plain" }, body: "text" }
    equal("body of another method", (await ask("/report", post)).body, "free text")
    equal("an unknown path", (await ask("/unknown")).status, 404)
  }),
  law(
    "one payment that comes eight times at once runs the handler once, and later not again",
    goods.parts,
    async ({ ask, market, payment }) => {
      const headers = await payment("/report")
      const answers = await Promise.all(Array.from({ length: 8 }, () => ask("/report", { headers })))
      equal("responses of 200", answers.filter(({ status }) => status === 200).length, 1)
      equal("end", await market.nextEnd(), "served")
      demand("a later copy is refused", (await ask("/report", { headers })).status === 409)
      equal("executions", goods.ran.times, 1)
      equal("transfers", market.transfers(), 1)
    }
  ),
  law("a payment for one URL opens no other", goods.parts, async ({ ask, market, payment }) => {
    const headers = await payment("/report?day=1")
    const { status } = await ask("/report?day=2", { headers })
    demand(`another URL is refused, got ${status}`, status >= 400)
    equal("executions", goods.ran.times, 0)
    equal("transfers", market.transfers(), 0)
  }),
  law("two payment headers are no payment", goods.parts, async ({ ask, market, payment }) => {
    const header = (await payment("/report"))["x-payment"]
    const { status } = await ask("/report", { lines: `X-Payment: ${header}\r\nx-payment: ${header}\r\n` })
    equal("status", status, 402)
    equal("executions", goods.ran.times, 0)
    equal("transfers", market.transfers(), 0)
  }),
  law("HEAD on a sold GET is sold too, and OPTIONS runs nothing", goods.parts, async ({ ask, market, payment }) => {
    equal("status of an unpaid HEAD", (await ask("/report", { method: "HEAD" })).status, 402)
    const { body } = await ask("/report", { method: "OPTIONS", headers: await payment("/report") })
    demand("OPTIONS brings no goods", !body.includes("goods"))
    equal("executions", goods.ran.times, 0)
    const paid = await ask("/report", { method: "HEAD", headers: await payment("/report") })
    equal("status of a paid HEAD", paid.status, 200)
    demand("it carries a receipt", paid.headers["x-payment-response"] !== undefined)
    equal("end", await market.nextEnd(), "served")
    equal("executions", goods.ran.times, 1)
  }),
  law(
    "the headers of the application's CORS middleware are extended, never lost",
    cors.parts,
    async ({ ask, payment }) => {
      const origin = { origin: "https://page.example" }
      const unpaid = await ask("/report", { headers: origin })
      const exposed = unpaid.headers["access-control-expose-headers"] ?? ""
      demand(`both are exposed: ${exposed}`, /X-Request-Id/i.test(exposed) && /X-Payment/.test(exposed))
      equal("cache-control of a refusal", unpaid.headers["cache-control"], "no-store")
      const paid = await ask("/report", { headers: { ...origin, ...(await payment("/report")) } })
      equal("status", paid.status, 200)
      const vary = paid.headers["vary"] ?? ""
      demand(`it varies by both: ${vary}`, /Origin/.test(vary) && /X-Payment/.test(vary))
      demand("the receipt is exposed", /X-Payment-Response/.test(paid.headers["access-control-expose-headers"] ?? ""))
    }
  )
]

const failing = (status: number | undefined) => () => {
  throw Object.assign(new Error("the database is down"), status === undefined ? {} : { status })
}

/** The ends that a reply has, each with a handler that fails once and serves then. */
const endings: ReadonlyArray<readonly [name: string, reply: () => HandlerReply, status: number, end: string]> = [
  ["throws", failing(undefined), 500, "failed"],
  ["answers 503", () => ({ status: 503, body: "later" }), 503, "failed"],
  ["answers 404", () => ({ status: 404, body: "no such day" }), 404, "refused"],
  ["answers 410 without a body", () => ({ status: 410 }), 410, "refused"]
]

const ends = endings.map(([name, reply, status, end]) => {
  const first = counting(() => (first.ran.times === 1 ? reply() : { body: "the goods" }))
  return law(
    `a handler that ${name} keeps the payment good: the same request is served after it`,
    first.parts,
    async ({ ask, market, payment, subject }) => {
      const headers = await payment("/report")
      const failed = await ask("/report", { headers })
      equal("status", failed.status, status)
      demand("the error's text stays inside", !failed.body.includes("database"))
      const hasReceipt = failed.headers["x-payment-response"] !== undefined
      demand("it carries a receipt", hasReceipt || (name === "throws" && !subject.keepsReceiptOnErrors))
      equal("end", await market.nextEnd(), end)
      equal("second response", (await ask("/report", { headers })).body, "the goods")
      equal("end", await market.nextEnd(), "served")
      equal("transfers", market.transfers(), 1)
    }
  )
})

const rescued = counting(failing(undefined), { rescue: () => ({ status: 503, body: "a page of our own" }) })

/** All of them. */
export const laws: ReadonlyArray<HostLaw> = [
  ...sale,
  ...ends,
  law(
    "the application's own error page decides how the execution ended",
    rescued.parts,
    async ({ ask, market, payment }) => {
      const { body, status } = await ask("/report", { headers: await payment("/report") })
      equal("status", status, 503)
      equal("body", body, "a page of our own")
      equal("end", await market.nextEnd(), "failed")
    }
  )
]
