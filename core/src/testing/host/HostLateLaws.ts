/** Laws of `settle: "after-handler"`: the response waits for the payment, and nothing refused is charged. */
import { maximumHeldBytes } from "../../server/host/HeldBody.ts"
import * as HostMarket from "./HostMarket.ts"
import { demand, equal, type HandlerReply, type HostLaw, law, type TrialParts } from "./HostTrial.ts"

const { terms } = HostMarket

const late = (reply: (market: HostMarket.HostMarket) => HandlerReply, more: Partial<TrialParts> = {}) => {
  const parts = (market: HostMarket.HostMarket): TrialParts => ({
    sold: { "GET /report": { ...terms, settle: "after-handler" } },
    routes: [{ method: "GET", path: "/report", handler: () => reply(market) }],
    ...more
  })
  return parts
}

const inTime = late((market) => {
  equal("transfers before the handler", market.transfers(), 0)
  return { headers: { "content-type": "text/csv", "cache-control": "public" }, body: "a,b" }
})

const secret = late(
  () => ({
    headers: { etag: '"secret"', "set-cookie": "a=b", "content-disposition": "attachment" },
    body: "the goods"
  }),
  { headers: { "x-request-id": "7" } }
)

async function* tooMuch() {
  for (let index = 0; index <= maximumHeldBytes / (1024 * 1024); index++) yield "x".repeat(1024 * 1024)
}

async function* inParts() {
  yield "lat"
  yield "er"
}

const refused: ReadonlyArray<readonly [name: string, reply: () => HandlerReply, status: number]> = [
  ["answers 404", () => ({ status: 404, body: "no such day" }), 404],
  ["answers 503 in parts", () => ({ status: 503, body: inParts() }), 503],
  [
    "throws",
    () => {
      throw new Error("the database is down")
    },
    500
  ]
]

/** All of them. */
export const laws: ReadonlyArray<HostLaw> = [
  law(
    "after-handler: the handler runs, the money moves, then the response leaves",
    inTime,
    async ({ ask, market, payment }) => {
      equal("status without a payment", (await ask("/report")).status, 402)
      const { body, headers, status } = await ask("/report", { headers: await payment("/report") })
      equal("status", status, 200)
      equal("body", body, "a,b")
      demand(`its type stays: ${headers["content-type"]}`, headers["content-type"]?.startsWith("text/csv") === true)
      equal("cache-control", headers["cache-control"], "private")
      demand("it carries a receipt", headers["x-payment-response"] !== undefined)
      equal("end", await market.nextEnd(), "served")
      equal("transfers", market.transfers(), 1)
    }
  ),
  ...refused.map(([name, reply, status]) =>
    law(`after-handler: a handler that ${name} costs nothing`, late(reply), async ({ ask, market, payment }) => {
      const answer = await ask("/report", { headers: await payment("/report") })
      equal("status", answer.status, status)
      demand("the error's text stays inside", !answer.body.includes("database"))
      demand("it carries no receipt", answer.headers["x-payment-response"] === undefined)
      equal("end", await market.nextEnd(), "failed")
      equal("transfers", market.transfers(), 0)
    })
  ),
  law(
    "after-handler: nothing of the response leaves if the payment does not settle",
    secret,
    async ({ ask, market, payment }) => {
      const headers = await payment("/report")
      market.pause = async () => {
        market.ledger.withdraw("acct-buyer", market.ledger.balanceOf("acct-buyer"))
      }
      const answer = await ask("/report", { headers })
      demand(`it is refused, got ${answer.status}`, answer.status >= 400)
      demand("it brings no goods", !answer.body.includes("goods"))
      for (const name of ["set-cookie", "content-disposition"]) equal(name, answer.headers[name], undefined)
      demand("its etag is gone", answer.headers["etag"] !== '"secret"')
      equal("the application's own header", answer.headers["x-request-id"], "7")
      equal("transfers", market.transfers(), 0)
    }
  ),
  law(
    "after-handler: a response beyond the limit is answered 500 and costs nothing",
    late(() => ({ body: tooMuch() })),
    async ({ ask, market, payment }) => {
      const answer = await ask("/report", { headers: await payment("/report") })
      demand(`it is refused or cut off, got ${answer.status}`, answer.status === 500 || answer.status === 0)
      demand("it brings no goods", !answer.body.includes("xxxx"))
      equal("end", await market.nextEnd(), "failed")
      equal("transfers", market.transfers(), 0)
    }
  )
]
